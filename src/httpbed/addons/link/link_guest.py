"""Runs a command behind a link in a guest, and passes on what the command prints.

The guest has this machine's files. What the command writes below its working folder stays; what it
writes elsewhere ends with the guest. The command gets no input and reaches no other network:
neither has virtual time.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from httpbed.addons.link import far_end, link_guest_job, link_output
from httpbed.addons.link.link_guest_job import (
    RANDOM_DEVICE,
    STDERR,
    STDOUT,
    HandedCommand,
)
from httpbed.addons.link.link_plan import LOG, PCAP, LinkRequest
from httpbed.addons.link.link_run import LinkRun
from httpbed.addons.virtual import (
    boot,
    capability,
    guest_kernel,
    job,
    virtual_addition,
    visible_files,
)
from httpbed.addons.virtual.command import Guest
from httpbed.addons.virtual.guest_kernel import GuestKernel
from httpbed.addons.virtual.visible_files import HANDED, LEFT
from httpbed.base import seeds, untrusted_files
from httpbed.base.errors import Mistake
from httpbed.bed.machine import scratch
from httpbed.bed.sandbox.sandbox_spec import Exit

MEMORY_BYTES = 2 * 2**30
"""Memory of a guest; this machine gives what is used."""
LOOK_S = 0.05
"""Time between two looks at what the command has printed."""
LEFT_BYTES = 2**32
"""Most bytes of what a command prints and the emulator records."""
_NUMBER, _NOTHING = (int, float), type(None)
_OF_EXIT: Mapping[str, tuple[type, ...]] = {
    "status": (int, _NOTHING),
    "signal": (int, _NOTHING),
    "timed_out": (bool,),
    "wall_s": _NUMBER,
    "cpu_s": _NUMBER,
    "max_rss_kib": (int,),
    "runs": (int,),
    "ended_for": (str, _NOTHING),
}
_OF_RUN: Mapping[str, tuple[type, ...]] = {
    "peer": (str,),
    "outside": (str,),
    "loopback_packets": (int,),
    "real_time": (bool,),
    "result": (dict,),
}
"""Types of the values of a result."""
_PIECE = 2**20
_ANY_SIZE = 2**62
_IMPORTED_LATER = ("httpbed.bed.toolbox.root_filesystem",)
"""Modules that a link needs if this machine lacks the tools of a network."""
_REAL = "or use --clock real"

Say = Callable[[str], None]


def mistakes(argv: Sequence[str], folder: Path, values: Mapping[str, Any]) -> list[Mistake]:
    """Return what a command line in this folder asks for that has no virtual time."""
    wrong = []
    if not argv:
        reason = "is missing: a shell waits for keys, which have no virtual time"
        wrong.append(Mistake("COMMAND", reason, f"name a command, {_REAL}"))
    if values["outside"]:
        reason = "no other network has virtual time, so a guest reaches none"
        wrong.append(Mistake("--outside", reason, f"omit it, {_REAL}"))
    if values["expose"]:
        reason = "no server of this machine has virtual time, so a guest reaches none"
        wrong.append(Mistake("--expose", reason, f"run the server with --server, {_REAL}"))
    if values["meter"]:
        reason = "shows how fast packets pass on this machine's clock, which a guest has not"
        wrong.append(Mistake("--meter", reason, f"omit it, {_REAL}"))
    if folder == Path("/") or folder.parts[1] in visible_files.OWN:
        reason = f"a guest cannot write into the working folder {folder}"
        wrong.append(Mistake("--clock", reason, "change to a folder of yours"))
    return wrong


def run_in_guest(request: LinkRequest, say: Say) -> LinkRun:
    """Run a command behind a link in a guest; everything that both need here is made before.

    Raises:
        HostError: This machine runs no guests.
        BedError: The link failed in the guest, or the guest died.
    """
    kernel = guest_kernel.ensure(say)
    capability.require(kernel)
    far_end.tools(say)
    return asyncio.run(run(request, kernel, Path.cwd(), say))


async def run(request: LinkRequest, kernel: GuestKernel, folder: Path, say: Say) -> LinkRun:
    """Run the command in ``folder`` in a guest; it prints to this process's stdout and stderr.

    Raises:
        BedError: The link failed in the guest, or the guest died.
    """
    link_output.empty((request.pcap, request.log))
    with scratch.temporary("link") as home, ExitStack() as stack:
        environment = virtual_addition.environment(str(HANDED / RANDOM_DEVICE), os.environ)
        work = HandedCommand(replace(request, outside=False, meter=False), folder, environment)
        given = job.hand_over(home, link_guest_job.__name__, work, folder, _IMPORTED_LATER)
        shutil.copy(kernel.random_device, given.folder / RANDOM_DEVICE)
        guest = Guest(
            kernel=kernel.path,
            handed=given.folder,
            seed=seeds.guest(request.seed, 0),
            memory_bytes=MEMORY_BYTES,
            cpu=stack.enter_context(boot.processor()),
            left_bytes=LEFT_BYTES,
            seen=visible_files.of_user(),
            written=folder,
            streams=(STDOUT, STDERR),
        )
        printed = list[_Stream]()
        running = boot.run(guest, home, watch=partial(_open, printed, stack))
        try:
            left = await _passing_on(printed, asyncio.create_task(running))
        finally:
            outputs = {PCAP: request.pcap, LOG: request.log}
            _keep(outputs, home / "trial" / LEFT, say)
        return read_run(job.read_result(left))


@dataclass(frozen=True)
class _Stream:
    """What the command prints, and where it goes."""

    file: BinaryIO
    descriptor: int

    def pass_on(self) -> None:
        """Write what has come since the last call."""
        while piece := self.file.read(_PIECE):
            while piece:
                piece = piece[os.write(self.descriptor, piece) :]


def _open(printed: list[_Stream], stack: ExitStack, left: Path) -> None:
    """Open the files of both streams, which exist before the guest runs."""
    for descriptor, name in enumerate((STDOUT, STDERR), start=1):
        printed.append(_Stream(stack.enter_context((left / name).open("rb")), descriptor))


async def _passing_on(printed: list[_Stream], guest: asyncio.Task[Path]) -> Path:
    """Wait for the guest's end, and pass on what the command prints meanwhile."""
    try:
        while not (await asyncio.wait([guest], timeout=LOOK_S))[0]:
            for stream in printed:
                stream.pass_on()
        return await guest
    finally:
        guest.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await guest
        for stream in printed:
            stream.pass_on()


