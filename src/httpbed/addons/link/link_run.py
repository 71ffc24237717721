r"""Run a command behind a link; what this machine offers decides about the way outside.

The command is in our process group, so keys reach both processes. The command decides about Ctrl-C
and Ctrl-\: we ignore them and wait for its end. A shell with job control makes itself the
foreground and cannot return it to a group that its PID namespace does not see, so we take it back.
A server at the far end has the command's terminal for its output, no input, and no keys.
"""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from httpbed.addons.link import far_end, link_change, link_output, link_plan
from httpbed.addons.link.described_link import COMMAND
from httpbed.addons.link.far_end import FarEndServer, Names, WaitingSocket, WayOut
from httpbed.addons.link.link_output import ERASE, METER_PERIOD_S, Meter
from httpbed.addons.link.link_plan import LOG, LOOPBACK, PCAP, SOCKET, LinkRequest, ShellPlan
from httpbed.base import folders, untrusted_files
from httpbed.base.errors import BedError, HostError
from httpbed.bed.network import running_network
from httpbed.bed.network.emulator import order
from httpbed.bed.network.network_commands import NO_NEIGHBOUR_DISCOVERY
from httpbed.bed.network.running_network import Emulator
from httpbed.bed.sandbox.dialogue import last_error_line, run_tool, time_bounded
from httpbed.bed.sandbox.sandbox_spec import (
    LINK,
    LINK_FILES,
    PROBE,
    TOOLS,
    Exit,
    ProcessSpec,
    SandboxSpec,
    ShellSpec,
    executable,
)
from httpbed.bed.sandbox.supervisor import Process, Supervisor, sandbox

MEMORY_BYTES = 64 * 2**20
_KEYS = (signal.SIGINT, signal.SIGQUIT)
_PASSED_ON = (signal.SIGTERM, signal.SIGHUP)
HOSTS = Path("/etc/hosts")
_CONGESTION_CONTROL = Path("/proc/sys/net/ipv4/tcp_congestion_control")

Say = Callable[[str], None]


@dataclass(frozen=True)
class LinkRun:
    """How the command and its link ended."""

    exit: Exit
    peer: str
    outside: str
    """How the command reached the outside: ``pasta``, ``ports`` (exposed ones) or ``none``."""
    loopback_packets: int
    """Packets of the command's own loopback, which never cross the link."""
    real_time: bool
    result: Mapping[str, Any]


async def run(request: LinkRequest, say: Say) -> LinkRun:
    """Run the command to its end.

    Raises:
        HostError: This machine lacks something.
        ConfigError: No server listens at an exposed port, or the one at the far end cannot serve.
        BedError: The link failed; the command was killed with it.
    """
    planned = link_plan.plan(request, _congestion_control())
    if os.environ.get(link_change.UPLINK):
        say("this link is inside another: only what reaches the outside crosses both")
    exposed = await far_end.opened(request.exposed)
    way_out = None
    if not exposed:
        way_out = far_end.way_out(wanted=request.outside, say=say)
    spec = _sandbox_spec(request, planned, way_out, say)
    link_output.empty((request.pcap, request.log))
    async with AsyncExitStack() as stack:
        supervisor = await stack.enter_async_context(sandbox(spec))
        bed = _Bed(request, planned, supervisor, spec.scratch, say)
        emulator, far, outside = await bed.build(way_out, exposed)
        await link_change.serve(
            supervisor.folder / SOCKET,
            request.described.link,
            lambda action: emulator.change(order(action)),
        )
        environment = link_plan.environment(planned, spec.scratch / "trial" / SOCKET)
        server = None
        if request.server:
            server = await FarEndServer.start(supervisor, request.server, environment, far, say)
        await emulator.start_counting()
        ended = await bed.command(environment, emulator)
        if server:
            await server.end()
        loopback_packets = await bed.loopback_packets()
        result = await bed.result(emulator)
        return LinkRun(ended, planned.peer, outside, loopback_packets, emulator.real_time, result)


def _congestion_control() -> str:
    """Return this machine's default: the command sends as it would without a link."""
    return _CONGESTION_CONTROL.read_text().strip()


