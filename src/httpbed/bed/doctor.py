"""``httpbed doctor``: the capabilities of this machine, each tested rather than assumed."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from httpbed.base import folders
from httpbed.base.errors import HostError
from httpbed.bed.machine import unprivileged
from httpbed.bed.machine.facts import MachineFacts
from httpbed.bed.toolbox import debian, root_filesystem
from httpbed.bed.toolbox.root_filesystem import Root

CONGESTION = ("cubic", "reno", "bbr")
_MIN_DISK_BYTES = 500_000_000
_MIN_RECEIVE_BYTES = 1_000_000
_MIN_CORES = 2
_TIME_LIMIT_S = 30.0
_OWN_PID_MAX = (6, 14)
"""The first Linux version with a limit of processes for each PID namespace."""


@dataclass(frozen=True)
class Capability:
    """A capability of the machine that a trial needs or benefits from."""

    name: str
    ok: bool | None
    """False: missing, and trials cannot run. None: missing or untested, but trials can run."""
    figure: str
    """The test's result, in words."""
    remedy: str = ""
    """What to do if it is not ok."""


def is_able(capabilities: list[Capability]) -> bool:
    """Whether trials can run, because no necessary capability is missing."""
    return all(capability.ok is not False for capability in capabilities)


def examine(
    facts: MachineFacts,
    *,
    executables: Mapping[str, Path | None],
    tools: Root | None,
    programs: Mapping[str, bool],
    pasta: Path | None,
) -> list[Capability]:
    """Test all capabilities of this machine.

    Args:
        facts: The facts of this machine.
        executables: httpbed's own executables by name; None if missing.
        tools: The root with the tools that set up networks; None if it is not built yet.
        programs: Whether each implementation's program is installed.
        pasta: The program that connects links with the outside; None if it is missing.
    """
    findings = run_capability_tests(tools)
    return [
        *_namespace_capabilities(findings),
        *_network_capabilities(findings),
        *_congestion_capabilities(findings),
        *_machine_capabilities(facts),
        *(_executable_capability(name, path) for name, path in executables.items()),
        _tools_capability(tools),
        _programs_capability(programs),
        _outside_capability(pasta),
    ]


def require_namespaces(findings: Mapping[str, Any]) -> None:
    """Check by the findings of capability tests that this user can make namespaces.

    Raises:
        HostError: The kernel refuses; with its reason and the remedy.
    """
    for capability in _namespace_capabilities(findings):
        if capability.ok is False:
            raise HostError(
                f"this machine refuses {capability.name}: {capability.figure}", capability.remedy
            )


def require_disk() -> None:
    """Check that the cache's disk has room for trials.

    Raises:
        HostError: There is too little; with the remedy.
    """
    disk = _disk_capability()
    if not disk.ok:
        raise HostError(f"{disk.name}: {disk.figure}", disk.remedy)


def require_congestion(names: Collection[str], root: Root) -> None:
    """Check that the kernel has these congestion controls.

    Raises:
        HostError: The kernel lacks one; with its reason and the remedy.
    """
    findings = run_capability_tests(root, congestion=tuple(sorted(names)))
    require_namespaces(findings)
    for capability in _congestion_capabilities(findings, sorted(names)):
        if capability.ok is not True:
            reason = f"this kernel has no {capability.name}: {capability.figure}"
            raise HostError(reason, f"{capability.remedy}, or use --clock virtual")