def _keep(outputs: Mapping[str, Path | None], shared: Path, say: Say) -> None:
    """Copy what the emulator recorded, as far as it came, to where the user wants it.

    The command may have put anything in its place, which is left out.
    """
    for name, path in outputs.items():
        try:
            if path:
                _copy(shared / name, path)
        except FileNotFoundError:
            say(f"{path} stays empty: nothing was recorded, or the command deleted it")
        except untrusted_files.UnreadableError as error:
            say(f"{path} stays empty: the command replaced the record, which {error.reason}")


def _copy(recorded: Path, path: Path) -> None:
    with untrusted_files.opened(recorded, _ANY_SIZE) as file, path.open("wb") as copy:
        shutil.copyfileobj(file.buffer, copy, _PIECE)


def read_run(result: Mapping[str, Any]) -> LinkRun:
    """Return how a command and its link ended, of a result as a guest left it.

    Raises:
        BedError: It is no such thing. The command is root in its guest, and could have written it.
    """
    try:
        ended = Exit(**_typed(result["exit"], _OF_EXIT))
        values = _typed({name: value for name, value in result.items() if name != "exit"}, _OF_RUN)
    except (KeyError, TypeError, ValueError) as error:
        raise job.unreadable(str(error)) from None
    return LinkRun(exit=ended, **values)


def _typed(values: Mapping[str, Any], types: Mapping[str, tuple[type, ...]]) -> dict[str, Any]:
    if values.keys() != types.keys():
        raise ValueError("it has other keys")
    for name, value in values.items():
        if not isinstance(value, types[name]):
            raise TypeError(f"{name} is of another type")
    return dict(values)
