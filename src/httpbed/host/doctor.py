"""What this machine can do, point by point, each tried and not assumed.

Standard library only.
"""

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
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from httpbed.experiment.errors import HostError
from httpbed.host import folders, unprivileged
from httpbed.host.facts import Facts
from httpbed.host.packages import identity
from httpbed.host.packages.toolbox import Root

CONGESTION = ("cubic", "reno", "bbr")
QDISCS: Mapping[str, str] = {
    "tbf": "tbf rate 1mbit burst 3000 limit 3000",
    "netem": "netem delay 1ms",
    "netem seed": "netem delay 1ms seed 1",
}
"""Queueing disciplines that can be a link's backend, and how each is tried."""
_LEAST_DISK_BYTES = 500_000_000
_LEAST_RECEIVE_BYTES = 1_000_000
_LEAST_CORES = 2
_PROBE_S = 30.0
_OWN_PID_MAX = (6, 14)
"""Since when each PID namespace has a bound of its own."""


@dataclass(frozen=True)
class Point:
    """One thing a trial needs or profits from."""

    name: str
    ok: bool | None
    """False where trials cannot run without it; None where they can, with less."""
    figure: str
    """What was seen."""
    remedy: str = ""
    """The way out where it is not ok."""

    def as_json(self) -> dict[str, Any]:
        """Return the point ready for :func:`json.dumps`."""
        return asdict(self)


def is_able(points: list[Point]) -> bool:
    """Whether trials can run: nothing necessary is missing."""
    return all(point.ok is not False for point in points)


def examine(
    facts: Facts,
    *,
    executables: Mapping[str, Path | None],
    tools: Root | None,
    programs: Mapping[str, bool],
) -> list[Point]:
    """Try everything.

    Args:
        facts: This machine's.
        executables: httpbed's own, by name; None for one that is missing.
        tools: The root with what networks are set up with; None while it is not built.
        programs: Whether each implementation's program is there now.
    """
    findings = probe(tools)
    return [
        *_namespace_points(findings),
        *_network_points(findings),
        *_qdisc_points(findings),
        *_congestion_points(findings),
        *_machine_points(facts),
        *(_executable_point(name, path) for name, path in executables.items()),
        _tools_point(tools),
        _programs_point(programs),
    ]


def require_namespaces() -> None:
    """Refuse, with the remedy, where namespaces cannot be made.

    Raises:
        HostError: With what the kernel said.
    """
    _require_namespaces(probe(None, congestion=()))


def _require_namespaces(findings: Mapping[str, Any]) -> None:
    for point in _namespace_points(findings):
        if point.ok is False:
            raise HostError(f"this machine refuses {point.name}: {point.figure}", point.remedy)


def require_qdisc(kind: str, root: Root) -> bool:
    """Refuse where the kernel has no such discipline; say whether it takes a seed.

    Raises:
        HostError: With what the kernel said.
    """
    findings = probe(root, congestion=())
    _require_namespaces(findings)
    for point in _qdisc_points(findings):
        if point.name == f"kernel's {kind}" and point.ok is not True:
            raise HostError(f"there is no {kind} in this kernel: {point.figure}", point.remedy)
    return "figure" in findings.get(f"qdisc {kind} seed", {})


def require_congestion(names: Collection[str], root: Root) -> None:
    """Refuse, with the remedy, where the kernel lacks one of these congestion controls.

    Raises:
        HostError: With what the kernel said.
    """
    findings = probe(root, congestion=tuple(sorted(names)))
    _require_namespaces(findings)
    for point in _congestion_points(findings, sorted(names)):
        if point.ok is not True:
            reason = f"there is no {point.name} in this kernel: {point.figure}"
            raise HostError(reason, point.remedy)


