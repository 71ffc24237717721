"""The link backend: how packets pass an emulated link on this machine.

The emulator gets packets from the kernel, and returns them, by packet sockets or TUN devices.
"""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path
from typing import Literal

from httpbed.base.errors import HostError

Backend = Literal["af_packet", "tun"]
TUN = Path("/dev/net/tun")


def choose(requested: str | None) -> Backend:
    """Return the requested backend; by default packet sockets, else TUN devices.

    Packet sockets are more exact, because the kernel timestamps the packets; the kernels of some
    containers have none.

    Raises:
        HostError: This machine lacks the backend.
    """
    if requested == "tun" or (requested is None and not _has_packet_sockets()):
        if fault := tun_fault(TUN):
            raise HostError(*fault)
        return "tun"
    if requested == "af_packet" and not _has_packet_sockets():
        raise HostError("this kernel has no packet sockets", "use --link-backend tun")
    return "af_packet"


def tun_fault(device: Path) -> tuple[str, str] | None:
    """Return why this user cannot open the TUN device, and the remedy; None if it opens."""
    try:
        os.close(os.open(device, os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        remedy = f"ask the administrator to run: modprobe tun; chmod 666 {device}"
        return f"{device}: {error.strerror}", remedy
    return None


def _has_packet_sockets() -> bool:
    """Whether the kernel has packet sockets; a refusal to this user does not matter."""
    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()
    except OSError as error:
        return error.errno != errno.EAFNOSUPPORT
    return True
