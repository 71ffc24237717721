"""Starts a sandbox, sends requests to it, and receives its events.

``httpbed-sandbox`` is started from the event loop's thread, because the kernel kills the sandbox
when the thread that forked it ends. Closing the sandbox's input ends it with all its processes.
"""

from __future__ import annotations

import asyncio
import errno
import itertools
import json
import os
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from httpbed.base import untrusted_files
from httpbed.base.clock import NS
from httpbed.base.errors import BedError, HostError, SubjectError
from httpbed.bed.sandbox import part_folders
from httpbed.bed.sandbox.part_folders import Disorder
from httpbed.bed.sandbox.sandbox_spec import (
    SANDBOX,
    TRIAL_FOLDER,
    Exit,
    ProcessSpec,
    SandboxSpec,
    executable,
)

START_TIMEOUT_S = 20.0
LINE_BYTES = 64 * 2**20
"""Limit of a line: the emulator's result is one line, long after a long lossy transfer."""

OBSTRUCTED = frozenset(
    {errno.EACCES, errno.EEXIST, errno.EISDIR, errno.ELOOP, errno.ENOTDIR, errno.ENOTEMPTY}
    | {errno.ENXIO, errno.EPERM, errno.ENOENT, errno.EINVAL}
)
"""The kernel's errors if a part replaced a file or folder that its next program needs."""


class RefusalError(BedError):
    """The running sandbox could not execute a request."""

    def __init__(self, reason: str, number: int | None = None) -> None:
        super().__init__(reason)
        self.number = number
        """The kernel's errno, if any."""


class PartError(SubjectError):
    """A part's program cannot be restarted, because of the files that the part left."""

    def __init__(self, part: str, reason: str) -> None:
        super().__init__(reason)
        self.part = part


@dataclass
class Process:
    """A program started in a sandbox."""

    id: int
    spec: ProcessSpec
    exit: asyncio.Future[Exit]
    pid: int = 0
    """PID inside the sandbox."""
    lines: asyncio.Queue[dict[str, Any]] = field(default_factory=asyncio.Queue)
    """Parsed output lines of a program started with ``lines``."""
    error: str = ""
    """Message of the program's last ``error`` event."""

    async def wait(self) -> Exit:
        """Wait until it ends; return how. Cancelling the wait does not cancel ``exit``."""
        return await asyncio.shield(self.exit)


