"""Files that a link is made of: packet-delivery traces, and records of lost packets.

Users supply these files, so every line is checked. Each is read once from the disk.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from httpbed.base import disk, folders, user_file
from httpbed.base.errors import ConfigError, Mistake
from httpbed.base.units import SLOWEST_BIT_S
from httpbed.experiment.document import replaced, scenario_document
from httpbed.experiment.impairments.descriptor import is_file_name
from httpbed.experiment.impairments.loss import MAX_LISTED
from httpbed.experiment.impairments.rate import OPPORTUNITY_BYTES
from httpbed.experiment.impairments.registry import CAUSES

if TYPE_CHECKING:
    from httpbed.experiment.parser import ParsedExperiment

MAX_BYTES = 64 * 2**20
"""Largest file in bytes, also the emulator's limit; a larger one is probably a mistake."""
MAX_LINES = 10_000_000
LATEST_MS = 2**32 - 1
MAX_NUMBER = 2**63 - 1
"""Largest number of a packet."""
MAX_MISTAKES = 3
"""Number of mistakes in one file that a message lists; it counts the others."""
_ANOTHER = "name another file"
Lost = tuple[Sequence[int], Sequence[int]]


class FileError(ValueError):
    """A file has the wrong content; the message says what is wrong and what to do."""


@dataclass(frozen=True)
class TraceFacts:
    """Properties of a packet-delivery trace."""

    mean_bit_s: int
    longest_gap_s: float
    """Longest time between two opportunities, also across the repetition."""


@dataclass(frozen=True)
class LossRecord:
    """The packets that a recorded run lost."""

    lost: Lost
    """Numbers of the packets that did not arrive, from the first host to the second, and back."""


Facts = TraceFacts | LossRecord


def read_trace(content: bytes) -> TraceFacts:
    """Read a trace in mahimahi's format (Netravali et al., USENIX ATC 2015).

    Each line is the time of an opportunity to deliver 1504 bytes, in whole ms since the beginning,
    ascending; after the last line the trace repeats.

    Raises:
        FileError: The file is no trace; names the lines.
    """
    _refuse_empty_or_binary(content, "a line with a time in ms for each delivery opportunity")
    lines = content.removesuffix(b"\n").split(b"\n")
    if len(lines) > MAX_LINES:
        raise FileError(f"has more than {MAX_LINES} lines; cut it, it begins again anyway")
    _refuse_lines(
        (number, "is blank" if not line else f"{_shown(line)} is not a whole number of ms")
        for number, line in enumerate(lines, start=1)
        if not line.isdigit()
    )
    _refuse_lines(
        (number, f"{_shown(line)} is later than {LATEST_MS} ms")
        for number, line in enumerate(lines, start=1)
        if len(line.lstrip(b"0")) > 10 or int(line) > LATEST_MS  # digits of 2^32
    )
    return _trace(lines)


def _trace(lines: list[bytes]) -> TraceFacts:
    import numpy as np  # noqa: PLC0415 - most links are made of no file, and start sooner without

    times = np.array(lines, dtype=np.int64)
    gaps = np.diff(times, prepend=0)
    gaps[0] = times[0]  # from the last to the first of the next pass
    _refuse_lines(
        (int(index) + 1, f"{times[index]} ms follows {times[index - 1]} ms: the times ascend")
        for index in np.flatnonzero(gaps < 0)
    )
    period_ms = int(times[-1])
    if period_ms == 0:
        raise FileError(
            "ends at 0 ms, so that its rate would be infinite; the last time is above 0"
        )
    mean_bit_s = len(times) * OPPORTUNITY_BYTES * 8 * 1000 // period_ms
    if mean_bit_s < SLOWEST_BIT_S:
        reason = f"delivers less than a packet a minute: {mean_bit_s} bit/s on average"
        raise FileError(f"{reason}; {_ANOTHER}")
    return TraceFacts(mean_bit_s, float(gaps.max()) / 1e3)


def read_record(content: bytes) -> LossRecord:
    """Read the lost packets from a log of ``httpbed link --log`` or a ``link-result.json``.

    Raises:
        FileError: The file is neither; names the place.
    """
    expected = "a log of httpbed link --log, or a trial's link-result.json"
    _refuse_empty_or_binary(content, expected)
    if content.lstrip()[:1] == b"{":
        return LossRecord(_of_result(content))
    return LossRecord(_of_log(content, expected))


