"""Runs conformance tests as campaigns, and reads their packet logs.

The client of these trials is stopped at the time limit, in the middle of a response. Checks that
fail for this reason alone are expected. Any other failed check of a program (it died, used another
HTTP version, or gave up) means that the packet log shows something else than the experiment says.

An attempt on a busy machine is read, too, because the kernel stamps the packets: a busy machine
does not make a wrong sender pass. So what passes counts, and what fails is not judged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from httpbed.addons.conformance import behaviour, competition, identification, networks, senders
from httpbed.addons.conformance import sender as records
from httpbed.addons.conformance.competition import SharedTransfer, Split
from httpbed.addons.conformance.fingerprint import Conditions
from httpbed.addons.conformance.flight import Flight, NoDataError, flight, load_packets
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

    sender: Sender
    """The sender under test."""
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
    asked = SUITES[suite]
    if sender.judged_as not in asked.controls:
        reason = f"judges BBR, and {sender.implementation} sends with {sender.algorithm} here"
        remedy = "choose a sender with BBR, such as --congestion-control bbr, or add --judged-as"
        raise ConfigError([Mistake("--suite", reason, remedy)])
    others = {
        name: other
        for name, other in asked.references.items()
        if networks.roles(other) != networks.roles(sender)
    }
    planned = asked.networks(scale, sender.judged_as)
    text = networks.experiment(
        {UNDER_TEST: sender, **others},
        planned,
        question=asked.question.format(sender=sender),
        replicates=REPLICATES[scale],
        seed=SEED,
    )
    loaded = preparation.load(text, catalog, options=DesignOptions(clock=clock))
    return ConformanceTest(sender, planned, loaded, catalog)


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
    planned, question = conditions.networks(), identification.question(sender)
    text = networks.experiment(
        {UNDER_TEST: sender}, planned, question=question, replicates=1, seed=seed
    )
    loaded = preparation.load(text, catalog, options=DesignOptions(clock=clock))
    return ConformanceTest(sender, planned, loaded, catalog)


def run(  # noqa: PLR0913 - a test that runs has these parts
    test: ConformanceTest,
    folder: Path,
    settings: RunSettings,
    *,
    tell: Tell,
    say: Say,
    is_kept: bool = True,
) -> ConformanceEvidence:
    """Run or resume a test as the campaign ``folder``, and read its packet logs.

    ``is_kept`` is false for a folder that nothing resumes: an interrupt then ends it at once.

    Raises:
        ConfigError: The folder holds something else.
        HostError: This machine cannot run the test.
    """
    campaign_run.require_place(test.loaded, folder)
    ready = campaign_setup.prepare(test.loaded, test.catalog, settings, say=say)
    with campaign_run.opened(ready, folder, jobs=settings.jobs, say=say) as work:
        replace(work, is_kept=is_kept).finish(tell=tell, retries=RETRIES)
        return read(work.campaign, test.networks)


def judge(
    test: ConformanceTest, evidence: ConformanceEvidence, scale: Scale, suite: SuiteName
) -> Judgement:
    """Judge the sender under test by the evidence of its test."""
    return reach(test.sender, _key(test, evidence), scale, evidence, suite)


def name(test: ConformanceTest, evidence: ConformanceEvidence) -> Identification:
    """Name the congestion control of the sender under test by the evidence of its trials."""
    return identify(test.sender, _key(test, evidence), evidence)


def keep(judgement: Judgement) -> Path | None:
    """Write the record that campaigns cite, and return its path.

    A suite that campaigns do not cite leaves none. Neither does a sender that was judged as another
    one, or that delivered nothing.
    """
    is_cited = SUITES[judgement.suite].is_cited and judgement.sender.is_judged_by_name
    if not is_cited or not judgement.evidence.transfers.every:
        return None
    return records.write(judgement.key, judgement.scale, judgement.as_json())


def _key(test: ConformanceTest, evidence: ConformanceEvidence) -> SenderKey:
    """Return the key of the sender under test, as its trials ran it."""
    sender = test.sender
    tested = (t for t in test.loaded.trials if t.levels[networks.SENDER] == UNDER_TEST)
    roles = next(tested).scenario().roles
    role = roles.server if sender.role == "server" else roles.proxies[0]
    recipe = test.catalog[sender.implementation]
    return senders.key(recipe, role, sender.http_version, evidence.manifest)


def read(campaign: Campaign, planned: Sequence[Network]) -> ConformanceEvidence:
    """Read the last attempt at every trial of a test's campaign.

    Raises:
        ConfigError: Packet logs are damaged.
    """
    by_name = {network.name: network for network in planned}
    logs = _undamaged_logs(campaign)
    alone = defaultdict[str, list[SenderTransfer]](list)
    shared = defaultdict[str, list[SharedTransfer]](list)
    unreadable, invalid, packets = list[str](), False, list[PacketRecord]()
    for key, attempt in campaign.attempts().items():
        network = by_name[attempt.trial.levels[networks.FACTOR]]
        sender = attempt.trial.levels.get(networks.SENDER, UNDER_TEST)
        reader: Callable[[Path], Split | Flight] = (
            partial(competition.load, network) if network.beside else partial(_flight, attempt)
        )
        log, strained = logs[key], attempt.outcome.kind == "invalid"
        sent = _from_log(log, attempt, reader)
        if log.is_file():
            file = str(log.relative_to(campaign.directory))
            sha256 = digests.of_bytes(log.read_bytes()).sha256
            packets.append(PacketRecord(network.name, sender, file, sha256))
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
    tested = replace(transfers.pop(UNDER_TEST), references=transfers)
    return ConformanceEvidence(tested, campaign.manifest, unreadable, invalid, packets)


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
    unexpected = _unexpected(attempt.checks)
    reasons = "; ".join(f"{result.name}: {result.figure}" for result in unexpected)
    if reasons or attempt.outcome.kind in JUDGED or verdict.is_strained(attempt):
        return reasons
    return f"{attempt.outcome.kind}: {attempt.outcome.reason}"


def _unexpected(results: Iterable[Check]) -> Iterator[Check]:
    """Yield failed checks of the subject that the time limit does not explain."""
    failed = [result for result in results if result.of == "subject" and result.passed is False]
    was_stopped = any(result.by_time_limit for result in failed)
    for result in failed:
        expected = result.check in EXPECTED_WHEN_STOPPED
        if not result.by_time_limit and not (was_stopped and expected):
            yield result
