"""Planted faults are caught, and laid to the right account: the bed's or the subject's."""

from __future__ import annotations

import dataclasses
import itertools
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from httpbed.base.errors import HostError
from httpbed.campaign import campaign_setup
from httpbed.campaign.settings import RunSettings
from httpbed.experiment.scenario import Scenario
from httpbed.experiment.trial import Record
from httpbed.trial.attempt_plan import TrialPlan
from planting import (
    Caught,
    attempted,
    forge,
    only,
    otherwise_emulated,
    recipe,
    renetworked,
    replan,
    to_emulators,
)
from real_runs import SmallExperiment, Stage, check, stage

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]

ATTEMPTS = 4
"""One, and three retries."""


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    return tmp_path / "campaign"


def impossible(record: Record) -> set[str]:
    """Return the topics of the broken checks of what is possible."""
    names = {one.name for one in record.attempt.checks if one.passed is False}
    possible = "possible for this link, "
    return {name.removeprefix(possible) for name in names if name.startswith(possible)}


@pytest.mark.planted("reported times are divided by ten", by="possible for this link, times")
@pytest.mark.parametrize("version", ["1.1", "3"])
def test_times_divided_by_ten_are_impossible(
    campaign: Path, monkeypatch: pytest.MonkeyPatch, version: str, caught: Caught
) -> None:
    """100 kB at 10 Mbit/s in 12 ms exceed what the link can carry."""
    forge(monkeypatch, lambda key, value: value // 10 if key.endswith("_ns") else value)
    records = stage(SmallExperiment(versions=(version,))).run(campaign)
    assert [record.attempt.outcome.kind for record in records] == ["invalid"] * ATTEMPTS
    assert caught(records)
    for record in records:
        assert impossible(record) >= {"bytes in any window", "times"}
        assert "impossible for this link: " in record.attempt.outcome.reason


@pytest.mark.planted("the rate is not applied", by="possible for this link, bytes in any window")
@pytest.mark.alone
def test_a_rate_that_is_not_applied_is_impossible(
    campaign: Path, monkeypatch: pytest.MonkeyPatch, caught: Caught
) -> None:
    """The emulator does what it was told; the check compares with the experiment."""
    otherwise_emulated(monkeypatch, lambda direction: direction.update(rate=None))
    assert caught(stage(SmallExperiment(versions=("2",))).run(campaign))


@pytest.mark.planted("the rate is 5 % too high", by="possible for this link, bytes in any window")
def test_a_rate_5_percent_too_high_is_impossible(
    campaign: Path, monkeypatch: pytest.MonkeyPatch, caught: Caught
) -> None:
    """The longest busy window shows it."""
    faster = {"model": "constant", "bit_s": 10_500_000}
    otherwise_emulated(monkeypatch, lambda direction: direction.update(rate=faster))
    assert caught(stage(SmallExperiment(versions=("2",))).run(campaign))


@pytest.mark.planted("the delay is 10 % too short", by="possible for this link, times")
def test_a_delay_10_percent_short_is_impossible(
    campaign: Path, monkeypatch: pytest.MonkeyPatch, caught: Caught
) -> None:
    """The fastest packet shows it."""
    otherwise_emulated(monkeypatch, lambda direction: direction.update(delay_ns=4_500_000))
    assert caught(stage(SmallExperiment(versions=("1.1",))).run(campaign))


@pytest.mark.planted("packets are lost in one direction only", by="impairment as drawn")
def test_a_direction_without_its_losses_is_the_beds_fault(
    campaign: Path, monkeypatch: pytest.MonkeyPatch, caught: Caught
) -> None:
    """Python draws the losses of both directions again."""
    lossless = itertools.cycle([{}, {"loss": None}])
    otherwise_emulated(monkeypatch, lambda direction: direction.update(next(lossless)))
    settings = SmallExperiment(versions=("1.1",), loss="10 %")
    assert caught(stage(settings).run(campaign))


@pytest.mark.planted(
    "a frame is counted as from the future (clock set back)", by="frames as on a wire"
)
def test_a_frame_from_the_future_is_the_beds_fault(
    campaign: Path, monkeypatch: pytest.MonkeyPatch, caught: Caught
) -> None:
    """The emulator counts such frames; a test may not set this machine's clock."""
    forge(monkeypatch, lambda key, value: 1 if key == "unstamped_frames" else value)
    assert caught(stage(SmallExperiment(versions=("2",))).run(campaign))


@pytest.mark.planted("the server sends another byte than it was given", by="body as served")
@pytest.mark.parametrize("version", ["1.1", "3"])
def test_a_damaged_body_is_a_failure(
    campaign: Path, tmp_path: Path, version: str, caught: Caught
) -> None:
    """The digest differs although the size is the same, and the trial is not repeated."""
    record = only(serving(tmp_path, version, lambda body: b"X" + body[1:]).run(campaign), "failed")
    assert caught([record])
    assert "body as served" in record.attempt.outcome.reason


@pytest.mark.planted("the server sends only the beginning of the file", by="body as served")
def test_a_truncated_body_is_a_failure(campaign: Path, tmp_path: Path, caught: Caught) -> None:
    """Client and server are content, so only the file's length tells."""
    record = only(serving(tmp_path, "2", lambda body: body[:-1]).run(campaign), "failed")
    assert caught([record])


def serving(tmp_path: Path, version: str, change: Callable[[bytes], bytes]) -> Stage:
    """Prepare a trial in which the server has another file than the experiment says."""
    prepared = stage(SmallExperiment(versions=(version,)))
    ((path, content),) = prepared.setup.contents.items()
    other = tmp_path / "other"
    other.write_bytes(change(content.path.read_bytes()))
    contents = {path: dataclasses.replace(content, path=other)}
    prepared.setup = dataclasses.replace(prepared.setup, contents=contents)
    return prepared


@pytest.mark.planted("the sender has another congestion control", by="sender's congestion control")
def test_another_congestion_control_is_the_beds_fault(
    campaign: Path, monkeypatch: pytest.MonkeyPatch, caught: Caught
) -> None:
    """The check reads the accepted socket, not the experiment."""
    routes = {"client": "reno", "server": "reno"}
    monkeypatch.setattr(Scenario, "senders", lambda _: routes)
    records = stage(SmallExperiment(versions=("1.1",))).run(campaign)
    assert [record.attempt.outcome.kind for record in records] == ["invalid"] * ATTEMPTS
    assert caught(records)
    figures = {check(record, "sender's").figure for record in records}
    assert figures == {"reno on the accepted sockets"}


@pytest.mark.planted("segmentation offloads are left on", by="frames as on a wire")
@pytest.mark.parametrize("version", ["1.1", "3"])
def test_offloads_left_on_are_the_beds_fault(
    campaign: Path, monkeypatch: pytest.MonkeyPatch, version: str, caught: Caught
) -> None:
    """Frames longer than the MTU make the attempt invalid, whatever the client fetched."""

    def forget(planned: TrialPlan) -> TrialPlan:
        made = planned.attempt.network.hosts
        return renetworked(planned, hosts=tuple(spec for spec in made if spec.argv[0] != "ethtool"))

    replan(monkeypatch, forget)
    records = stage(SmallExperiment(versions=(version,), time_limit="2 s")).run(campaign)
    assert [record.attempt.outcome.kind for record in records] == ["invalid"] * ATTEMPTS
    assert caught(records)


@pytest.mark.planted("the emulator dies", by="trial carried out")
def test_a_dead_emulator_is_retried_three_times(campaign: Path, caught: Caught) -> None:
    """The run does not wait for the client; the invalid attempts are kept and are no data."""
    patient = stage(SmallExperiment(versions=("1.1",), time_limit="600 s", size="1 MB"))
    killer = threading.Thread(target=to_emulators, args=(ATTEMPTS, _kill))
    killer.start()
    records = patient.run(campaign)
    killer.join()
    assert [record.attempt.outcome.kind for record in records] == ["invalid"] * ATTEMPTS
    assert [record.attempt.number for record in records] == [1, 2, 3, 4]
    assert caught(records)
    assert all("the emulator ended" in record.attempt.outcome.reason for record in records)


def _kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


@pytest.mark.planted("the client speaks another version of HTTP", by="protocol used")
def test_a_client_that_cannot_speak_the_version_fails(
    campaign: Path, tmp_path: Path, caught: Caught
) -> None:
    """The server's log shows HTTP/1.1 instead of HTTP/3, which is data."""
    folder = recipe(tmp_path / "recipes", "curl", "--http3-only", "--http1.1")
    record = only(stage(SmallExperiment(versions=("3",)), [folder]).run(campaign), "failed")
    assert caught([record])
    assert check(record, "protocol used").figure.startswith("1 request(s) HTTP/1.1")
    assert check(record, "body as served").passed is True


@pytest.mark.planted("one of several requests uses another version", by="protocol used")
def test_a_load_of_mixed_versions_fails(
    campaign: Path, monkeypatch: pytest.MonkeyPatch, caught: Caught
) -> None:
    """The client asks once more, over HTTP/1.1, for what it has fetched over HTTP/2."""

    def ask_again(planned: TrialPlan) -> TrialPlan:
        (client,) = planned.attempt.clients
        argv = client.process.argv
        again = ("--http1.1" if word == "--http2" else word for word in argv[1:])
        process = dataclasses.replace(client.process, argv=(*argv, "--next", *again))
        return attempted(planned, clients=(dataclasses.replace(client, process=process),))

    replan(monkeypatch, ask_again)
    record = only(stage(SmallExperiment(versions=("2",))).run(campaign), "failed")
    assert caught([record])


@pytest.mark.planted("tickets of an earlier visit are left on", by="resumption")
def test_a_connection_that_is_resumed_unasked_fails(
    campaign: Path, monkeypatch: pytest.MonkeyPatch, caught: Caught
) -> None:
    """An earlier visit leaves a ticket, of which the experiment knows nothing."""

    def unasked(planned: TrialPlan) -> TrialPlan:
        document = planned.trial.document
        workload = {**document["workload"], "resumption": "none"}
        scenario = Scenario.model_validate({**document, "workload": workload})
        return dataclasses.replace(planned, scenario=scenario)

    replan(monkeypatch, unasked)
    settings = SmallExperiment(
        versions=("3",), client="gtlsclient", workload='resumption = "resumed"'
    )
    assert caught([only(stage(settings).run(campaign), "failed")])


@pytest.mark.planted("a proxy asks upstream again", by="part passed on cleanly")
def test_a_proxy_that_retries_fails(campaign: Path, tmp_path: Path, caught: Caught) -> None:
    """Nobody listens at the first of its two upstream ports, so it asks at the second."""
    shipped = "    server {upstream_authority}:{upstream_port} max_fails=0;"
    dead = shipped.replace("{upstream_port}", "9")
    folder = tmp_path / "recipes"
    recipe(folder, "nginx", shipped, f"{dead}\\n{shipped}")
    retrying = folder / "nginx.toml"
    text = retrying.read_text()
    retrying.write_text(text.replace("proxy_next_upstream off", "proxy_next_upstream error"))
    settings = SmallExperiment(
        versions=("2",),
        way=("client", "proxy", "server"),
        roles='proxies = [{ implementation = "nginx", http_version = "1.1" }]',
    )
    assert caught([only(stage(settings, [folder]).run(campaign), "failed")])


def test_no_trial_begins_with_what_tcp_learnt_in_another(
    campaign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel keeps such metrics for each network namespace, and every trial has new ones."""
    named = "tcp-metrics.txt"

    def look(planned: TrialPlan) -> TrialPlan:
        hosts = planned.attempt.network.hosts
        last = hosts[-1]
        seen = dataclasses.replace(last, argv=("ip", "tcp_metrics"), input=None, stdout=named)
        return renetworked(planned, hosts=(*hosts, seen))

    replan(monkeypatch, look)
    records = stage(SmallExperiment(versions=("1.1",), replicates=2)).run(campaign)
    assert len(records) == 2
    assert [file.read_text() for file in campaign.rglob(named)] == ["", ""]


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
    monkeypatch.setattr("httpbed.bed.sandbox.supervisor.START_TIMEOUT_S", 1.0)
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
        campaign_setup.manifest(lacking.loaded, lacking.setup, RunSettings(command=""))
    assert caught.value.remedy


def test_a_program_that_vanishes_is_no_data(
    campaign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that cannot be started is no result about the client."""

    def vanish(planned: TrialPlan) -> TrialPlan:
        (client,) = planned.attempt.clients
        gone = dataclasses.replace(client.process, argv=("kurl",))
        return attempted(planned, clients=(dataclasses.replace(client, process=gone),))

    replan(monkeypatch, vanish)
    records = stage(SmallExperiment(versions=("1.1",))).run(campaign)
    assert [record.attempt.outcome.kind for record in records] == ["invalid"] * ATTEMPTS
    assert "kurl" in records[-1].attempt.outcome.reason