class Supervisor:
    """A running sandbox, made by :func:`sandbox`."""

    def __init__(self, process: asyncio.subprocess.Process, spec: SandboxSpec) -> None:
        self._process = process
        self._spec = spec
        self._ids = itertools.count(1)
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._running: dict[int, Process] = {}
        self._started_parts: set[str] = set()
        """Parts in which a program was started."""
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._reader = asyncio.create_task(self._read())
        self._root = -1
        self._folders: dict[str, int] = {}
        """Descriptors of the parts' folders, opened before any program ran."""
        self.init_pid = 0
        """PID of the sandbox's first process in the host's namespace."""
        self.disorder: dict[str, Disorder] = {}
        """What was wrong with the parts' folders, by folder; known when the sandbox has ended."""

    async def ready(self) -> None:
        """Wait until the namespaces and mounts are made.

        Raises:
            HostError: The kernel refuses them.
            BedError: They were not made, or not in time.
        """
        try:
            await asyncio.wait_for(asyncio.shield(self._ready), START_TIMEOUT_S)
        except TimeoutError:
            reason = f"the sandbox was not made within {START_TIMEOUT_S:.0f} s"
            raise BedError(reason) from None

    def take_root(self, sender: socket.socket) -> None:
        """Take the descriptor of the sandbox's root, and open the folders of its parts."""
        _, (self._root,), _, _ = socket.recv_fds(sender, 1, 1)
        for name in self._spec.folders():
            self._folders[name] = part_folders.opened(f"trial/{name}", self._root)

    @property
    def folder(self) -> Path:
        """The path of ``/trial`` for this process; valid from :meth:`take_root` on.

        Programs write there; it is read as :mod:`~httpbed.base.untrusted_files` does.
        """
        return Path(f"/proc/self/fd/{self._root}/trial")

    async def start(self, spec: ProcessSpec) -> Process:
        """Start a program, and wait until it is ready if its spec defines readiness.

        Raises:
            SubjectError: It ended, did not listen in time, or its part obstructs the start.
            BedError: It could not be started.
        """
        process = Process(next(self._ids), spec, asyncio.get_running_loop().create_future())
        try:
            for name, content in spec.files.items():
                await self.write(name, content, spec.part)
            self._running[process.id] = process
            answer = await self._request(process.id, _start_request(spec))
        except RefusalError as refusal:
            raise self._attributed(spec, refusal, refusal.number) from None
        process.pid = answer["pid"]
        if spec.part:
            self._started_parts.add(spec.part)
        if spec.ready.tcp or spec.ready.udp:
            await self._await_ports(process)
        return process

    def _attributed(
        self, spec: ProcessSpec, error: BedError, number: int | None
    ) -> BedError | PartError:
        """Return the error, or a PartError if an earlier program of the part caused it.

        A failure to start a part's first program is the bed's.
        """
        if spec.part not in self._started_parts or number not in OBSTRUCTED:
            return error
        return PartError(str(spec.part), f"cannot be started again: {error}")

    async def run(self, spec: ProcessSpec) -> Exit:
        """Start a program and wait until it ends."""
        process = await self.start(spec)
        return await process.wait()

    async def send(self, process: Process, message: Mapping[str, Any]) -> None:
        """Send a JSON line to a program started with ``lines``."""
        line = json.dumps(message)
        request = {"do": "send", "to": process.id, "line": line, "part": process.spec.part}
        await self._request(next(self._ids), request)

    async def signal(self, process: Process, signal: int) -> None:
        """Send a signal; does nothing if the program has ended."""
        if not process.exit.done():
            part = process.spec.part
            request = {"do": "signal", "to": process.id, "signal": signal, "part": part}
            with suppress(RefusalError):  # it has ended meanwhile
                await self._request(next(self._ids), request)

    async def write(self, name: str, text: str, part: str | None = None) -> None:
        """Write a file below ``/trial``; one of a part as the part's own user."""
        if part is None:  # link traces are long, and no hostile program has been there
            untrusted_files.write(self._spec.trial or self.folder, name, text)
            return
        request = {"do": "write", "path": f"{TRIAL_FOLDER}/{name}", "text": text, "part": part}
        await self._request(next(self._ids), request)

    async def make_folder(self, path: str, part: str | None = None) -> None:
        """Make a folder in a part's filesystem, with its parents."""
        await self._request(next(self._ids), {"do": "make_folder", "path": path, "part": part})

    async def digest(self, path: str, part: str | None = None) -> tuple[int, str]:
        """Return length in bytes and SHA-256 of a file in a part's filesystem."""
        answer = await self._request(next(self._ids), {"do": "digest", "path": path, "part": part})
        return answer["bytes"], answer["sha256"]

    async def watch_cpu(self) -> bool:
        """Watch from now on how long tasks run and wait; False if this kernel does not count it."""
        try:
            await self._request(next(self._ids), {"do": "watch_cpu"})
        except RefusalError:
            return False
        return True

    async def cpu_times(self) -> CpuTimes:
        """Return what the watch that :meth:`watch_cpu` began has seen so far."""
        return read_cpu_times(await self._request(next(self._ids), {"do": "read_cpu_watch"}))

    async def end_cpu_watch(self) -> CpuTimes:
        """Return what the watch that :meth:`watch_cpu` began saw, up to its last reading."""
        return read_cpu_times(await self._request(next(self._ids), {"do": "end_cpu_watch"}))

    async def close(self) -> None:
        """End the sandbox with all its processes."""
        if self._process.stdin:
            self._process.stdin.close()
        self._reader.cancel()
        await self._process.wait()

    async def collect(self) -> None:
        """Copy what parts left in their folders to the attempt's, when all programs have ended.

        Raises:
            OSError: The disk is full.
        """
        if self._spec.trial:
            arguments = (self._folders, self._spec.trial, self._spec.folders())
            self.disorder = await asyncio.to_thread(part_folders.collect_all, *arguments)
        if self._root >= 0:
            os.close(self._root)

    async def _await_ports(self, process: Process) -> None:
        ready = process.spec.ready
        request = {
            "do": "await_ports",
            "to": process.id,
            "part": process.spec.part,
            "tcp": ready.tcp,
            "udp": ready.udp,
            "timeout_s": START_TIMEOUT_S,
        }
        try:
            await self._request(next(self._ids), request)
        except RefusalError as refusal:
            raise NotReadyError(process) from refusal

    async def _request(self, number: int, request: Mapping[str, Any]) -> dict[str, Any]:
        if self._reader.done() or self._process.stdin is None:
            raise BedError("the sandbox has ended")
        promise: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._answers[number] = promise
        self._process.stdin.write(json.dumps({"id": number, **request}).encode() + b"\n")
        try:
            answer = await promise
        finally:
            del self._answers[number]
        if answer["event"] == "refused":
            reason = f"the sandbox refused {_named(request)}: {answer['message']}"
            raise RefusalError(reason, answer["errno"])
        return answer

    async def _read(self) -> None:
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        try:
            async for line in self._process.stdout:
                self._handle(json.loads(line))
        finally:
            self._fail(BedError("the sandbox ended before its work was done"))

    def _handle(self, event: dict[str, Any]) -> None:
        kind = event["event"]
        if kind == "init":
            self.init_pid = event["pid"]
        elif kind == "ready":
            self._ready.set_result(None)
        elif kind == "error" and not self._ready.done():
            self._ready.set_exception(_refusal(event))
        elif kind == "line":
            process, line = self._running[event["id"]], json.loads(event["line"])
            if line.get("event") == "error":
                process.error = str(line.get("message", ""))
            process.lines.put_nowait(line)
        elif kind == "exited":
            self._handle_exit(event)
        elif (answer := self._answers.get(event["id"])) and not answer.done():
            answer.set_result(event)  # else the caller was cancelled

    def _handle_exit(self, event: dict[str, Any]) -> None:
        process = self._running.pop(event["id"])
        values = {name: event[name] for name in Exit.__dataclass_fields__ if name in event}
        process.exit.set_result(Exit(**values))
        process.lines.put_nowait({"event": "exited"})

    def _fail(self, reason: BedError) -> None:
        """End all waiting calls after the sandbox has ended."""
        exits = [process.exit for process in self._running.values()]
        waiting: list[asyncio.Future[Any]] = [self._ready, *self._answers.values(), *exits]
        for future in waiting:
            if not future.done():
                future.set_exception(reason)
                future.exception()
        for process in self._running.values():
            process.lines.put_nowait({"event": "exited"})


