"""Nothing reaches out of a trial: not on the network, not into files, not into settings.

A program under test cannot tell which attempt, block or campaign it is in.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

import process_tree
from families import until
from hostile import attacked
from httpbed.bed.machine import unprivileged
from httpbed.experiment.trial import Outcome
from httpbed.trial import verdict
from orchestrator import Run, Sandbox
from real_runs import SmallExperiment

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox, pytest.mark.as_root]


LOOPBACK, LINK = "lo", "eth0"
PROGRAMS = ("curl", "nginx")
TOP = {"bin", "dev", "devices", "old", "overlays", "parts", "proc", "roots", "run", "tmp", "trial"}
"""All that is in the sandbox's own root; ``old`` is where the host's was, and empty."""


@dataclass(frozen=True)
class AttemptEvidence:
    """What one process of a trial could see."""

    interfaces: frozenset[str]
    routes: tuple[tuple[str, str, str], ...]
    """Interface, gateway and mask of each IPv4 route, as the kernel writes them."""
    ipv6: str
    writable: frozenset[str]
    """Where it can write to the filesystem that this test's folder is on."""
    secret: bool
    """Whether a file of this test is there."""
    uid_map: tuple[str, ...]
    namespaces: frozenset[str]
    shared: frozenset[str]
    """Kinds of namespaces that it has in common with us."""
    top: frozenset[str]
    old: frozenset[str]


@dataclass(frozen=True)
class Visit:
    """What was seen in a trial, and this machine's settings around it."""

    seen: dict[str, AttemptEvidence]
    sysctls_before: dict[str, str]
    sysctls_after: dict[str, str]


@pytest.fixture(scope="module")
def visit(tmp_path_factory: pytest.TempPathFactory) -> Visit:
    """Look at every process of a trial while its client fetches."""
    folder = tmp_path_factory.mktemp("isolation")
    file, secret = folder / "experiment.toml", folder / "secret"
    file.write_text(SmallExperiment(versions=("1.1",), rate="1 Mbit/s").text())
    secret.touch()
    before = process_tree.sysctls()
    with Run(file, folder / "campaign") as run:
        found: list[Sandbox] = []

        def fetching() -> bool:
            now = run.sandbox()
            if now and set(PROGRAMS) <= set(now.pids):
                found.append(now)
            return bool(found) or run.is_over()

        until(fetching)
        assert found, run.log
        seen = {name: look(pid, secret) for name, pid in found[-1].pids.items()}
        assert run.wait() == 0, run.log
    return Visit(seen, before, process_tree.sysctls())


def look(pid: int, secret: Path) -> AttemptEvidence:
    """Inspect the namespaces and files of a process."""
    process = Path(f"/proc/{pid}")
    root = process / "root"
    routes = [line.split() for line in (process / "net/route").read_text().splitlines()[1:]]
    device = secret.stat().st_dev
    place = f"{os.major(device)}:{os.minor(device)}"
    mounts = [line.split() for line in (process / "mountinfo").read_text().splitlines()]
    own = process_tree.namespaces(os.getpid()) & process_tree.namespaces(pid)
    return AttemptEvidence(
        interfaces=frozenset(
            line.split(":")[0].strip()
            for line in (process / "net/dev").read_text().splitlines()[2:]
        ),
        routes=tuple((route[0], route[2], route[7]) for route in routes),
        ipv6=(process / "net/if_inet6").read_text(),
        writable=frozenset(
            mount[4] for mount in mounts if mount[2] == place and "rw" in mount[5].split(",")
        ),
        secret=(root / secret.relative_to("/")).exists(),
        uid_map=tuple((process / "uid_map").read_text().split()),
        namespaces=process_tree.namespaces(pid),
        shared=frozenset(name.partition(":")[0] for name in own),
        top=frozenset(entry.name for entry in root.iterdir()),
        old=frozenset(entry.name for entry in (root / "old").glob("*")),
    )


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_link_is_the_only_way(visit: Visit, program: str) -> None:
    """A host has its loopback and its end of the link, and no gateway beyond it."""
    seen = visit.seen[program]
    assert seen.interfaces == {LOOPBACK, LINK}
    assert seen.routes == ((LINK, "00000000", "00FFFFFF"),)
    assert not seen.ipv6


