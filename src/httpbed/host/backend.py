"""By what way packets cross a link here.

The emulator takes them by packet sockets or TUN devices, or the kernel carries them through a
queueing discipline of its own while the emulator observes.
"""

from __future__ import annotations

import errno
import socket
from pathlib import Path
from typing import Literal

from httpbed.experiment.errors import HostError

Backend = Literal["af_packet", "tun", "tbf", "netem"]
TUN = Path("/dev/net/tun")
IPV6 = Path("/proc/sys/net/ipv6/conf")
"""Absent where the kernel was built, or booted, without IPv6."""


def choose(asked: str | None) -> Backend:
    """Choose the backend that was asked for, else packet sockets, else TUN devices.

    Packet sockets stamp packets in the kernel and are the more exact way; some containers'
    kernels have none. Disciplines of the kernel's are chosen by name only.

    Raises:
        HostError: This machine has not what is needed.
    """
    if asked == "tun" or (asked is None and not _has_packet_sockets()):
        if TUN.exists():
            return "tun"
        raise HostError(
            f"there is no {TUN}", "load the module (sudo modprobe tun), or show it here"
        )
    if asked is None:
        return "af_packet"
    if not _has_packet_sockets():
        raise HostError("this kernel has no packet sockets", "use --link-backend tun")
    # Whether there is such a discipline can be tried in a namespace only: doctor.require_qdisc.
    return "tbf" if asked == "tbf" else "netem" if asked == "netem" else "af_packet"


def require_ip(version: str) -> None:
    """Refuse a version of IP that this kernel does not speak.

    Raises:
        HostError: It speaks no IPv6.
    """
    if version == "6" and not IPV6.exists():
        remedy = 'boot it without ipv6.disable=1, or run with ip_version = "4"'
        raise HostError("this kernel speaks no IPv6", remedy)


def _has_packet_sockets() -> bool:
    """Ask the kernel; that this user may not have one here says nothing about the sandbox."""
    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()
    except OSError as error:
        return error.errno != errno.EAFNOSUPPORT
    return True
