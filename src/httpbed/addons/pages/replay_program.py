"""The program that answers for a recorded site, behind each of its servers: plan, log and checks.

The server under test ends the browser's connections. It fetches the responses on its own host's
loopback interface, where there is neither link nor emulator. The program belongs to the bed: its
failure says nothing about the server. It reports when it gave each response, so delays are the
bed's; what the server sent is the subject's.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from httpbed.addons.pages.page_check_table import (
    RECORDED_DELAYS,
    RECORDED_LENGTHS,
    RECORDED_ORDER,
    RECORDING,
)
from httpbed.addons.pages.sites.site import Site
from httpbed.base import untrusted_files
from httpbed.bed.sandbox.sandbox_spec import TRIAL_FOLDER, Ports, ProcessSpec
from httpbed.experiment.trial import Check
from httpbed.programs.part import REPLAY_PORT, LoggedRequest, Part
from httpbed.programs.shipped_programs import shipped_programs

ROOT = "replay-origin"
"""Name of its root filesystem."""
LOG = "replay.jsonl"
_PROGRAM = "replay_origin.py"
_OUTPUT = "output.txt"
_LOG_BYTES = 2**26
_MEMORY_BYTES = 2**32
_PROCESSES = 2048
SKELETON = "a skeleton"
"""What requests the resources of a recorded page that cannot do it itself."""
EARLY_S = 0.002
"""Scripts wait whole milliseconds, and recorded times are rounded."""


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
        files={f"{folder}/{_PROGRAM}": shipped_programs()[_PROGRAM].read_text("utf-8")},
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
        yield ReplayLogEntry(**{field.name: entry[field.name] for field in fields(ReplayLogEntry)})


def punctual(site: Site, replayed: Sequence[ReplayLogEntry], of: str) -> Check:
    """Check that each response was delayed as long as recorded, or little longer."""
    late = [
        (entry.begun_ns - entry.requested_ns) / 1e9 - answer.delay_s
        for entry in replayed
        if entry.answer is not None
        and entry.answer >= 0
        and (answer := site.resources[entry.answer].answer)
    ]
    figure = f"{len(late)} responses"
    if late:
        figure += f", late by {max(late) * 1e3:.1f} ms at most"
    passed = all(0 <= one <= RECORDED_DELAYS.limit for one in late)
    limit = f"at most {RECORDED_DELAYS.limit * 1e3:.0f} ms late"
    latest = max(late, default=None)
    return RECORDED_DELAYS.result(
        where=of, passed=passed, figure=figure, limit=limit, measured=latest
    )


def checks(
    site: Site, logged: Sequence[LoggedRequest], replayed: Sequence[ReplayLogEntry], of: str
) -> Iterator[Check]:
    """Check the responses that a server sent for a recorded site, and say how it was made."""
    limit = SKELETON if site.skeleton else "the page itself"
    yield RECORDING.result(where=of, passed=None, figure=site.source, limit=limit)
    if any(request.body_bytes is not None for request in logged):
        yield _lengths(site, logged, of)
    if site.skeleton:
        yield _order(site, replayed, of)


def _lengths(site: Site, logged: Sequence[LoggedRequest], of: str) -> Check:
    """Check that each body has its recorded length on the wire."""
    has_names = any(request.authority for request in logged)
    recorded = Counter(
        (
            site.origins[resource.origin] if has_names else "",
            resource.path,
            resource.answer.status,
            resource.bytes,
        )
        for resource in site.resources
        if resource.answer
    )
    sent = Counter(
        (request.authority, request.path, request.status, request.body_bytes or 0)
        for request in logged
    )
    known = set(recorded)
    wrong = [one for one in sent if one not in known]
    right = sum(sent[one] for one in sent if one in known)
    figure = f"{right} of {sent.total()} as recorded"
    if wrong:
        _, path, status, length = wrong[0]
        figure += f"; {length} bytes with status {status} of {path}"
    return RECORDED_LENGTHS.result(
        where=of, passed=not wrong, figure=figure, limit="as recorded", measured=right
    )


def _order(site: Site, replayed: Sequence[ReplayLogEntry], of: str) -> Check:
    """Check that no resource was requested before the recorded response that led to it."""
    # Of a repeated response, the first one led to the requests that followed.
    times = {one.answer: one for one in reversed(replayed) if one.answer is not None}
    early, led = [], 0
    for entry in replayed:
        answer = (
            site.resources[entry.answer].answer
            if entry.answer is not None and entry.answer >= 0
            else None
        )
        cause = times.get(answer.after) if answer and answer.after is not None else None
        if answer is None or cause is None:
            continue
        led += 1
        # Only the time of the response's head is known exactly; its end comes later.
        if (entry.requested_ns - cause.begun_ns) / 1e9 < answer.wait_s - EARLY_S:
            early.append(entry.path)
    figure = f"{led - len(early)} of {led} after what led to them"
    figure += f"; too early: {', '.join(early[:3])}" if early else ""
    return RECORDED_ORDER.result(
        where=of, passed=not early, figure=figure, limit="all", measured=led - len(early)
    )
