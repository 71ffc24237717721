"""Real hand-overs of real clients: what each kind does to them, and that it is told as it was."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any, Literal

import pytest

from handover_experiments import HandoverExperiment
from httpbed.experiment.trial import Record
from httpbed.store import campaign as campaigns
from real_runs import artifact, check, stage, values

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]

AFTER = 'when = { delivered = "150 kB" }'
GONE = f'kind = "address deleted"\nsockets = "destroyed"\n{AFTER}'
RTT_S = 0.02
RESUMES = 'retry = "resume"'


def tried(tmp_path: Path, handover: str, **settings: Any) -> Record:
    """Run a trial with a hand-over, and return its last attempt."""
    (record,) = stage(HandoverExperiment(handover=handover, **settings)).results(
        tmp_path / "campaign"
    )
    return record


def connections(tmp_path: Path, record: Record, link: str) -> list[dict[str, Any]]:
    """Return what the emulator saw on a link."""
    told = artifact(tmp_path / "campaign", record, "link-result.json")["connections"]
    return [one for one in told if one["link"] == link]


def folder(tmp_path: Path, record: Record) -> Path:
    """Return where an attempt left its files."""
    attempt = record.attempt
    return campaigns.artifacts(
        tmp_path / "campaign", attempt.trial.block, attempt.id, attempt.number
    )


def alternates(links: list[str]) -> bool:
    """Return whether the client alternates between its links, starting with the first."""
    return links == list(itertools.islice(itertools.cycle(["wifi", "cellular"]), len(links)))


def test_destroyed_sockets_end_a_download_over_tcp(tmp_path: Path) -> None:
    """As on Android, the sockets fail at once, and nothing is sent over the other link."""
    record = tried(tmp_path, GONE)
    assert record.attempt.outcome.kind == "failed"
    reason = record.attempt.outcome.reason
    assert "exit status 56" in reason
    assert reason.endswith("no hand-over was followed: nothing was sent over cellular")
    assert check(record, "sockets of a deleted address").passed
    assert check(record, "hand-over took place").passed
    assert (folder(tmp_path, record) / "sockets-destroyed-1.txt").read_text().count("\n") == 1
    assert connections(tmp_path, record, "cellular") == []


def test_kept_sockets_wait_for_their_timers(tmp_path: Path) -> None:
    """The kernel does not notify the client, which waits until the time limit."""
    kept = GONE.replace("destroyed", "kept")
    record = tried(tmp_path, kept, time_limit="2 s")
    assert record.attempt.outcome.kind == "timed out"
    assert record.attempt.outcome.reason.endswith("nothing was sent over cellular")
    assert values(record)["delivery_silence"] > 1.0


@pytest.mark.slow
@pytest.mark.parametrize("version", ["4", "6"])
def test_a_quic_connection_migrates(tmp_path: Path, version: Literal["4", "6"]) -> None:
    """The wire shows the same connection from another address, and the file is complete."""
    settings = {"client": "httpbed-quiche", "versions": ("3",), "ip_version": version}
    record = tried(tmp_path, GONE, **settings)
    assert record.attempt.outcome.kind == "completed"
    followed = check(record, "hand-over followed")
    assert followed.passed
    assert followed.figure.startswith("migrated: same connection, from ")
    taken = values(record)
    assert taken["connections"] == 1
    assert taken["migrations"] == 1
    assert taken["bytes_fetched_twice"] == 0
    assert taken["new_path_delay"] >= RTT_S * 0.9
    assert taken["delivery_stall"] >= taken["delivery_silence"] >= RTT_S * 0.9
    (begun,) = connections(tmp_path, record, "cellular")
    assert begun["opening"] == "short"
    (moment,) = artifact(tmp_path / "campaign", record, "../handovers.json")
    assert moment["verdict"] == "migrated"


@pytest.mark.parametrize(
    "handover",
    [f'{GONE}\ngap = "100 ms"', GONE.replace("address deleted", "make before break")],
    ids=["gap", "make before break"],
)
def test_a_client_that_resumes_makes_a_new_connection(tmp_path: Path, handover: str) -> None:
    """It connects over the new link, and the file is complete."""
    if "make" in handover:
        handover += '\noverlap = "30 ms"'
    record = tried(tmp_path, handover, on_client=RESUMES)
    assert record.attempt.outcome.kind == "completed"
    assert check(record, "hand-over followed").figure.startswith("a new connection: TCP over cell")
    assert check(record, "client on its first link").passed
    assert values(record)["client_runs"] > 1
    assert values(record)["new_path_delay"] >= RTT_S * 0.9


def test_a_route_alone_does_not_move_a_connection(tmp_path: Path) -> None:
    """The socket stays bound to the old address, which still works."""
    record = tried(tmp_path, f'kind = "route"\n{AFTER}')
    assert record.attempt.outcome.kind == "completed"
    assert check(record, "hand-over followed").passed is None
    words = (folder(tmp_path, record) / "network-monitor.txt").read_text()
    assert "metric 50" in words
    assert "Deleted" not in words
    assert "as reported by the kernel" in check(record, "hand-overs in time").figure


def test_a_blackhole_is_silent(tmp_path: Path) -> None:
    """The link drops all packets in both directions, and the client waits."""
    record = tried(tmp_path, f'kind = "blackhole"\n{AFTER}', time_limit="2 s")
    assert record.attempt.outcome.kind == "timed out"
    link = artifact(tmp_path / "campaign", record, "link-result.json")
    assert sum(way["packets"]["down_dropped"] for way in link["directions"][:2]) > 0
    assert sum(way["packets"]["in"] for way in link["directions"][2:4]) == 0
    assert "as reported by the emulator" in check(record, "hand-overs in time").figure
    assert (folder(tmp_path, record) / "network-monitor.txt").read_text() == ""


def test_a_nat_rebinding_keeps_the_connection(tmp_path: Path) -> None:
    """The server sees another port and answers there, and the download completes.

    nginx 1.30 at times fails to validate the new address (RFC 9000 section 9.3), so another server
    is used here.
    """
    nat = f'kind = "NAT rebinding"\n{AFTER}'
    record = tried(tmp_path, nat, client="aioquic", server="aioquic", versions=("3",))
    assert record.attempt.outcome.kind == "completed", record.attempt.outcome.reason
    assert check(record, "hand-over followed").figure.startswith(
        "migrated behind its NAT: same connection"
    )
    assert "as reported by the emulator" in check(record, "hand-overs in time").figure
    assert len(connections(tmp_path, record, "wifi")) == 1
    ports = {connection["client"] for connection in connections(tmp_path, record, "router-server")}
    assert len(ports) == 2


def test_repeated_handovers_alternate(tmp_path: Path) -> None:
    """Each hand-over is made and recorded, and the client gets its file in spite of them."""
    often = 'kind = "address deleted"\nsockets = "destroyed"\nwhen = { every = "150 ms" }'
    record = tried(tmp_path, often, on_client=RESUMES)
    assert record.attempt.outcome.kind == "completed", record.attempt.outcome.reason
    moments = artifact(tmp_path / "campaign", record, "../handovers.json")
    assert len(moments) > 1
    assert alternates([moment["from"] for moment in moments])
    assert alternates(["wifi", *(moment["to"] for moment in moments)])
    assert [moment["number"] for moment in moments] == list(range(1, len(moments) + 1))
    assert len(connections(tmp_path, record, "wifi")) >= 1
    assert len(connections(tmp_path, record, "cellular")) >= 1


@pytest.mark.slow
def test_a_path_that_is_never_validated(tmp_path: Path) -> None:
    """The other link is down from the start, so the client's packets on it get no answer."""
    dead = 'schedule = [{ at = "0 s", state = "down" }]'
    settings = {"client": "httpbed-quiche", "versions": ("3",), "time_limit": "2 s"}
    record = tried(tmp_path, GONE, on_cellular=dead, **settings)
    assert record.attempt.outcome.kind in {"failed", "timed out"}
    reason = "no hand-over was followed: nothing was answered of what was sent over cellular"
    assert record.attempt.outcome.reason.endswith(reason)
    assert "new_path_delay" not in values(record)