@asynccontextmanager
async def sandbox(spec: SandboxSpec) -> AsyncIterator[Supervisor]:
    """Make a sandbox, which ends with all its processes when the context exits.

    Raises:
        HostError: The kernel refuses namespaces or mounts; with the remedy.
        BedError: The sandbox could not be made for another reason.
    """
    stdio = [os.dup(fd) for fd in (0, 1, 2)] if spec.shell else []
    taking, sending = socket.socketpair()
    line = spec.line(stdio, sending.fileno())
    try:
        process = await asyncio.create_subprocess_exec(
            executable(SANDBOX),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=LINE_BYTES,
            pass_fds=[*stdio, sending.fileno()],
            # An interrupt at the terminal must not reach programs, except a command of the user.
            start_new_session=spec.shell is None,
        )
    finally:
        sending.close()
        for fd in stdio:
            os.close(fd)
    _keep_niceness(process.pid)
    supervisor = Supervisor(process, spec)
    try:
        if process.stdin:
            process.stdin.write(line)
        with taking:
            await supervisor.ready()
            supervisor.take_root(taking)
        yield supervisor
    finally:
        await supervisor.close()
        await supervisor.collect()


def _keep_niceness(pid: int) -> None:
    """Give a new session the niceness of this process.

    The kernel shares the CPUs between sessions first, and a new session begins at 0 (sched(7), "The
    autogroup feature"): without this, trials of ``nice httpbed run`` compete as if nobody had said
    ``nice``.
    """
    niceness = os.getpriority(os.PRIO_PROCESS, 0)
    if niceness:
        with suppress(OSError):  # a kernel without autogroups, or one that limits their changes
            Path(f"/proc/{pid}/autogroup").write_text(str(niceness))