def _sandbox_spec(
    request: LinkRequest, planned: ShellPlan, way_out: WayOut | None, say: Say
) -> SandboxSpec:
    scratch = folders.cache() / "link"
    scratch.mkdir(parents=True, exist_ok=True)
    written = {PCAP: request.pcap, LOG: request.log}
    return SandboxSpec(
        scratch=scratch,
        trial=None,
        roots={TOOLS: far_end.tools(say)},
        shared={f"{LINK_FILES}/{file.sha256}": file.path for file in request.described.files},
        programs={name: executable(name) for name in (LINK, PROBE)},
        hosts=link_plan.SYSCTLS,
        sysctls=NO_NEIGHBOUR_DISCOVERY,
        tmpfs_bytes=MEMORY_BYTES,
        shell=ShellSpec(
            written={name: path.absolute() for name, path in written.items() if path},
            shown=_shown(request, planned, way_out),
            outside=way_out.programs if way_out else int(bool(request.exposed)),
            confined=bool(request.exposed),
        ),
    )


def _shown(request: LinkRequest, planned: ShellPlan, way_out: WayOut | None) -> dict[str, str]:
    """Return the files in which the command finds resolvers and names of the far end."""
    shown = {}
    if way_out and way_out.names:
        shown[str(far_end.RESOLV_CONF)] = way_out.names.resolv_conf
    if request.names:
        text = HOSTS.read_text(errors="replace")
        shown[str(HOSTS)] = link_plan.hosts_file(text, planned.peer, request.names)
    return shown


@dataclass(frozen=True)
class _Bed:
    """The sandbox with the link and the command."""

    request: LinkRequest
    planned: ShellPlan
    supervisor: Supervisor
    scratch: Path
    say: Say

    async def build(
        self, way_out: WayOut | None, exposed: Sequence[WaitingSocket]
    ) -> tuple[Emulator, Process, str]:
        """Make the link, the far end and the way outside; return the three."""
        leading = asyncio.create_task(self._lead_out(way_out))
        far = await self.supervisor.start(self.planned.far)
        emulator = await running_network.build(self.supervisor, self.planned.network.processes)
        await run_tool(self.supervisor, self.planned.route)
        outside = "pasta" if await leading else "none"
        if exposed:
            await self._expose(exposed)
            outside = "ports"
        return emulator, far, outside

    async def _expose(self, exposed: Sequence[WaitingSocket]) -> None:
        """Relay ports of this machine; the far end has its addresses now.

        Raises:
            BedError: The relay could not open them at the far end.
        """
        peer = self.planned.peer
        relay = link_plan.port_relay(executable(PROBE), peer, exposed, self.scratch)
        if failure := await self._begin_outside(relay):
            raise BedError(failure)

    async def command(self, environment: Mapping[str, str], emulator: Emulator) -> Exit:
        """Run the command; stop waiting for it if the link fails."""
        spec = ProcessSpec(self.request.argv, "command", COMMAND, environment=environment)
        loop = asyncio.get_running_loop()
        begun: asyncio.Future[Process] = loop.create_future()
        passing = set[asyncio.Task[None]]()

        def pass_on(number: int) -> None:
            passing.add(loop.create_task(self._pass_on(begun, number)))

        # From here on keys belong to the command, which may get one as soon as it runs.
        with _terminal_lent(pass_on):
            begun.set_result(await self.supervisor.start(spec))
            process = begun.result()
            await self._watched(process, emulator)
        if not process.exit.done():
            raise self._failure(emulator)
        return process.exit.result()

    async def loopback_packets(self) -> int:
        """Return the packets of the command's own loopback."""
        await run_tool(self.supervisor, link_plan.loopback_counters())
        counters = untrusted_files.text(self.supervisor.folder / LOOPBACK)
        return link_plan.loopback_packets(counters)

    async def result(self, emulator: Emulator) -> Mapping[str, Any]:
        """End the link; return its counters."""
        try:
            return await emulator.request("stop", "result")
        except BedError as error:
            raise self._failure(emulator) if emulator.process.error else error from None

    def _failure(self, emulator: Emulator) -> BedError | HostError:
        """Return the error of the emulator's end: its own message, its last line, or neither."""
        complaint = emulator.process.error
        if not complaint:
            last_line = last_error_line(self.supervisor, self.planned.network.processes.emulator)
            return BedError(f"the emulator ended{last_line}")
        what, _, reason = complaint.partition(": ")
        option, file = {
            "log": ("--log", self.request.log),
            "pcapng": ("--pcap", self.request.pcap),
        }.get(what, ("", None))
        if file is None:
            return BedError(f"the emulator ended: {complaint}")
        if f"os error {errno.ENOSPC}" in reason:
            reason = "no space left"
        remedy = "make room, or name a file elsewhere; what was written is kept"
        return HostError(f"{option} {file}: {reason}; the link ended with it", remedy)

    async def _pass_on(self, begun: asyncio.Future[Process], number: int) -> None:
        """Send the command a signal, once it has started.

        The signal may have ended it already, because both are in one process group.
        """
        with suppress(BedError):
            await self.supervisor.signal(await begun, number)

    async def _watched(self, process: Process, emulator: Emulator) -> None:
        """Wait until the command or its link has ended, with the meter if it is wanted."""
        gone = asyncio.create_task(emulator.gone())
        watching = [gone]
        if self.request.meter:
            watching.append(asyncio.create_task(_watch(emulator)))
        try:
            ends: list[asyncio.Future[Any]] = [process.exit, gone]
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in watching:
                task.cancel()
            await asyncio.gather(*watching, return_exceptions=True)

    async def _lead_out(self, way_out: WayOut | None) -> bool:
        """Start what leads to the outside; return whether it does."""
        if way_out is None:
            return False
        failure, _ = await asyncio.gather(
            self._begin_outside(link_plan.pasta(way_out.pasta, self.scratch)),
            self._relay_names(way_out.names),
        )
        if failure and self.request.outside:
            raise HostError(failure, "httpbed doctor tests what it needs")
        if failure:
            self.say(f"the command has no outside network: {failure}; try httpbed doctor")
        return not failure

    async def _relay_names(self, names: Names | None) -> None:
        if names is None:
            return
        await run_tool(self.supervisor, link_plan.name_addresses(names))
        relay = link_plan.name_relay(executable(PROBE), names, self.scratch)
        if failure := await self._begin_outside(relay):
            self.say(f"the command resolves no names: {failure}")

    async def _begin_outside(self, spec: ProcessSpec) -> str | None:
        """Start a program that stays in the background; return how it failed, if it did."""
        name = Path(spec.argv[0]).name
        async with time_bounded(name):
            ended = await self.supervisor.run(spec)
        failure = f"{name} failed ({ended}){last_error_line(self.supervisor, spec)}"
        return None if ended.clean else failure


