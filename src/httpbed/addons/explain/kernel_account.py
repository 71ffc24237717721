"""What the kernel of a TCP sender counts of its limits (``ss --info``, tcp_info of Linux)."""

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
    return max(_accounts(sockets), key=lambda account: account.busy, default=None)


def _accounts(sockets: str) -> Iterator[KernelAccount]:
    for match in _ACCOUNT.finditer(sockets):
        yield KernelAccount(
            int(match["busy"]) * MS,
            int(match["window"] or 0) * MS,
            int(match["buffer"] or 0) * MS,
        )
