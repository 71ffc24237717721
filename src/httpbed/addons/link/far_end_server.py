"""The user's server at the far end of a link: its start, and its end after the command."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from httpbed.addons.link import waiting_sockets
from httpbed.addons.link.described_link import FAR
from httpbed.addons.link.waiting_sockets import OPENS_S, WaitingSocket
from httpbed.base.errors import BedError, ConfigError, Mistake
from httpbed.bed.machine import machine_load
from httpbed.bed.sandbox.sandbox_spec import ProcessSpec
from httpbed.bed.sandbox.supervisor import Process, Supervisor

SERVER = "--server"
ENDS_S = 3.0
"""How long the server may write its logs after SIGTERM; then it is killed."""

MORE_S = 1.0
"""How long a server that has opened a port of its own loopback, such as Caddy for its
administration, may take to open the next port."""

Say = Callable[[str], None]


class FarEndServer:
    """A program of the user at the far end."""

    def __init__(self, supervisor: Supervisor, process: Process, say: Say) -> None:
        self._supervisor = supervisor
        self._process = process
        self._say = say

    @classmethod
    async def start(
        cls,
        supervisor: Supervisor,
        argv: Sequence[str],
        environment: Mapping[str, str],
        far_services: Process,
        say: Say,
    ) -> FarEndServer:
        """Start it beside the far end's services, and wait until it has opened a port.

        Raises:
            ConfigError: It ended before, or opened only ports that the command does not reach.
        """
        pid = machine_load.outer_pid(supervisor.init_pid, far_services.pid)
        if pid is None:
            raise BedError("the far end has ended")
        before = waiting_sockets.read(pid)
        spec = ProcessSpec(tuple(argv), "beside", FAR, environment=environment)
        server = cls(supervisor, await supervisor.start(spec), say)
        sockets = set[WaitingSocket]()
        clock = asyncio.get_running_loop().time
        changed_s = clock()

        def is_settled() -> bool:
            nonlocal changed_s
            if new := waiting_sockets.read(pid) - before - sockets:
                sockets.update(new)
                changed_s = clock()
            if server._process.exit.done() or _reachable(sockets):
                return True
            return bool(sockets) and clock() > changed_s + MORE_S

        await waiting_sockets.until(is_settled)
        server._require(sockets)
        return server

    def _require(self, sockets: set[WaitingSocket]) -> None:
        """Raise ConfigError if the command cannot reach the server."""
        if self._process.exit.done():
            reason = f"the server ended before it opened a port: {self._process.exit.result()}"
            raise ConfigError([Mistake(SERVER, reason, "start one that stays in the foreground")])
        if not sockets:
            self._say(f"the server has opened no port for {OPENS_S:g} s: the command runs now")
        elif not _reachable(sockets):
            places = ", ".join(sorted(map(str, sockets)))
            reason = f"the server listens only on the far end's own loopback: {places}"
            remedy = "have it listen at 0.0.0.0, or at the far end's address, $HTTPBED_PEER"
            raise ConfigError([Mistake(SERVER, reason, remedy)])

    async def end(self) -> None:
        """Ask it to end, as it would be asked by a service manager."""
        if self._process.exit.done():
            self._say(f"the server ended before the command: {self._process.exit.result()}")
            return
        await self._supervisor.signal(self._process, signal.SIGTERM)
        with suppress(TimeoutError):
            async with asyncio.timeout(ENDS_S):
                await self._process.wait()


def _reachable(sockets: set[WaitingSocket]) -> bool:
    return any(not socket.address.is_loopback for socket in sockets)
