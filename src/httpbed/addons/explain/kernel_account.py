"""The kernel's own account of what a TCP sender waited for, as ``ss --info`` prints it.

The sender's kernel adds up for how long it had something to send (``busy``), and for how much of
that the advertised window (``rwnd_limited``) or its own buffer (``sndbuf_limited``) had no room
(``tcpi_busy_time`` and its neighbours). httpbed reads it when the clients have ended. It is the
truth that a division can be compared with: the receiver's window *in force*.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MS = 1_000_000

_ACCOUNT = re.compile(
    r" busy:(?P<busy>[0-9]{1,12})ms"
    r"(?: rwnd_limited:(?P<window>[0-9]{1,12})ms\([^)]{1,10}\))?"
    r"(?: sndbuf_limited:(?P<buffer>[0-9]{1,12})ms\([^)]{1,10}\))?"
)


@dataclass(frozen=True)
class KernelAccount:
    """What a sender's kernel counted for one socket, in ns."""

    busy: int
    receiver_limited: int
    buffer_limited: int


def of(sockets: str) -> KernelAccount | None:
    """Return the account of the busiest socket; None if the kernel printed none."""
    return max(_accounts(sockets), key=lambda one: one.busy, default=None)


def _accounts(sockets: str) -> Iterator[KernelAccount]:
    for match in _ACCOUNT.finditer(sockets):
        yield KernelAccount(
            int(match["busy"]) * MS,
            int(match["window"] or 0) * MS,
            int(match["buffer"] or 0) * MS,
        )
