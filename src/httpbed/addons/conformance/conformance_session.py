"""Runs conformance tests as campaigns, and reads their packet logs.

The client of these trials is stopped at the time limit, in the middle of a response. Checks that
fail for this reason alone are expected. Any other failed check of a program (it died, used another
HTTP version, or gave up) means that the packet log shows something else than the experiment says.

An attempt on a busy machine is read, too, because the kernel stamps the packets: a busy machine
does not make a wrong sender pass. So what passes counts, and what fails is not judged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from httpbed.addons.conformance import behaviour, competition, identification, networks, senders
from httpbed.addons.conformance import sender as records
from httpbed.addons.conformance.competition import SharedTransfer, Split
from httpbed.addons.conformance.fingerprint import Conditions
from httpbed.addons.conformance.flight import Flight, flight, load_packets
from httpbed.addons.conformance.identification import Identification, identify
from httpbed.addons.conformance.judgement import ConformanceEvidence, Judgement, PacketRecord
from httpbed.addons.conformance.networks import REPLICATES, Network
from httpbed.addons.conformance.properties import SenderTransfer, Transfers
from httpbed.addons.conformance.sender import Scale, Sender, SenderKey, SuiteName
from httpbed.addons.conformance.suites import SUITES, reach
from httpbed.base import digests
from httpbed.base.clock import Clock
from httpbed.base.errors import ConfigError, Mistake, require_none
from httpbed.campaign import campaign_setup, preparation
from httpbed.campaign import run as campaign_run
from httpbed.campaign.executor import Tell
from httpbed.campaign.loaded_experiment import LoadedExperiment
from httpbed.campaign.settings import DesignOptions, RunSettings
from httpbed.experiment import check
from httpbed.experiment.kept import PACKET_LOG
from httpbed.experiment.trial import Attempt, Check
from httpbed.programs.catalog import Catalog
from httpbed.store.campaign import Campaign
from httpbed.trial import verdict

T = TypeVar("T")
Say = Callable[[str], None]

SEED = 20261121
"""Shared by all conformance tests, so that any two senders meet the same losses."""
RETRIES = 1
"""Retries of a trial on a busy machine; few, because its packet log can still be read."""
UNDER_TEST = "under test"
"""Level of the sender under test."""
NO_BODY = "no byte of the body arrived"
EXPECTED_WHEN_STOPPED = frozenset(
    descriptor.id
    for descriptor in (check.STATUS_OF_ONE, check.STATUS, check.LENGTHS, check.BODY, check.BODIES)
)
"""Checks that fail when the client is stopped within a response."""
JUDGED = frozenset({"completed", "timed out", "failed"})
"""Outcomes that follow from the checks of the subject alone."""


@dataclass(frozen=True)
class ConformanceTest:
    """A conformance test before it runs."""

    senders: Mapping[str, Sender]
    """The senders by their level; the first is the one under test."""
    networks: tuple[Network, ...]
    loaded: LoadedExperiment
    catalog: Catalog


def prepare(
    sender: Sender, catalog: Catalog, scale: Scale, clock: Clock, suite: SuiteName = "control"
) -> ConformanceTest:
    """Return the test of a sender, with its experiment loaded.

    Raises:
        ConfigError: The sender cannot be tested as described; with every reason.
    """
    if sender.judged_as not in SUITES[suite].controls:
        reason = f"judges BBR, and {sender.implementation} sends with {sender.algorithm} here"
        remedy = "choose a sender with BBR, such as --congestion-control bbr, or add --judged-as"
        raise ConfigError([Mistake("--suite", reason, remedy)])
    planned = SUITES[suite].networks(scale, sender.judged_as)
    question = SUITES[suite].question.format(sender=sender)
    others = {
        name: other
        for name, other in SUITES[suite].references.items()
        if networks.roles(other) != networks.roles(sender)
    }
    senders = {UNDER_TEST: sender, **others}
    stated = {"question": question, "replicates": REPLICATES[scale]}
    return _loaded(senders, planned, catalog, clock, **stated)


def prepare_identification(
    sender: Sender,
    catalog: Catalog,
    clock: Clock,
    conditions: Conditions = Conditions(),  # noqa: B008 - a value
    seed: int = SEED,
) -> ConformanceTest:
    """Return the trials that show a sender's fingerprint, with their experiment loaded.

    Raises:
        ConfigError: The sender cannot be tested as described; with every reason.
    """
    stated = {"question": identification.question(sender), "replicates": 1, "seed": seed}
    return _loaded({UNDER_TEST: sender}, conditions.networks(), catalog, clock, **stated)


def _loaded(
    senders: Mapping[str, Sender],
    planned: tuple[Network, ...],
    catalog: Catalog,
    clock: Clock,
    **stated: Any,
) -> ConformanceTest:
    text = networks.experiment(senders, planned, **{"seed": SEED, **stated})
    loaded = preparation.load(text, catalog, options=DesignOptions(clock=clock))
    return ConformanceTest(senders, planned, loaded, catalog)


def run(
    test: ConformanceTest, folder: Path, settings: RunSettings, *, tell: Tell, say: Say
) -> ConformanceEvidence:
    """Run or resume a test as the campaign ``folder``, and read its packet logs.

    Raises:
        ConfigError: The folder holds something else.
        HostError: This machine cannot run the test.
    """
    campaign_run.require_place(test.loaded, folder)
    ready = campaign_setup.prepare(test.loaded, test.catalog, settings, say=say)
    with campaign_run.opened(ready, folder, jobs=settings.jobs, say=say) as work:
        work.finish(tell=tell, retries=RETRIES)
        return read(work.campaign, test.networks)


def judge(
    test: ConformanceTest, evidence: ConformanceEvidence, scale: Scale, suite: SuiteName
) -> Judgement:
    """Judge the sender under test by the evidence of its test."""
    sender = test.senders[UNDER_TEST]
    return reach(sender, _key(test, sender, evidence.manifest), scale, evidence, suite)


def name(test: ConformanceTest, evidence: ConformanceEvidence) -> Identification:
    """Name the congestion control of the sender under test by the evidence of its trials."""
    sender = test.senders[UNDER_TEST]
    return identify(sender, _key(test, sender, evidence.manifest), evidence)


def keep(judgement: Judgement) -> Path | None:
    """Write the record that campaigns cite, and return its path.

    A suite that campaigns do not cite leaves none. Neither does a sender that was judged as another
    one, or that delivered nothing.
    """
    is_cited = SUITES[judgement.suite].is_cited and judgement.sender.is_judged_by_name
    if not is_cited or not judgement.evidence.transfers.every:
        return None
    return records.write(judgement.key, judgement.scale, judgement.as_json())


def _key(test: ConformanceTest, sender: Sender, manifest: Mapping[str, Any]) -> SenderKey:
    tested = (t for t in test.loaded.trials if t.levels[networks.SENDER] == UNDER_TEST)
    roles = next(tested).scenario().roles
    role = roles.server if sender.role == "server" else roles.proxies[0]
    return senders.key(test.catalog[sender.implementation], role, sender.http_version, manifest)


def read(campaign: Campaign, planned: Sequence[Network]) -> ConformanceEvidence:
    """Read the last attempt at every trial of a test's campaign.

    Raises:
        ConfigError: Packet logs are damaged.
    """
    by_name = {network.name: network for network in planned}
    logs = _undamaged_logs(campaign)
    alone, shared = (defaultdict[str, list[Any]](list) for _ in range(2))
    unreadable, invalid, packets = list[str](), False, list[PacketRecord]()
    for key, attempt in campaign.attempts().items():
        network = by_name[attempt.trial.levels[networks.FACTOR]]
        sender = attempt.trial.levels.get(networks.SENDER, UNDER_TEST)
        reader: Callable[[Path], Split | Flight] = (
            partial(split_of, network) if network.beside else partial(_flight, attempt)
        )
        log = logs[key]
        sent = _from_log(log, attempt, reader)
        if log.is_file():
            file = str(log.relative_to(campaign.directory))
            sha256 = digests.of_bytes(log.read_bytes()).sha256
            packets.append(PacketRecord(network.name, sender, file, sha256))
        strained = attempt.outcome.kind == "invalid"
        if isinstance(sent, str):
            whose = "" if sender == UNDER_TEST else f"{sender}, "
            unreadable.append(f"{whose}{network.name}: {sent}")
            invalid |= strained
        elif isinstance(sent, Split):
            shared[sender].append(SharedTransfer(network, sent, strained))
        else:
            alone[sender].append(SenderTransfer(network, sent, strained))
    transfers = {
        sender: Transfers(planned, alone[sender], shared[sender])
        for sender in (UNDER_TEST, *alone, *shared)
    }
    own = transfers.pop(UNDER_TEST)
    return ConformanceEvidence(
        replace(own, references=transfers), campaign.manifest, unreadable, invalid, packets
    )


def _undamaged_logs(campaign: Campaign) -> dict[str, Path]:
    """Return where the packet log of each trial is, or would be if it had one.

    A damaged log shows nothing about its sender, so it changes neither certificate nor record.

    Raises:
        ConfigError: Logs differ from what was written.
    """
    logs, mistakes = dict[str, Path](), list[Mistake]()
    for key, attempt in campaign.attempts().items():
        try:
            logs[key] = campaign.artifact(attempt, PACKET_LOG)
        except ValueError as error:
            remedy = "restore it from a copy, or move the folder away: its trial then runs again"
            place = str(campaign.artifacts(attempt).parent)
            mistakes.append(Mistake(place, f"is damaged: {error}", remedy))
    require_none(mistakes)
    return logs


def _flight(attempt: Attempt, log: Path) -> Flight:
    down = attempt.trial.scenario().downstream()
    sent = flight(*load_packets(log, down, 1 - down))
    if behaviour.first_flight(sent) is None:  # a handshake alone shows no congestion control
        raise NoDataError(NO_BODY)
    return sent


class NoDataError(ValueError):
    """A packet log is sound, but a sender in it sent no data."""


def split_of(network: Network, log: Path) -> Split:
    """Return how the flows of one trial shared a network, after all have settled.

    Raises:
        OSError: The log cannot be read.
        ValueError: It is not a packet log, or a flow is missing in it.
    """
    count = 1 + len(network.beside)
    directions = [networks.access(flow) for flow in range(count)]
    directions += [networks.sending(flow, count) for flow in range(count)]
    *packets, together = load_packets(log, *directions, networks.bottleneck(count))
    received, sent = packets[:count], packets[count:]
    if missing := [number for number, flow in enumerate(received, start=1) if not len(flow)]:
        raise NoDataError(f"nothing was sent by {', '.join(f'flow {one}' for one in missing)}")
    begin_s = min(float(flow.sent_s[0]) for flow in received)
    return competition.split(
        received,
        together,
        sent=sent,
        network=network,
        interval_s=(
            begin_s + competition.SETTLED_S,
            begin_s + network.lasts_s - competition.LAST_S,
        ),
    )


def _from_log(log: Path, attempt: Attempt, reader: Callable[[Path], T]) -> T | str:
    """Read an attempt's packet log; return the reason if it shows nothing about its senders."""
    if reason := why_unusable(attempt):
        return reason
    try:
        return reader(log)
    except NoDataError as error:
        return str(error)
    except (OSError, ValueError) as error:
        return f"its packet log cannot be read: {error}"


def why_unusable(attempt: Attempt) -> str:
    """Return why an attempt does not show what its senders do; empty if it does."""
    reasons = "; ".join(f"{one.name}: {one.figure}" for one in _unexpected(attempt.checks))
    if reasons or attempt.outcome.kind in JUDGED or verdict.is_strained(attempt):
        return reasons
    return f"{attempt.outcome.kind}: {attempt.outcome.reason}"


def _unexpected(checks: Iterable[Check]) -> Iterator[Check]:
    """Yield failed checks of the subject that the time limit does not explain."""
    failed = [one for one in checks if one.of == "subject" and one.passed is False]
    was_stopped = any(one.by_time_limit for one in failed)
    for one in failed:
        expected = one.check in EXPECTED_WHEN_STOPPED
        if not one.by_time_limit and not (was_stopped and expected):
            yield one
