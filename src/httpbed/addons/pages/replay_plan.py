"""Plans the program that answers for a recorded site, behind each of its servers; reads its log.

The server under test ends the browser's connections. It fetches the responses on its own host's
loopback interface, where there is neither link nor emulator. The program belongs to the bed: its
failure says nothing about the server.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from httpbed.base import untrusted_files
from httpbed.bed.sandbox.sandbox_spec import TRIAL_FOLDER, Ports, ProcessSpec
from httpbed.programs import protocol
from httpbed.programs.protocol import REPLAY_PORT, Part

ROOT = "replay-origin"
"""Name of its root filesystem."""
LOG = "replay.jsonl"
_PROGRAM = "replay_origin.py"
_OUTPUT = "output.txt"
_LOG_BYTES = 2**26
_MEMORY_BYTES = 2**32
_PROCESSES = 2048


@dataclass(frozen=True)
class ReplayLogEntry:
    """One request and its response; times are of CLOCK_MONOTONIC."""

    host: str
    path: str
    answer: int | None
    """Index among the site's resources; None: not recorded, -1: of a prior visit."""
    requested_ns: int
    begun_ns: int
    ended_ns: int
    """When the server got the last byte."""


def name(server: str) -> str:
    """Name the program behind a server, and the folder of its log."""
    return f"{server}-replay"


def process(part: Part) -> ProcessSpec:
    """Plan the program behind a server."""
    folder = name(part.name)
    options = {
        "site": part.content,
        "port": str(REPLAY_PORT),
        "log": f"{TRIAL_FOLDER}/{folder}/{LOG}",
    }
    words = [f"--{option}={value}" for option, value in options.items()]
    return ProcessSpec(
        argv=("python3", "-B", f"{TRIAL_FOLDER}/{folder}/{_PROGRAM}", *words),
        host=part.host,
        root=ROOT,
        part=folder,
        files={f"{folder}/{_PROGRAM}": protocol.shipped_programs()[_PROGRAM].read_text("utf-8")},
        stdout=f"{folder}/{_OUTPUT}",
        stderr=f"{folder}/{_OUTPUT}",
        ready=Ports(tcp=(REPLAY_PORT,)),
        file_bytes=_LOG_BYTES,
        memory_bytes=_MEMORY_BYTES,
        processes=_PROCESSES,
    )


def read(folder: Path) -> tuple[ReplayLogEntry, ...]:
    """Read the program's log."""
    return tuple(_lines(untrusted_files.own_text(folder / LOG)))


def _lines(text: str) -> Iterator[ReplayLogEntry]:
    for line in text.splitlines():
        entry = json.loads(line)
        yield ReplayLogEntry(
            entry["host"],
            entry["path"],
            entry["answer"],
            entry["requested_ns"],
            entry["begun_ns"],
            entry["ended_ns"],
        )
