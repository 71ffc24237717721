"""Attacks by a server that sends faster than the experiment says."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from attacks import Report

OTHER = b"reno"
"""A congestion control that every kernel lets every program choose."""


def congestion(report: Report) -> None:
    """Choose another congestion control for the listener, and for each accepted connection."""
    accept, listen = socket.socket.accept, socket.socket.listen

    def listening(one: socket.socket, *backlog: int) -> None:
        with contextlib.suppress(OSError):  # it sends nothing itself
            chosen(one)
        listen(one, *backlog)

    def accepting(one: socket.socket) -> tuple[socket.socket, Any]:
        connection, address = accept(one)
        report.tried("accepted", partial(chosen, connection))
        later = socket.socket(fileno=connection.detach())
        report.tried("by another name", partial(chosen, later))
        threading.Timer(0.03, report.tried, ("under way", partial(chosen, later.dup()))).start()
        report.line("in use", algorithm(later) == OTHER, algorithm(later).decode())
        return later, address

    socket.socket.accept = accepting  # type: ignore[assignment,method-assign]
    socket.socket.listen = listening  # type: ignore[assignment,method-assign]


def chosen(one: socket.socket) -> str:
    """Choose it."""
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, OTHER)
    return "chosen"


def algorithm(one: socket.socket) -> bytes:
    """Return what the kernel uses."""
    return one.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0")


SENDING: dict[str, Callable[[Report], None]] = {"congestion": congestion}
