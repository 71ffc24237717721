"""Planted faults are caught, and laid to the right account: the bed's or the subject's."""

from __future__ import annotations

import copy
import dataclasses
import json
import os
import signal
import threading
import time
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

import process_tree
from families import until
from httpbed.campaign import manifest
from httpbed.experiment.errors import HostError
from httpbed.experiment.scenario import Scenario
from httpbed.experiment.trial import Record
from httpbed.trial import evidence
from httpbed.trial.plan import CampaignSetup, TrialPlan
from real_runs import SmallExperiment, check, stage

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]

ATTEMPTS = 4
"""One, and three retries."""


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    """Name a folder for a campaign."""
    return tmp_path / "campaign"


def only(records: list[Record], outcome: str) -> Record:
    """Return the one record that counts, which must have this outcome.

    A busy machine may have made attempts before it invalid.
    """
    spoilt = {"invalid"} - {outcome}
    (record,) = [one for one in records if one.attempt.outcome.kind not in spoilt]
    assert record.attempt.outcome.kind == outcome, record.attempt.outcome.reason
    return record


def replan(monkeypatch: pytest.MonkeyPatch, change: Callable[[TrialPlan], TrialPlan]) -> None:
    """Change what the runner is about to start."""
    honest = CampaignSetup.plan
    monkeypatch.setattr(CampaignSetup, "plan", lambda own, trial: change(honest(own, trial)))


def recipe(folder: Path, name: str, old: str, new: str) -> Path:
    """Write a folder with a shipped recipe in which something was changed."""
    text = (resources.files("httpbed.programs") / "recipes" / f"{name}.toml").read_text()
    assert old in text
    folder.mkdir()
    (folder / f"{name}.toml").write_text(text.replace(old, new))
    return folder


def forge(monkeypatch: pytest.MonkeyPatch, change: Callable[[str, int], int]) -> None:
    """Change integers of the emulator's result, by their keys, before they are read."""

    def changed(said: Any) -> Any:
        if isinstance(said, list):
            return [changed(one) for one in said]
        if not isinstance(said, dict):
            return said
        return {
            key: change(key, value) if isinstance(value, int) else changed(value)
            for key, value in said.items()
        }

    honest = evidence.read

    def read(planned: Any, catalog: Any, artifacts: Path) -> evidence.AttemptEvidence:
        result = artifacts / "link-result.json"
        result.write_text(json.dumps(changed(json.loads(result.read_text()))))
        return honest(planned, catalog, artifacts)

    monkeypatch.setattr(evidence, "read", read)


def otherwise_emulated(
    monkeypatch: pytest.MonkeyPatch, change: Callable[[dict[str, Any]], None]
) -> None:
    """Configure the emulator otherwise than the experiment says, in each direction."""

    def mistell(planned: TrialPlan) -> TrialPlan:
        net = planned.network
        config = copy.deepcopy(dict(net.emulator_config))
        for link in config["links"]:
            for direction in link["directions"]:
                change(direction)
        emulator = dataclasses.replace(
            net.emulator, files={**net.emulator.files, "link.json": json.dumps(config)}
        )
        return dataclasses.replace(planned, network=dataclasses.replace(net, emulator=emulator))

    replan(monkeypatch, mistell)


def impossible(record: Record) -> set[str]:
    """Return the topics of the broken checks of what is possible."""
    names = {one.name for one in record.attempt.checks if one.passed is False}
    possible = "possible for this link, "
    return {name.removeprefix(possible) for name in names if name.startswith(possible)}