def run_capability_tests(
    root: Root | None, *, congestion: tuple[str, ...] = CONGESTION
) -> dict[str, Any]:
    """Run :mod:`httpbed.bed.machine.capability_tests` in a process of its own; return its findings.

    Tests that could not run are missing from the findings.
    """
    lower = folders.cache() if root is None else root.path
    while not lower.is_dir():
        lower = lower.parent
    request = {
        "ip": _program(root, "ip"),
        "lower": str(lower),
        "congestion": congestion,
        "root": unprivileged.is_machines_root(),
    }
    try:
        done = subprocess.run(
            [
                sys.executable,
                "-P",
                "-m",
                "httpbed.bed.machine.capability_tests",
                json.dumps(request),
            ],
            check=False,
            capture_output=True,
            text=True,
            timeout=_TIME_LIMIT_S,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
    except subprocess.TimeoutExpired:
        return _failed(f"the capability tests took more than {_TIME_LIMIT_S:.0f} s")
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        return _failed(lines[-1] if lines else "the capability tests ended without output")
    findings: dict[str, Any] = json.loads(done.stdout)
    return findings


def _failed(reason: str) -> dict[str, Any]:
    return {"user": {"error": reason}}


def _program(root: Root | None, name: str) -> list[str] | None:
    """Return the command of a program: the machine's, or else the toolbox's."""
    if path := shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"):
        return [path]
    return None if root is None else root_filesystem.tool_command(root, name)


def _capability(
    findings: Mapping[str, Any], key: str, name: str, remedy: str, *, necessary: bool = True
) -> Capability:
    finding = findings.get(key)
    if finding is None:
        return Capability(name, None, "not tested: needs user namespaces", remedy)
    if "figure" in finding:
        return Capability(name, True, finding["figure"])
    if finding["error"].startswith("not tested"):
        return Capability(name, None, finding["error"], "build the toolbox: httpbed toolbox build")
    return Capability(name, False if necessary else None, finding["error"], remedy)


def _namespace_capabilities(findings: Mapping[str, Any]) -> Iterator[Capability]:
    allow = namespace_remedy()
    container = "start the container with fewer restrictions, or run outside of a container"
    yield _capability(findings, "user", "user namespaces", allow)
    if "ordinary" in findings:
        yield _capability(findings, "ordinary", "namespaces for an ordinary user", _OF_ROOT)
    yield _capability(findings, "network", "network namespaces", allow)
    yield _capability(findings, "mount", "mount namespaces", allow)
    yield _capability(findings, "pid", "PID namespaces", container)
    overlay = "needs Linux 5.12 or newer, and a cache folder (HTTPBED_CACHE) on a local disk"
    yield _capability(findings, "overlay", "overlay filesystem", overlay)


_OF_ROOT = (
    "trials of root run as an ordinary user, who may not make namespaces here; allow it"
    " (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone, or AppArmor's"
    " kernel.apparmor_restrict_unprivileged_userns), or run httpbed outside of the container"
)


def namespace_remedy() -> str:
    """Return the remedy if this machine refuses namespaces to an ordinary user."""
    switches = {
        "kernel/apparmor_restrict_unprivileged_userns": (
            "1",
            (
                "AppArmor restricts user namespaces; ask the administrator to run"
                " 'sysctl kernel.apparmor_restrict_unprivileged_userns=0', or to allow userns for"
                " httpbed-sandbox in an AppArmor profile"
            ),
        ),
        "kernel/unprivileged_userns_clone": (
            "0",
            "ask the administrator to run 'sysctl kernel.unprivileged_userns_clone=1'",
        ),
        "user/max_user_namespaces": (
            "0",
            "ask the administrator to run 'sysctl user.max_user_namespaces=10000'",
        ),
    }
    for name, (closed, remedy) in switches.items():
        if _sysctl(name) == closed:
            return remedy
    return (
        "run outside of a container, or start the container with user namespaces allowed"
        " (its seccomp profile must permit unshare)"
    )


def _network_capabilities(findings: Mapping[str, Any]) -> Iterator[Capability]:
    module = "ask the administrator to run: modprobe {}"
    yield _capability(findings, "veth", "veth interfaces", module.format("veth"))
    yield _capability(
        findings, "packet", "packet sockets with timestamps", module.format("af_packet")
    )
    gso = "use Linux 6.11 or newer, or switch GSO off in the programs under test"
    yield _capability(findings, "gso", "UDP GSO without offload", gso, necessary=False)


def _congestion_capabilities(
    findings: Mapping[str, Any], names: Iterable[str] = CONGESTION
) -> Iterator[Capability]:
    for name in names:
        yield _capability(
            findings,
            f"congestion {name}",
            f"TCP {name}",
            f"ask the administrator to run: modprobe tcp_{name}",
            necessary=name == "cubic",
        )


def _machine_capabilities(facts: MachineFacts) -> Iterator[Capability]:
    yield _real_time_capability()
    yield _filter_capability()
    yield _processes_capability(facts)
    yield Capability("memory of programs", True, "summed every 250 ms, including shared memory")
    yield _receive_buffer_capability()
    yield Capability(
        "CPU pressure (PSI)",
        facts.pressure or None,
        "counted" if facts.pressure else "not counted",
        "boot with psi=1; without it httpbed uses steal and run-queue waits",
    )
    yield Capability(
        "processors",
        (facts.cores >= _MIN_CORES) or None,
        f"{facts.cores} usable",
        "on one core the emulator competes with the programs; expect invalid attempts",
    )
    yield _disk_capability()


def _real_time_capability() -> Capability:
    """Test whether this user may give a child process the emulator's scheduling class."""
    child = subprocess.Popen(
        [sys.executable, "-I", "-c", "input()"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    try:
        os.sched_setscheduler(child.pid, os.SCHED_FIFO, os.sched_param(1))
    except OSError as error:
        reason = f"refused ({error.strerror}): the emulator runs as SCHED_OTHER"
        remedy = "raise RLIMIT_RTPRIO (rtprio in limits.conf) for lower emulator lateness"
        return Capability("SCHED_FIFO", None, reason, remedy)
    finally:
        child.send_signal(signal.SIGKILL)
        with contextlib.suppress(OSError):
            child.communicate()
    return Capability("SCHED_FIFO", True, "permitted")


def _filter_capability() -> Capability:
    """Test whether the kernel filters system calls (seccomp(2))."""
    actions = _sysctl("kernel/seccomp/actions_avail")
    return Capability(
        "filter of system calls",
        "errno" in actions.split(),
        "seccomp" if actions else "none",
        "boot a kernel with CONFIG_SECCOMP_FILTER; without it programs under test are not confined",
    )


def _processes_capability(facts: MachineFacts) -> Capability:
    has_limit_for_each = tuple(map(int, re.findall(r"\d+", facts.kernel)[:2])) >= _OWN_PID_MAX
    figure = "limited for each program" if has_limit_for_each else "limited for a whole trial"
    remedy = "use Linux 6.14 or newer to limit the processes of each program"
    return Capability("processes of programs", has_limit_for_each or None, figure, remedy)


def _receive_buffer_capability() -> Capability:
    largest = int(_sysctl("net/core/rmem_max") or 0)
    return Capability(
        "socket receive buffers",
        (largest >= _MIN_RECEIVE_BYTES) or None,
        f"up to {largest} bytes",
        "ask the administrator to run 'sysctl net.core.rmem_max=4194304'; otherwise the emulator's"
        " socket may lose packets of fast links, which makes attempts invalid",
    )


def _disk_capability() -> Capability:
    place = folders.cache()
    while not place.is_dir():
        place = place.parent
    name, free = "free disk for the cache", shutil.disk_usage(place).free
    if not os.access(place, os.W_OK | os.X_OK):
        figure = f"this user cannot write to {place}"
        return Capability(name, False, figure, "set HTTPBED_CACHE to a folder of yours")
    least = f"at least {_MIN_DISK_BYTES / 1e9} GB are needed"
    remedy = f"free some, or set HTTPBED_CACHE to another folder; {least}"
    return Capability(name, free >= _MIN_DISK_BYTES, f"{free / 1e9:.1f} GB", remedy)


def _executable_capability(name: str, path: Path | None) -> Capability:
    figure = "missing" if path is None else str(path)
    return Capability(
        name, path is not None, figure, "build and install httpbed's wheel: make build"
    )


_BUILD = "the first run that needs it builds it; to build it now: httpbed toolbox build"


def _tools_capability(root: Root | None) -> Capability:
    figure = "not built yet" if root is None else f"{len(root.versions)} packages"
    return Capability("tools for networks", True if root else None, figure, _BUILD)


def _programs_capability(programs: Mapping[str, bool]) -> Capability:
    missing = sorted(name for name, there in programs.items() if not there)
    figure = f"{len(programs) - len(missing)} of {len(programs)}"
    if missing:
        figure += f"; missing {', '.join(missing)}"
    return Capability("programs under test", None if missing else True, figure, _BUILD)


def _outside_capability(pasta: Path | None) -> Capability:
    name, fault = "outside network of links", debian.pasta_fault(pasta)
    return Capability(name, None, *fault) if fault else Capability(name, True, str(pasta))


def _sysctl(name: str) -> str:
    """Return a kernel setting; empty if it does not exist."""
    try:
        return Path("/proc/sys", name).read_text().strip()
    except OSError:
        return ""
