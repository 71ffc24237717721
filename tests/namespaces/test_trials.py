"""Trials as they should be: every check passed, figures that agree, fates that repeat."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from httpbed.experiment.trial import Record
from real_runs import SmallExperiment, artifact, check, stage, values

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox, pytest.mark.as_root]

RATE_BIT_S = 10e6
RTT_S = 0.010
PING_DIGIT_S = 0.0002
CLOSE_S = {"1.1": 0.02, "2": 0.02, "3": 0.03}
"""What the wire may see beyond curl's own times: curl's way from the last byte to its close;
with QUIC also the cryptography of the handshake, of which curl tells only the end."""


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> list[Record]:
    """Run three blocks of HTTP/1.1, HTTP/2 and HTTP/3, two trials side by side."""
    directory = tmp_path_factory.mktemp("trials") / "campaign"
    return stage(SmallExperiment(replicates=3)).run(directory, jobs=2)


@pytest.fixture(params=["1.1", "2", "3"])
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def finals(trials: list[Record], version: str) -> list[Record]:
    """Return the attempts that count, of one HTTP version."""
    return [
        record
        for record in trials
        if record.attempt.trial.levels["http_version"] == version
        and record.attempt.outcome.kind != "invalid"
    ]


def test_every_check_passes(trials: list[Record], version: str) -> None:
    """Every trial completes and breaks no check; QUIC's encryption may hide some evidence."""
    chosen = finals(trials, version)
    assert [record.attempt.outcome.kind for record in chosen] == ["completed"] * 3
    unseen = {c.name for record in chosen for c in record.attempt.checks if c.passed is not True}
    quic = {"possible for this link, bytes received"} if version == "3" else set()
    assert unseen <= {"sender's congestion control"} | quic
    for record in chosen:
        assert check(record, "protocol used").figure == (
            f"1 request(s) HTTP/{version}, by the server's log"
        )
        assert check(record, "body").figure.startswith("100000 bytes")


def test_two_are_under_way_at_once(trials: list[Record]) -> None:
    """With two jobs, two trials overlap and never three."""
    begun = [
        (datetime.fromisoformat(record.attempt.started).timestamp(), record.attempt.phases_s)
        for record in trials
    ]
    spans = [(start, start + sum(phases.values())) for start, phases in begun]
    at_once = [sum(start <= moment < end for start, end in spans) for moment, _ in spans]
    assert max(at_once) == 2


def test_the_wire_agrees_with_the_client(trials: list[Record], version: str) -> None:
    """The wire's request time is curl's, counted from its first packet on.

    curl's clock starts before its first packet and stops before its last, so the wire's time
    can never be below what lies between, however busy the machine is.
    """
    beyond = []
    for record in finals(trials, version):
        seen = values(record)
        told = seen["client_total_time"] - seen["client_connect_time"] + RTT_S
        beyond.append(seen["request_time"] - told)
    assert min(beyond) >= -PING_DIGIT_S
    assert min(beyond) <= CLOSE_S[version]


def test_nothing_is_faster_than_the_link(trials: list[Record], version: str) -> None:
    """Goodput plus the other bytes on the wire stays below the rate."""
    for record in finals(trials, version):
        seen = values(record)
        assert seen["goodput"] * (1 + seen["wire_overhead"]) < RATE_BIT_S
        assert seen["rtt"] >= RTT_S - PING_DIGIT_S


LOSSY = SmallExperiment(
    versions=("1.1",), loss="5 %", delay="1 ms", rate="20 Mbit/s", size="200 kB"
)


def ways(settings: SmallExperiment, directory: Path) -> list[list[dict[str, Any]]]:
    """Run trials and return what each one's link says of its two directions, by block."""
    records = stage(settings).run(directory)
    return [
        artifact(directory, record, "link-result.json")["directions"]
        for record in records
        if record.attempt.outcome.kind == "completed"
    ]


def test_fates_come_from_the_seed(tmp_path: Path) -> None:
    """The same seed loses the same packet numbers; another seed or block loses others."""
    seed_7 = LOSSY
    (first, other_block) = ways(
        SmallExperiment(**{**vars(seed_7), "replicates": 2}), tmp_path / "first"
    )
    (again,) = ways(seed_7, tmp_path / "again")
    (other_seed,) = ways(SmallExperiment(**{**vars(seed_7), "seed": 8}), tmp_path / "other")
    assert all(same(*pair) for pair in zip(first, again, strict=True))
    assert not same(first[1], other_block[1])
    assert not same(first[1], other_seed[1])


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether two runs of a direction lost the same packets, as far as both went."""
    common = min(way["packets"]["in"] for way in (one, other))
    assert common > 30
    lost = [[number for number in way["lost_numbers"] if number < common] for way in (one, other)]
    return lost[0] == lost[1]