class NotReadyError(SubjectError):
    """A program did not become ready."""

    def __init__(self, process: Process) -> None:
        self.ended = process.exit.result() if process.exit.done() else None
        """How it ended; None if it still runs."""
        super().__init__(_not_started(process))


def _not_started(process: Process) -> str:
    spec = process.spec
    program, ports = spec.argv[0].rpartition("/")[2], str(spec.ready)
    how = f"{program} did not listen on {ports} within {START_TIMEOUT_S:g} s"
    if process.exit.done():
        how = f"{program} ended with {process.exit.result()} before it listened on {ports}"
    return f"{spec.root or program} did not start: {how}"


def _start_request(spec: ProcessSpec) -> dict[str, Any]:
    return {
        "do": "start",
        "part": spec.part,
        "place": spec.place,
        "host": spec.host,
        "root": spec.root,
        "argv": spec.argv,
        "env": dict(spec.environment),
        "input": spec.input,
        "stdout": spec.stdout,
        "stderr": spec.stderr,
        "lines": spec.lines,
        "timeout_s": spec.timeout_s,
        "cpu": spec.cpu,
        "file_bytes": spec.file_bytes,
        "memory_bytes": spec.memory_bytes,
        "processes": spec.processes,
    }


def _refusal(event: dict[str, Any]) -> HostError | BedError:
    """Return a HostError if the kernel refused, else a BedError."""
    reason = f"{event['step']}: {event['message']}"
    if event["errno"] == errno.ENOSPC and "unshare" in event["step"]:
        return HostError(
            f"the limit of user namespaces is reached ({reason})",
            "raise it: sudo sysctl user.max_user_namespaces=10000",
        )
    if event["errno"] in {errno.EPERM, errno.EACCES, errno.EUSERS}:
        from httpbed.bed import doctor  # noqa: PLC0415 - rarely needed

        return HostError(
            f"the kernel refuses a sandbox to this user ({reason})",
            doctor.namespace_remedy(),
        )
    return BedError(f"the sandbox could not be made: {reason}")


def _named(request: Mapping[str, Any]) -> str:
    argv = request.get("argv") or [request.get("path", "")]
    return f"to {request['do']} {argv[0]}".strip()


@dataclass(frozen=True)
class TaskTimes:
    """How long a task was on a CPU, and how long it was ready to run without one."""

    ran_s: float
    waited_s: float


@dataclass(frozen=True)
class CpuTimes:
    """How busy the machine's CPUs were for ``over_s`` seconds, and what a sandbox had of them."""

    over_s: float
    busy_s: float
    """Time in which all CPUs together were not idle, steal included, niced programs not."""
    tasks: Sequence[TaskTimes]
    """The sandbox's tasks that ran or waited, in no order."""
    unseen_s: float = 0.0
    """CPU time of tasks that lived between two readings; nothing else is known of them."""

    @property
    def ran_s(self) -> float:
        """CPU time of all tasks together."""
        return sum(task.ran_s for task in self.tasks) + self.unseen_s


def read_cpu_times(event: Mapping[str, Any]) -> CpuTimes:
    """Read the sandbox's event ``cpu_times``."""
    tasks = [TaskTimes(task["ran_ns"] / NS, task["waited_ns"] / NS) for task in event["tasks"]]
    over_s, busy_s, unseen_s = (event[name] / NS for name in ("over_ns", "busy_ns", "unseen_ns"))
    return CpuTimes(over_s, busy_s, tasks, unseen_s)