@pytest.mark.parametrize("version", ["1.1", "3"])
def test_times_divided_by_ten_are_impossible(
    campaign: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    """100 kB at 10 Mbit/s in 12 ms exceed what the link can carry."""
    forge(monkeypatch, lambda key, value: value // 10 if key.endswith("_ns") else value)
    records = stage(SmallExperiment(versions=(version,))).run(campaign)
    assert [record.attempt.outcome.kind for record in records] == ["invalid"] * ATTEMPTS
    for record in records:
        assert impossible(record) >= {"bytes in any window", "times"}
        assert "impossible for this link: " in record.attempt.outcome.reason


@pytest.mark.alone
def test_a_rate_that_is_not_applied_is_impossible(
    campaign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The emulator does what it was told; the check compares with the experiment."""
    otherwise_emulated(monkeypatch, lambda direction: direction.update(rate=None))
    for record in stage(SmallExperiment(versions=("2",))).run(campaign):
        assert "bytes in any window" in impossible(record), record.attempt.outcome.reason
        assert record.attempt.outcome.kind == "invalid"


def test_a_rate_5_percent_too_high_is_impossible(
    campaign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The longest busy window shows it."""
    faster = {"model": "constant", "bit_s": 10_500_000}
    otherwise_emulated(monkeypatch, lambda direction: direction.update(rate=faster))
    for record in stage(SmallExperiment(versions=("2",))).run(campaign):
        assert "bytes in any window" in impossible(record), record.attempt.outcome.reason


def test_a_delay_10_percent_short_is_impossible(
    campaign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fastest packet shows it."""
    otherwise_emulated(monkeypatch, lambda direction: direction.update(delay_ns=4_500_000))
    for record in stage(SmallExperiment(versions=("1.1",))).run(campaign):
        assert "times" in impossible(record), record.attempt.outcome.reason


@pytest.mark.parametrize("version", ["1.1", "3"])
def test_a_damaged_body_is_a_failure(campaign: Path, tmp_path: Path, version: str) -> None:
    """The digest differs although the size is the same, and the trial is not repeated."""
    damaged = stage(SmallExperiment(versions=(version,)))
    ((path, content),) = damaged.setup.contents.items()
    other = tmp_path / "other"
    other.write_bytes(b"X" + content.path.read_bytes()[1:])
    contents = {path: dataclasses.replace(content, path=other)}
    damaged.setup = dataclasses.replace(damaged.setup, contents=contents)
    record = only(damaged.run(campaign), "failed")
    assert check(record, "body as served").passed is False
    assert "body as served" in record.attempt.outcome.reason


def test_another_congestion_control_is_the_beds_fault(
    campaign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check reads the accepted socket, not the experiment."""
    routes = {"client": "reno", "server": "reno"}
    monkeypatch.setattr(Scenario, "senders", lambda _: routes)
    records = stage(SmallExperiment(versions=("1.1",))).run(campaign)
    assert [record.attempt.outcome.kind for record in records] == ["invalid"] * ATTEMPTS
    for record in records:
        broken = check(record, "sender's")
        assert (broken.passed, broken.figure) == (False, "reno on the accepted sockets")


@pytest.mark.parametrize("version", ["1.1", "3"])
def test_offloads_left_on_are_the_beds_fault(
    campaign: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    """Frames longer than the MTU make the attempt invalid, whatever the client fetched."""

    def forget(planned: TrialPlan) -> TrialPlan:
        hosts = tuple(spec for spec in planned.network.hosts if spec.argv[0] != "ethtool")
        return dataclasses.replace(
            planned, network=dataclasses.replace(planned.network, hosts=hosts)
        )

    replan(monkeypatch, forget)
    records = stage(SmallExperiment(versions=(version,), time_limit="2 s")).run(campaign)
    assert [record.attempt.outcome.kind for record in records] == ["invalid"] * ATTEMPTS
    assert all(check(record, "frames as on a wire").passed is False for record in records)


def test_a_dead_emulator_is_retried_three_times(campaign: Path) -> None:
    """The run does not wait for the client; the invalid attempts are kept and are no data."""
    patient = stage(SmallExperiment(versions=("1.1",), time_limit="600 s", size="1 MB"))
    killer = threading.Thread(target=kill_emulators, args=(ATTEMPTS,))
    killer.start()
    records = patient.run(campaign)
    killer.join()
    assert [record.attempt.outcome.kind for record in records] == ["invalid"] * ATTEMPTS
    assert [record.attempt.number for record in records] == [1, 2, 3, 4]
    assert all("the emulator ended" in record.attempt.outcome.reason for record in records)


def kill_emulators(count: int) -> None:
    """Kill so many emulators, each while its client fetches."""
    killed = set[int]()
    while len(killed) < count:
        until(lambda: len(fetching() - killed) > 0)
        for pid in fetching() - killed:
            time.sleep(0.05)
            os.kill(pid, signal.SIGKILL)
            killed.add(pid)


def fetching() -> set[int]:
    """Find the emulators of this process's trials, if clients are running."""
    family = process_tree.descendants(os.getpid())
    running = {process.name for process in family}
    names = {"httpbed-link"} if "curl" in running else set()
    return {process.pid for process in family if process.name in names}


def test_a_client_that_cannot_speak_the_version_fails(campaign: Path, tmp_path: Path) -> None:
    """The server's log shows HTTP/1.1 instead of HTTP/3, which is data."""
    folder = recipe(tmp_path / "recipes", "curl", "--http3-only", "--http1.1")
    record = only(stage(SmallExperiment(versions=("3",)), [folder]).run(campaign), "failed")
    assert check(record, "protocol used").figure.startswith("1 request(s) HTTP/1.1")
    assert check(record, "body as served").passed is True


def test_the_time_limit(campaign: Path) -> None:
    """The trial has timed out and has no request time."""
    settings = SmallExperiment(versions=("2",), rate="100 kbit/s", time_limit="1 s")
    record = only(stage(settings).run(campaign), "timed out")
    assert check(record, "client ended well").figure.startswith("was stopped at its time limit")
    assert "request_time" not in {observation.metric for observation in record.observations}


def test_a_server_that_does_not_start_fails(campaign: Path, tmp_path: Path) -> None:
    """Its error output is among the artifacts, and the run does not wait for it."""
    folder = recipe(tmp_path / "recipes", "nginx", "http3 on;", "http3 perhaps;")
    record = only(stage(SmallExperiment(versions=("3",)), [folder]).run(campaign), "failed")
    assert "nginx did not start: " in record.attempt.outcome.reason
    (said,) = campaign.glob("trials/*/*/*/artifacts/server/nginx-errors.txt")
    assert "perhaps" in said.read_text()


def test_a_server_that_never_listens_fails(
    campaign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run stops waiting for the ports after a bounded time."""
    monkeypatch.setattr("httpbed.host.sandbox.supervisor.START_TIMEOUT_S", 1.0)
    folder = recipe(tmp_path / "recipes", "nginx", "tcp = [443]", "tcp = [444]")
    record = only(stage(SmallExperiment(versions=("1.1",)), [folder]).run(campaign), "failed")
    assert "did not listen on TCP 444" in record.attempt.outcome.reason


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ('"curl", "{http_flag}"', '"kurl", "{http_flag}"', "kurl is not in the toolbox"),
        ('["curl", "--version"]', '["kurl"]', "curl did not report its version"),
    ],
)
def test_a_program_that_is_not_there_is_the_machines_fault(
    tmp_path: Path, old: str, new: str, word: str
) -> None:
    """The run is refused before its first trial, with the remedy."""
    lacking = stage(SmallExperiment(), [recipe(tmp_path / "recipes", "curl", old, new)])
    with pytest.raises(HostError, match=word) as caught:
        manifest.manifest(lacking.loaded, lacking.setup, command="")
    assert caught.value.remedy


def test_a_program_that_vanishes_is_no_data(
    campaign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that cannot be started is no result about the client."""

    def vanish(planned: TrialPlan) -> TrialPlan:
        (client,) = planned.clients
        gone = dataclasses.replace(client.process, argv=("kurl",))
        return dataclasses.replace(planned, clients=(dataclasses.replace(client, process=gone),))

    replan(monkeypatch, vanish)
    records = stage(SmallExperiment(versions=("1.1",))).run(campaign)
    assert [record.attempt.outcome.kind for record in records] == ["invalid"] * ATTEMPTS
    assert "kurl" in records[-1].attempt.outcome.reason
