"""What machine this is: the facts a campaign's manifest keeps. Nothing is judged here.

Standard library only.
"""

from __future__ import annotations

import os
import platform
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Facts:
    """A machine, as seen by the user who runs httpbed on it."""

    kernel: str
    """Release, such as ``6.1.0-25-amd64``."""
    architecture: str
    distribution: str
    cpu: str
    """Model name, empty where the kernel does not tell."""
    cores: int
    """Logical processors this process may use."""
    memory_bytes: int
    load: tuple[float, float, float]
    """Runnable processes, averaged over 1, 5 and 15 minutes."""
    steal: float | None
    """Share of the processors' time since the start that a hypervisor took away."""
    pressure: bool
    """Whether the kernel counts CPU pressure (PSI)."""
    governor: str | None
    """How the first core's frequency is chosen; None where that is not visible."""
    hypervisor: bool
    """Whether this is a virtual machine, as far as it can know."""
    container: str | None
    """The kind of container this runs in, as far as it can know."""
    uid: int

    def as_json(self) -> dict[str, Any]:
        """Return the facts ready for :func:`json.dumps`."""
        return asdict(self)


def gather() -> Facts:
    """Look at this machine."""
    cpu = _read("/proc/cpuinfo")
    return Facts(
        kernel=platform.release(),
        architecture=platform.machine(),
        distribution=_distribution(),
        cpu=_after(cpu, "model name"),
        cores=len(os.sched_getaffinity(0)),
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        load=os.getloadavg(),
        steal=_steal(_read("/proc/stat")),
        pressure=bool(_read("/proc/pressure/cpu")),
        governor=_read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").strip() or None,
        hypervisor=" hypervisor" in cpu,
        container=_container(),
        uid=os.geteuid(),
    )


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "")
    except OSError:
        return ""


def _after(text: str, key: str) -> str:
    """Find the value of the first ``key : value`` line."""
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return ""


def _steal(stat: str) -> float | None:
    """Read the stolen share from the first line of /proc/stat (user nice system idle ...)."""
    first = stat.partition("\n")[0].split()
    times = [int(word) for word in first[1:9]]  # the later ones are parts of the first two
    whole = sum(times)
    return times[7] / whole if len(times) == 8 and whole > 0 else None  # noqa: PLR2004


def _container() -> str | None:
    """Ask the places where container managers leave a mark."""
    if Path("/.dockerenv").exists():
        return "docker"
    if Path("/run/.containerenv").exists():
        return "podman"
    named = _read("/run/systemd/container").strip()
    return named or os.environ.get("container") or None  # noqa: SIM112 - lower case it is


def _read(path: str) -> str:
    """Read a file of the kernel's; empty where it is missing or closed to us."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