@pytest.mark.slow
def test_an_interface_that_flaps_ends_in_an_outcome(tmp_path: Path) -> None:
    """Each hand-over is made, faster than any client can follow."""
    flaps = 'kind = "address deleted"\nsockets = "destroyed"\nwhen = { every = "50 ms" }'
    settings = {"client": "httpbed-quiche", "versions": ("3",), "time_limit": "2 s"}
    record = tried(tmp_path, flaps, **settings)
    assert "trial carried out" not in {one.name for one in record.attempt.checks}
    assert record.attempt.phases_s["client"] < 10
    assert check(record, "hand-over took place").passed
    lines = (folder(tmp_path, record) / "handover.jsonl").read_text().splitlines()
    done = [json.loads(line) for line in lines]
    assert all(one["due_ns"] <= one["began_ns"] <= one["ended_ns"] for one in done)
    numbers = [number for number, _ in itertools.groupby(one["handover"] for one in done)]
    assert numbers == list(range(1, len(numbers) + 1))
    changes = [one["link"] for one in done if one["step"] == "detach"]
    assert len(changes) >= len(numbers) - 1 > 1
    assert changes == [("wifi", "cellular")[number % 2] for number in range(len(changes))]
    moments = artifact(tmp_path / "campaign", record, "../handovers.json")
    assert len(moments) == len(changes)
    outcome = record.attempt.outcome
    assert outcome.kind in {"completed", "failed", "timed out"}
    assert (outcome.reason == "") == (outcome.kind == "completed")
    if outcome.kind == "completed":
        assert check(record, "body as served").passed


def test_a_stable_address_differs_in_nothing_else(tmp_path: Path) -> None:
    """Without a hand-over, the same links have the same measurements."""
    record = tried(tmp_path, 'kind = "none"')
    assert record.attempt.outcome.kind == "completed"
    assert {"delivery_silence", "delivery_stall"} <= values(record).keys()
    names = {one.name for one in record.attempt.checks}
    assert {name for name in names if name.startswith("round-trip")} == {
        "round-trip time, client->server over wifi",
        "round-trip time, client->server over cellular",
    }
    assert not any(name.startswith("hand-over") for name in names)
    assert artifact(tmp_path / "campaign", record, "../handovers.json") == []


def test_a_client_that_is_done_before_completes(tmp_path: Path) -> None:
    """A download that ends before the hand-over is data, and checks show no change."""
    record = tried(tmp_path, 'kind = "route"\nwhen = { at = "15 s" }', size="50 kB")
    assert record.attempt.outcome.kind == "completed"
    made = check(record, "hand-over took place")
    assert made.passed is None
    assert made.figure.endswith("before the change at 15 s: make the hand-over earlier")
    assert check(record, "hand-over followed").figure.startswith("over before it: the client was")
    assert "delivery_stall" not in values(record)
    assert artifact(tmp_path / "campaign", record, "../handovers.json") == []
