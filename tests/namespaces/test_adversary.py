"""A program under test that attacks the bed reaches nothing, and its trial has the outcome it must.

The attacks are those of ``tests/adversary``; each stands for a way that was once open, or would be
without one of the layers of the sandbox (docs/concepts/isolation.md).
"""

from __future__ import annotations

import json
import resource
from pathlib import Path

import pytest

from burning import BURNT_S, ORPHANS
from hostile import attacked, least_s
from httpbed.programs import recipe
from httpbed.trial import plan
from real_runs import check, values

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox, pytest.mark.as_root]

MB = 10**6
ROLES = ("client", "server")
REFUSED = (
    *("forger", "killer", "second_link", "keyring", "shadow", "sysctl", "tracer", "namespaces"),
    *("rights", "protocols"),
)
"""Attacks that reach for something: the kernel refuses each way of them."""
RESTARTED = 'retry = "restart"\nknobs = {{ attack = "{attack}" }}'


@pytest.fixture(autouse=True)
def _tight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lower the bounds so that tests reach them sooner."""
    monkeypatch.setattr(plan, "LOG_BYTES", 40 * MB)
    monkeypatch.setattr(recipe, "MEMORY_BYTES", 400 * MB)
    monkeypatch.setattr(recipe, "PROCESSES", 400)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("attack", REFUSED)
def test_an_attack_on_the_bed_is_refused(tmp_path: Path, attack: str, role: str) -> None:
    """No way of the attack succeeds, and the trial completes at its first attempt."""
    found = attacked(tmp_path, attack, role)
    assert len(found.tried()) >= 3
    assert found.succeeded() == []
    assert (found.outcome, found.attempts) == ("completed", 1)
    assert values(found.record)["request_time"] >= least_s(100_000)


@pytest.mark.parametrize("attack", ["neighbour", "flows", "flood", "fragments"])
def test_what_a_client_sends_astray_is_its_own_failure(tmp_path: Path, attack: str) -> None:
    """It gets no further attempt, whatever checks of the bed its packets broke."""
    found = attacked(tmp_path, attack)
    assert found.attempts == 1
    assert found.outcome.startswith("failed: ")
    assert "packets sent, client: " in found.outcome


def test_a_packet_with_a_time_of_departure_has_the_emulators_time(tmp_path: Path) -> None:
    """The kernel may keep the sender's time with a packet (SO_TXTIME); it is no stamp."""
    found = attacked(tmp_path, "future")
    assert found.attempts == 1
    link = json.loads((found.artifacts / "link-result.json").read_text())
    assert link["unstamped_frames"] == 0
    (datagrams,) = [one for one in link["connections"] if one["protocol"] == "udp"]
    first, last = datagrams["client_first_ns"], datagrams["client_last_ns"]
    assert datagrams["client_packets"] == 3
    assert link["started_ns"] <= first <= last <= link["stopped_ns"]


@pytest.mark.parametrize(
    ("attack", "reason"),
    [
        ("chmod", "closed its folder"),
        ("inner_chmod", "closed 'inner' in its folder"),
        ("disk", "filled its folder of 40 MB"),
        ("keep_size", "filled its folder of 40 MB"),
        ("fallocate", "filled its folder of 40 MB"),
        ("holes", "filled its folder of 40 MB"),
        ("links", "filled its folder of 40 MB"),
        ("small", "filled its folder of 4096 files and folders"),
        ("names", "filled its folder of 4096 files and folders"),
        ("byte_name", "left a name that is no text, '\\udcff\\udcfe\\x1b[31m'"),
        ("traps", "left a named pipe, 'pipe'"),
        ("hole", "client ended well: exit status 1"),
        ("deep", "made folders more than 32 deep in its folder"),
        ("shared_memory", "client ended well: used more than 400 MB of memory, and was killed"),
        ("memory_files", "client ended well: used more than 400 MB of memory, and was killed"),
    ],
)
def test_an_attack_on_the_machine_is_a_failure_of_the_program(
    tmp_path: Path, attack: str, reason: str
) -> None:
    """The outcome names the reason, it is not retried, and its files can be removed."""
    found = attacked(tmp_path, attack)
    assert found.attempts == 1
    assert found.outcome.startswith("failed: ")
    assert reason in found.outcome
    left = [path for path in found.artifacts.rglob("*") if not path.is_dir()]
    assert all(path.is_file() and not path.is_symlink() for path in left)
    assert len(left) < 200
    assert sum(path.stat().st_blocks * 512 for path in left) < 80 * MB
    assert {path.stat().st_uid for path in left} == {tmp_path.stat().st_uid}


@pytest.mark.parametrize("attack", ["unnamed", "unlinked"])
def test_room_without_a_name_is_bounded_and_returned(tmp_path: Path, attack: str) -> None:
    """What it takes is memory within the folder's bound, where its own output then has no room."""
    found = attacked(tmp_path, attack)
    assert found.attempts == 1
    assert "the client printed nothing" in found.outcome
    assert sum(path.stat().st_blocks * 512 for path in found.artifacts.rglob("*")) < MB


def test_the_cpu_time_of_orphans_is_that_of_their_part(tmp_path: Path) -> None:
    """It is in the program's own time, in the trial's, and in that of httpbed's descendants."""
    before_s = of_children_s()
    found = attacked(tmp_path, "orphans")
    evidence = json.loads((found.artifacts / "evidence.json").read_text())
    burnt_s = ORPHANS * BURNT_S
    assert evidence["exits"]["client"]["cpu_s"] >= burnt_s
    # The last reading of the watch is a twentieth of its length before its end, at most.
    assert evidence["pressure"]["ran_s"] >= 0.7 * burnt_s
    assert of_children_s() - before_s >= burnt_s


def of_children_s() -> float:
    """Return the CPU time that the kernel counts for this process's ended descendants."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def test_a_server_cannot_choose_another_congestion_control(tmp_path: Path) -> None:
    """The kernel refuses it on the route, before the transfer and under way."""
    found = attacked(tmp_path, "congestion", "server", rate="2 Mbit/s")
    assert {one["way"] for one in found.tried()} > {"accepted", "under way"}
    assert found.succeeded() == []
    assert (found.outcome, found.attempts) == ("completed", 1)
    assert check(found.record, "sender's").figure == "cubic on the accepted sockets"


@pytest.mark.parametrize("server", ["nginx", "adversary-server"])
@pytest.mark.parametrize("attack", ["fork_bomb", "full_tmp"])
def test_an_attack_on_other_parts_leaves_them_unharmed(
    tmp_path: Path, attack: str, server: str
) -> None:
    """A client that exhausts resources still gets its file, also from a threaded server."""
    found = attacked(tmp_path, attack, server=server)
    assert (found.outcome, found.attempts) == ("completed", 1)


@pytest.mark.parametrize("attack", ["fifo_next", "folder_next", "chmod_next"])
def test_a_client_that_keeps_its_next_run_from_starting_has_failed(
    tmp_path: Path, attack: str
) -> None:
    """The client has failed, not the bed, and the trial is not repeated."""
    found = attacked(tmp_path, attack, on_client=RESTARTED.format(attack=attack))
    assert found.attempts == 1
    assert found.outcome.startswith("failed: ")


def test_what_a_program_leaves_running_ends_with_it(tmp_path: Path) -> None:
    """After a part's program has ended, no process writes to the part's files."""
    found = attacked(tmp_path, "survivor")
    assert found.outcome == "completed"
    assert 0 < len((found.artifacts / "client/later").read_text().splitlines()) < 300
