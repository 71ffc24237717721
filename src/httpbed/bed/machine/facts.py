"""Facts about a machine: as a campaign's manifest records them, and gathered from this one."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from httpbed.base.value import Value

# Facts about the machine that ran a campaign, as its manifest records them.


class MachineFacts(Value):
    """A machine as visible to the user who ran httpbed."""

    kernel: str
    """The kernel's release, such as ``6.1.0-25-amd64``."""
    architecture: str
    """The processor's instruction set, such as ``x86_64``."""
    distribution: str
    """Name and version of the Linux distribution; empty if unknown."""
    cpu: str
    """The processor's model name; empty if the kernel does not report it."""
    cores: int
    """Logical processors that httpbed could use."""
    memory_bytes: int
    """Main memory."""
    load: tuple[float, float, float]
    """Average number of runnable processes over 1, 5 and 15 minutes."""
    steal: float | None
    """Share of the processors' time since boot that the hypervisor used for other guests."""
    pressure: bool
    """Whether the kernel reports CPU pressure (PSI)."""
    governor: str | None
    """Frequency governor of the first core; absent if not visible."""
    hypervisor: bool
    """Whether the machine is a virtual one, as far as it can detect."""
    container: str | None
    """The kind of container, as far as it can be detected; absent outside of one."""
    uid: int
    """Numeric user identifier."""


def gather() -> MachineFacts:
    """Return the facts of this machine."""
    cpu = _read("/proc/cpuinfo")
    return MachineFacts(
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
    """Return the value of the first ``key : value`` line."""
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return ""


def _steal(stat: str) -> float | None:
    """Return the steal share from the first line of /proc/stat (user nice system idle ...)."""
    first = stat.partition("\n")[0].split()
    times = [int(word) for word in first[1:9]]  # the rest is included in the first two
    whole = sum(times)
    return times[7] / whole if len(times) == 8 and whole > 0 else None


def _container() -> str | None:
    """Check the files and the variable that container managers set."""
    if Path("/.dockerenv").exists():
        return "docker"
    if Path("/run/.containerenv").exists():
        return "podman"
    named = _read("/run/systemd/container").strip()
    return named or os.environ.get("container") or None  # noqa: SIM112 - lower case


def _read(path: str) -> str:
    """Return the content of a kernel file; empty if it is missing or unreadable."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