async def _watch(emulator: Emulator) -> None:
    """Keep one line on stderr up to date, and erase it when the command has ended."""
    meter = Meter()
    try:
        while True:
            line = meter.line(await emulator.request("counters", "counters"))
            sys.stderr.write(f"{ERASE}{line}")
            sys.stderr.flush()
            await asyncio.sleep(METER_PERIOD_S)
    finally:
        sys.stderr.write(ERASE)
        sys.stderr.flush()


@contextmanager
def _terminal_lent(pass_on: Callable[[int], None]) -> Iterator[None]:
    """Leave keys to the command, and pass on to ``pass_on`` the signals that ask us to end."""
    loop = asyncio.get_running_loop()
    foreground = _foreground()
    for key in _KEYS:
        loop.add_signal_handler(key, lambda: None)
    for number in _PASSED_ON:
        loop.add_signal_handler(number, pass_on, number)
    try:
        yield
    finally:
        for number in (*_KEYS, *_PASSED_ON):
            loop.remove_signal_handler(number)
        if foreground is not None:
            _take(foreground)


def _foreground() -> int | None:
    """Return the descriptor of a terminal whose foreground is our group."""
    for fd in (0, 2, 1):
        with suppress(OSError):
            if os.tcgetpgrp(fd) == os.getpgrp():
                return fd
    return None


def _take(fd: int) -> None:
    """Become the foreground; a background process must ignore SIGTTOU to do so."""
    before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    with suppress(OSError):  # the terminal is gone, or our group is beyond our PID namespace
        os.tcsetpgrp(fd, os.getpgrp())
    signal.signal(signal.SIGTTOU, before)