def test_the_emulator_has_the_links_only(visit: Visit) -> None:
    """The emulator's network holds the other ends of the links and no address."""
    seen = visit.seen["httpbed-link"]
    assert seen.interfaces == {LOOPBACK, "l0a", "l0b"}
    assert seen.routes == ()


@pytest.mark.parametrize("name", [*PROGRAMS, "init", "httpbed-link"])
def test_files_of_this_machine_are_not_seen(visit: Visit, name: str) -> None:
    """A program under test can write to no disk, and the bed to the attempt's folder only."""
    seen = visit.seen[name]
    assert not seen.secret
    assert seen.writable == (set() if name in PROGRAMS else {"/trial"})


@pytest.mark.parametrize("name", ["init", "httpbed-link"])
def test_the_sandbox_has_a_root_of_its_own(visit: Visit, name: str) -> None:
    """The machine's root is gone after pivot_root."""
    seen = visit.seen[name]
    assert seen.top == TOP
    assert not seen.old


def test_programs_have_no_rights_here(visit: Visit) -> None:
    """Root inside is an ordinary user outside; only the cgroup namespace is the machine's."""
    user, _ = unprivileged.user() or (os.geteuid(), 0)
    assert user != 0
    for name, seen in visit.seen.items():
        assert seen.uid_map == ("0", str(user), "1"), name
        assert seen.shared <= ({"cgroup", "pid"} if name == "outer" else {"cgroup"}), name


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_under_test_shares_nothing_with_the_bed(visit: Visit, program: str) -> None:
    """It shares no processes, files, memory or network with the emulator or another part."""
    for other in {*visit.seen} - {program, "outer"}:
        common = visit.seen[program].namespaces & visit.seen[other].namespaces
        assert {name.partition(":")[0] for name in common} <= {"cgroup", "user", "uts"}, other


def test_settings_of_this_machine_stay(visit: Visit) -> None:
    """No sysctl of the machine changes, although trials set some in their namespaces."""
    assert visit.sysctls_after == visit.sysctls_before


NUMBERS = re.compile(r"^\d+ \d+ \d+:\d+ ", re.MULTILINE)
"""Of mounts and their devices: the kernel takes what is free, whatever else this machine mounts."""
COUNTED = ("times of ", "/proc/self/autogroup", "processes")
"""Clocks and counters of the machine, which every program can read (docs/concepts/isolation.md)."""


@pytest.mark.parametrize("role", ["client", "server"])
def test_attempts_and_blocks_look_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, role: str
) -> None:
    """Each of two attempts in each of two blocks shows its programs the same."""
    invalid = Outcome(kind="invalid", reason="repeated")
    monkeypatch.setattr(verdict, "outcome", lambda *_: invalid)
    attacked(tmp_path, "identity", role, replicates=2)
    files = sorted((tmp_path / "campaign/trials").glob(f"*/*/*/artifacts/{role}/seen.json"))
    numbers = {(file.parts[-6], file.parts[-4]) for file in files}
    assert {("0001", "1"), ("0001", "2"), ("0002", "1"), ("0002", "2")} <= numbers
    assert len({json.dumps(lasting(file)) for file in files}) == 1, [
        lasting(file) for file in files
    ]


def lasting(file: Path) -> dict[str, str]:
    """Return what a program saw, without clocks and the kernel's numbers."""
    seen = json.loads(file.read_text())
    return {
        name: NUMBERS.sub("", text) for name, text in seen.items() if not name.startswith(COUNTED)
    }


def test_no_path_of_the_campaign_is_seen(tmp_path: Path) -> None:
    """Neither in a mount nor in a variable, nor the name of this machine."""
    found = attacked(tmp_path, "identity")
    seen = (found.artifacts / "client/seen.json").read_text()
    assert tmp_path.name not in seen
    assert "campaign" not in seen
    assert json.loads(seen)["host"].split()[0] == "localhost"