def probe(root: Root | None, *, congestion: tuple[str, ...] = CONGESTION) -> dict[str, Any]:
    """Run the probe in its own process; what it could not try is missing from its findings."""
    lower = folders.cache() if root is None else root.path
    while not lower.is_dir():
        lower = lower.parent
    wish = {
        "ip": _program(root, "ip"),
        "tc": identity.argv(root, "tc") if root else _program(None, "tc"),
        "lower": str(lower),
        "congestion": congestion,
        "qdiscs": QDISCS,
        "root": unprivileged.is_machines_root(),
    }
    done = subprocess.run(
        [sys.executable, "-P", "-m", "httpbed.host.namespace_tests", json.dumps(wish)],
        check=False,
        capture_output=True,
        text=True,
        timeout=_PROBE_S,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    if done.returncode != 0:
        return {"user": {"error": (done.stderr.strip().splitlines() or ["the probe died"])[-1]}}
    findings: dict[str, Any] = json.loads(done.stdout)
    return findings


def _program(root: Root | None, name: str) -> list[str] | None:
    """Say how to call a program: the machine's, or else the toolbox's."""
    if found := shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"):
        return [found]
    return None if root is None else identity.argv(root, name)


def _point(
    findings: Mapping[str, Any], key: str, name: str, remedy: str, *, necessary: bool = True
) -> Point:
    found = findings.get(key)
    if found is None:
        return Point(name, None, "not tried: needs user namespaces", remedy)
    if "figure" in found:
        return Point(name, True, found["figure"])
    if found["error"].startswith("not tried"):
        return Point(name, None, found["error"], "build the toolbox: httpbed toolbox build")
    return Point(name, False if necessary else None, found["error"], remedy)


def _namespace_points(findings: Mapping[str, Any]) -> Iterator[Point]:
    allow = namespace_remedy()
    container = "start the container with fewer restrictions, or run outside of one"
    yield _point(findings, "user", "user namespaces", allow)
    if "ordinary" in findings:
        yield _point(findings, "ordinary", "namespaces for an ordinary user", _OF_ROOT)
    yield _point(findings, "network", "network namespaces", allow)
    yield _point(findings, "mount", "mount namespaces", allow)
    yield _point(findings, "pid", "PID namespaces", container)
    overlay = "needs Linux 5.12 or newer, and a cache folder (HTTPBED_CACHE) on a local disk"
    yield _point(findings, "overlay", "overlay filesystem", overlay)


_OF_ROOT = (
    "what root starts runs as an ordinary user, who may make no namespaces here: allow it"
    " (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone, or AppArmor's"
    " kernel.apparmor_restrict_unprivileged_userns), or run httpbed outside of the container"
)


def namespace_remedy() -> str:
    """Say what keeps an ordinary user from making namespaces here, as the way out."""
    switches = {
        "kernel/apparmor_restrict_unprivileged_userns": (
            "1",
            (
                "AppArmor restricts user namespaces: have the administrator run"
                " 'sysctl kernel.apparmor_restrict_unprivileged_userns=0', or allow userns to"
                " httpbed-sandbox in an AppArmor profile"
            ),
        ),
        "kernel/unprivileged_userns_clone": (
            "0",
            "have the administrator run 'sysctl kernel.unprivileged_userns_clone=1'",
        ),
        "user/max_user_namespaces": (
            "0",
            "have the administrator run 'sysctl user.max_user_namespaces=10000'",
        ),
    }
    for name, (closed, remedy) in switches.items():
        if _sysctl(name) == closed:
            return remedy
    return (
        "run outside of a container, or start it with user namespaces allowed"
        " (its seccomp profile must let unshare pass)"
    )


def _network_points(findings: Mapping[str, Any]) -> Iterator[Point]:
    module = "have the administrator load it: modprobe {}"
    yield _point(findings, "veth", "veth interfaces", module.format("veth"))
    yield _point(findings, "packet", "packet sockets with stamps", module.format("af_packet"))
    gso = "a kernel of 6.11 or newer can; until then switch GSO off in the programs under test"
    yield _point(findings, "gso", "UDP GSO without offload", gso, necessary=False)


def _qdisc_points(findings: Mapping[str, Any]) -> Iterator[Point]:
    """Tell of backends beside the default one, which needs none of them."""
    load = "have the administrator load it: modprobe sch_{}; --link-backend af_packet needs none"
    for kind in ("tbf", "netem"):
        yield _point(
            findings, f"qdisc {kind}", f"kernel's {kind}", load.format(kind), necessary=False
        )


def _congestion_points(
    findings: Mapping[str, Any], names: Iterable[str] = CONGESTION
) -> Iterator[Point]:
    for name in names:
        yield _point(
            findings,
            f"congestion {name}",
            f"TCP {name}",
            f"have the administrator load it: modprobe tcp_{name}",
            necessary=name == "cubic",
        )


def _machine_points(facts: Facts) -> Iterator[Point]:
    yield _real_time_point()
    yield _filter_point()
    yield _processes_point(facts)
    yield Point("memory of programs", True, "summed every 250 ms, shared memory included")
    yield _receive_buffer_point()
    yield Point(
        "CPU pressure (PSI)",
        facts.pressure or None,
        "counted" if facts.pressure else "not counted",
        "boot with psi=1; until then steal and run-queue waits serve",
    )
    yield Point(
        "processors",
        (facts.cores >= _LEAST_CORES) or None,
        f"{facts.cores} usable",
        "on one core the emulator competes with the programs: expect invalid attempts",
    )
    yield _disk_point()


def _real_time_point() -> Point:
    """Try to give a child the emulator's scheduling class from outside, as a trial does."""
    child = subprocess.Popen(
        [sys.executable, "-I", "-c", "input()"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    try:
        os.sched_setscheduler(child.pid, os.SCHED_FIFO, os.sched_param(1))
    except OSError as error:
        reason = f"refused ({error.strerror}): the emulator runs as SCHED_OTHER"
        remedy = "raise RLIMIT_RTPRIO (rtprio in limits.conf) for lower emulator lateness"
        return Point("SCHED_FIFO", None, reason, remedy)
    finally:
        child.send_signal(signal.SIGKILL)
        with contextlib.suppress(OSError):
            child.communicate()
    return Point("SCHED_FIFO", True, "permitted")


def _filter_point() -> Point:
    """Look whether the kernel filters system calls (seccomp(2))."""
    actions = _sysctl("kernel/seccomp/actions_avail")
    return Point(
        "filter of system calls",
        "errno" in actions.split(),
        "seccomp" if actions else "none",
        "boot a kernel with CONFIG_SECCOMP_FILTER: without it programs under test are not confined",
    )


def _processes_point(facts: Facts) -> Point:
    own = tuple(map(int, re.findall(r"\d+", facts.kernel)[:2])) >= _OWN_PID_MAX
    figure = "bounded for each program" if own else "bounded for a whole trial"
    remedy = "Linux 6.14 or newer bounds the processes of each program by itself"
    return Point("processes of programs", own or None, figure, remedy)


def _receive_buffer_point() -> Point:
    largest = int(_sysctl("net/core/rmem_max") or 0)
    return Point(
        "socket receive buffers",
        (largest >= _LEAST_RECEIVE_BYTES) or None,
        f"up to {largest} bytes",
        "have the administrator run 'sysctl net.core.rmem_max=4194304': fast links may lose"
        " packets in the emulator's socket, which makes attempts invalid",
    )


def _disk_point() -> Point:
    place = folders.cache()
    while not place.is_dir():
        place = place.parent
    free = shutil.disk_usage(place).free
    return Point(
        "free disk for the cache",
        free >= _LEAST_DISK_BYTES,
        f"{free / 1e9:.1f} GB",
        f"free some, or name another folder in HTTPBED_CACHE; {_LEAST_DISK_BYTES / 1e9} GB is"
        " the least",
    )


def _executable_point(name: str, path: Path | None) -> Point:
    figure = "missing" if path is None else str(path)
    return Point(name, path is not None, figure, "install httpbed's wheel: make build")


_BUILD = "the first run that needs it builds it; or now: httpbed toolbox build"


def _tools_point(root: Root | None) -> Point:
    figure = "not built yet" if root is None else f"{len(root.versions)} packages"
    return Point("tools for networks", True if root else None, figure, _BUILD)


def _programs_point(programs: Mapping[str, bool]) -> Point:
    missing = sorted(name for name, there in programs.items() if not there)
    figure = f"{len(programs) - len(missing)} of {len(programs)}"
    if missing:
        figure += f"; not yet {', '.join(missing)}"
    return Point("programs under test", None if missing else True, figure, _BUILD)


def _sysctl(name: str) -> str:
    """Read a kernel setting; empty where there is none of that name."""
    try:
        return Path("/proc/sys", name).read_text().strip()
    except OSError:
        return ""