def _of_log(content: bytes, expected: str) -> Lost:
    from httpbed.store import packet_log  # noqa: PLC0415 - it needs numpy, as above

    try:
        log = packet_log.read(content.splitlines(keepends=True))
    except packet_log.PacketLogError as error:
        _refuse_lines(error.lines)
        first = content.split(b"\n", 1)[0].decode("utf-8", "replace")
        raise FileError(f"is not {expected}: its first line is {first[:60]!r}") from None
    _refuse_lines(
        (row, f"has direction {direction}; a log of one link has 0 and 1")
        for row, direction in enumerate(log.direction.tolist(), start=2)
        if direction > 1
    )
    lost = log.where(log.dropped)
    forth, back = (set(lost.number[lost.direction == way].tolist()) for way in (0, 1))
    return _listed(forth), _listed(back)


def _of_result(content: bytes) -> Lost:
    try:
        directions = json.loads(content)["directions"]
        carried = any("not_seen_leaving" in way.get("packets", ()) for way in directions)
        first, second = (
            [number for cause in CAUSES for number in way.get(cause.numbers, ())]
            for way in directions
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise FileError(
            "is not a link-result.json: it has no two directions with numbers"
        ) from None
    if carried:
        raise FileError(
            "comes from a link that the kernel carried, which does not record lost packets"
        )
    _refuse_strange_numbers([*first, *second])
    return _listed({*first}), _listed({*second})


def _refuse_strange_numbers(numbers: Iterable[object]) -> None:
    strange = [number for number in numbers if type(number) is not int or number > MAX_NUMBER]
    shown = [repr(one)[:20] for one in strange[:MAX_MISTAKES]]
    if strange:
        more = len(strange) - len(shown)
        rest = f", and {more} more" if more else ""
        raise FileError(
            f"lists {', '.join(shown)}{rest} among the lost packets: no packet's number"
        )


def _listed(numbers: set[int]) -> list[int]:
    if len(numbers) > MAX_LISTED:
        raise FileError(f"lists more than {MAX_LISTED} lost packets")
    if numbers and min(numbers) < 0:
        raise FileError(f"numbers a packet {min(numbers)}")
    return sorted(numbers)


def _refuse_empty_or_binary(content: bytes, expected: str) -> None:
    if not content.strip():
        raise FileError(f"is empty; it should have {expected}")
    if content.translate(None, _TEXT_BYTES):
        line = next(
            number
            for number, text in enumerate(content.split(b"\n"), start=1)
            if text.translate(None, _TEXT_BYTES)
        )
        raise FileError(f"is binary (line {line}); it should have {expected}")


_TEXT_BYTES = bytes({9, 10, 13, *range(32, 127), *range(128, 256)})
"""All bytes but control characters; UTF-8 needs the upper half."""


def _refuse_lines(wrong: Iterable[tuple[int, str]]) -> None:
    mistakes = iter(wrong)
    listed = [f"line {number}: {reason}" for number, reason in islice(mistakes, MAX_MISTAKES)]
    more = sum(1 for _ in mistakes)
    if listed:
        rest = [f"and {more} more"] if more else []
        raise FileError("; ".join([*listed, *rest, "correct the file"]))


def _shown(line: bytes) -> str:
    return repr(line[:20].decode("utf-8", "replace"))


READERS: Mapping[str, Callable[[bytes], Facts]] = {
    "trace": read_trace,
    "replay": read_record,
}
"""Reader of a file, by the key that names it in a link's description."""


@dataclass(frozen=True)
class LinkFile:
    """A file without mistakes."""

    path: Path
    sha256: str
    facts: Facts

    @classmethod
    def read(cls, path: Path, key: str) -> Self:
        """Read the file that a link's description names under ``key``.

        Raises:
            FileError: It cannot be read, or has the wrong content.
        """
        try:
            content = _content(path)
            facts = READERS[key](content)
        except FileError as error:
            raise FileError(f"{path}: {error}") from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise FileError(f"{path}: cannot be read: {reason}; {_ANOTHER}") from None
        return cls(path, hashlib.sha256(content).hexdigest(), facts)

    def known(self) -> dict[str, str]:
        """Return what a link's description keeps of the file beside its name."""
        table = {"sha256": self.sha256}
        if isinstance(self.facts, TraceFacts):
            table["mean"] = f"{self.facts.mean_bit_s} bit/s"
        return table


def _content(path: Path) -> bytes:
    """Read a regular file that is not too large; trials read it again, so a pipe will not do."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise FileError(f"is not a regular file; {_ANOTHER}")
    content = user_file.read(path, MAX_BYTES)
    if len(content) > MAX_BYTES:
        raise FileError(f"has more than {MAX_BYTES} bytes; cut it, a part will do")
    return content


# Finds, reads and checks the files that an experiment names, before anything runs.
#
# The digest of each goes into the trials' documents. So a trial's identity depends on the content
# of the file, not on its name.


SIDES = ((), ("up",), ("down",))
IMPAIRMENTS = {"trace": "rate", "replay": "loss"}

Path_ = tuple[str | int, ...]


@dataclass(frozen=True)
class FileReference:
    """A place in a topology that names a file."""

    path: Path_
    kind: str
    """``trace`` or ``replay``."""
    table: Mapping[str, Any]
    """The table with the name under ``kind``, and perhaps ``sha256``."""


class LinkFiles:
    """The files of one experiment; each is read once."""

    def __init__(self, folder: Path) -> None:
        """Names are relative to ``folder``."""
        self._folder = folder
        self._known: dict[tuple[str, str], LinkFile | str] = {}

    def mistakes(self, read: ParsedExperiment) -> Iterator[Mistake]:
        """Yield the mistakes in the files that any treatment names."""
        from httpbed.experiment import parser  # noqa: PLC0415 - `httpbed link` reads none

        for levels in read.treatments:
            for reference in file_references(scenario_document(read.document, levels)):
                if reason := self._reason(reference):
                    path = (*reference.path, reference.kind)
                    yield parser.mistake_at(read.document, path, levels, reason)

    def completed(self, document: dict[str, Any]) -> dict[str, Any]:
        """Return a scenario's document with the digest of every file, and the rate of traces."""
        for reference in file_references(document):
            file = self._look(reference)
            assert isinstance(file, LinkFile)  # noqa: S101 - mistakes() ran before
            document = replaced(document, reference.path, {**reference.table, **file.known()})
        return document

    def found(self) -> dict[str, LinkFile]:
        """Return all good files by digest."""
        good = (file for file in self._known.values() if isinstance(file, LinkFile))
        return {file.sha256: file for file in good}

    def _reason(self, reference: FileReference) -> str:
        file = self._look(reference)
        if isinstance(file, str):
            return file
        demanded = reference.table.get("sha256", file.sha256)
        if demanded != file.sha256:
            reason = f"is another file than the one meant: its SHA-256 is {file.sha256}"
            return f"{reason}; {_ANOTHER}"
        return ""

    def _look(self, reference: FileReference) -> LinkFile | str:
        name = str(reference.table[reference.kind])
        if (name, reference.kind) not in self._known:
            try:
                known: LinkFile | str = LinkFile.read(self._folder / name, reference.kind)
            except FileError as error:
                known = str(error)
            self._known[name, reference.kind] = known
        return self._known[name, reference.kind]


def file_references(document: Mapping[str, Any]) -> Iterator[FileReference]:
    """Yield every file that a scenario's document names, however wrong the rest of it is.

    The model reports a value that is not a name.
    """
    topology = document.get("topology")
    links = topology.get("links") if isinstance(topology, Mapping) else None
    for index, link in enumerate(links if isinstance(links, list) else ()):
        for side in SIDES:
            direction = link.get(side[0]) if side and isinstance(link, Mapping) else link
            for kind, impairment in IMPAIRMENTS.items():
                table = direction.get(impairment) if isinstance(direction, Mapping) else None
                if isinstance(table, Mapping) and is_file_name(table.get(kind)):
                    yield FileReference(
                        ("topology", "links", index, *side, impairment), kind, table
                    )


def kept_files(files: Mapping[str, LinkFile]) -> dict[str, LinkFile]:
    """Copy files into the cache, where they cannot change under a campaign.

    Raises:
        ConfigError: One has changed since it was read.
    """
    return {digest: replace(file, path=_kept_file(file)) for digest, file in files.items()}


def _kept_file(file: LinkFile) -> Path:
    folder = folders.cache() / "links"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / file.sha256
    if path.is_file() and disk.sha256(path) == file.sha256:
        return path
    handle, name = tempfile.mkstemp(dir=folder)
    os.close(handle)
    shutil.copyfile(file.path, name)
    if disk.sha256(Path(name)) != file.sha256:
        Path(name).unlink()
        raise ConfigError([Mistake(str(file.path), "has changed while it was read", "try again")])
    Path(name).chmod(0o644)
    return Path(name).rename(path)
