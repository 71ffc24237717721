"""What a link prints, and the files that it writes.

Before the command: a line that says what is emulated. While it runs: the meter, a live line, only
if stderr is a terminal and the command's input or output is none, so that it is not interactive.
At the end: the counters as a small table. Files are checked before the link exists, and emptied
when it starts.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from httpbed.addons.link.described_link import FAR, DescribedLink
from httpbed.base import units, user_file
from httpbed.base.errors import Mistake
from httpbed.base.user_file import Kind
from httpbed.experiment import profiles
from httpbed.experiment.impairments.descriptor import DIRECTIONS
from httpbed.experiment.impairments.queue import QUEUE_LIMIT
from httpbed.experiment.impairments.registry import ALL, CAUSES, COUNTERS

ERASE = "\r\x1b[K"
METER_PERIOD_S = 0.5
KINDS = {
    "--pcap": Kind(
        "a capture that httpbed wrote", re.compile(rb"\n\r\r\n.{4,200}httpbed-link ", re.DOTALL)
    ),
    "--log": Kind("a packet log that httpbed wrote", re.compile(rb"in_ns\tout_ns\t")),
}
"""What each option writes. A pcapng file begins with 0x0A0D0D0A and names the application."""

Identity = tuple[int, int]
"""Device and inode: the same file may have several names."""
_ODD = {
    "malformed_packets": "malformed packets",
    "stray_frames": "stray frames",
    "oversize_frames": "oversize frames",
}
_GONE = {cause.counter for cause in CAUSES}

Row = tuple[str, str, str]


def sentence(described: DescribedLink) -> str:
    """Describe both directions, once if they are equal, after the name and title of a profile."""
    name = described.link.profile
    titled = f"{name} ({profiles.all_profiles()[name].title}): " if name else ""
    up, down = (", ".join(_impairments(table)) for table in described.written)
    if up == down:
        return f"{titled}each way {up}"
    return titled + "; ".join(
        f"{way} {words}" for way, words in zip(DIRECTIONS, (up, down), strict=True)
    )


def _impairments(table: Mapping[str, Any]) -> Iterator[str]:
    """Yield the words for each impairment and for what is absent; a queue needs a rate."""
    whole = {**table, "queue": {"limit": QUEUE_LIMIT, **table.get("queue", {})}}
    if "rate" not in table:
        del whole["queue"]
    for impairment in ALL:
        if impairment.field in whole:
            yield impairment.words(whole[impairment.field])
        elif impairment.absent:
            yield impairment.absent


def meter_is_shown(*, wanted: bool | None, stdin: bool, stdout: bool, stderr: bool) -> bool:
    """Return whether to show a meter; the arguments say which streams are terminals."""
    return stderr and not (stdin and stdout) if wanted is None else wanted


@dataclass
class Meter:
    """Turns each event with counters into a line."""

    _before: Mapping[str, Any] | None = None

    def line(self, event: Mapping[str, Any]) -> str:
        """Return a line on the time since the last event; empty for the first event."""
        before, self._before = self._before, event
        if before is None or event["at_ns"] <= before["at_ns"]:
            return ""
        seconds = (event["at_ns"] - before["at_ns"]) / 1e9
        pairs = zip(before["directions"], event["directions"], strict=True)
        ways = sorted(pairs, key=lambda pair: pair[1]["to"] != FAR)
        texts = [_way(*pair, seconds) for pair in ways]
        return f"link  up {texts[0]}  down {texts[1]}"


def _way(before: Mapping[str, Any], now: Mapping[str, Any], seconds: float) -> str:
    passed = now["bytes"]["delivered"] - before["bytes"]["delivered"]
    gone = sum(count for name, count in now["packets"].items() if name in _GONE)
    waiting = now["packets"]["in_flight"]
    rate = units.format_rate(passed * 8 / seconds, units.SHORT_DIGITS)
    return f"{rate:>12}, {waiting} on the way, {gone} lost"


def table(result: Mapping[str, Any]) -> str:
    """Write the counters as a table with a column for each direction."""
    ways = sorted(result["directions"], key=lambda way: way["to"] != FAR)
    rows = [("httpbed link", "up", "down"), *_rows(ways)]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = [
        f"{name:<{widths[0]}}  {up:>{widths[1]}}  {down:>{widths[2]}}" for name, up, down in rows
    ]
    return "\n".join([*lines, *_oddities(result), _emulator(result)])


def crossing(result: Mapping[str, Any], loopback_packets: int) -> str | None:
    """Say that some or all of the command's packets never crossed the link; None if all did.

    Otherwise the output of a command that spoke to its own loopback would be read as a result over
    the link.
    """
    crossed = sum(way["packets"]["in"] for way in result["directions"])
    if not crossed and not loopback_packets:
        return "no packet crossed the link: the command used no network"
    if not loopback_packets:
        return None
    stayed = (
        f"{units.format_count(loopback_packets, 'packet')} stayed on the command's own loopback"
        " (127.0.0.1, ::1), where no impairment acts"
    )
    if crossed:
        return f"{units.format_count(crossed, 'packet')} crossed the link, and {stayed}"
    return (
        f"no packet crossed the link: {stayed}; --expose PORT gives the command a port of this"
        " machine at $HTTPBED_PEER, and --server runs a program there"
    )


def _oddities(result: Mapping[str, Any]) -> Iterator[str]:
    """Report frames that were no proper packets of the link, if there were any."""
    odd = ", ".join(f"{result[key]} {words}" for key, words in _ODD.items() if result.get(key))
    if odd:
        yield f"  odd: {odd}"


def _rows(ways: list[Mapping[str, Any]]) -> Iterator[Row]:
    yield _row("sent", [_amount(way, "in") for way in ways])
    yield _row("delivered", [_amount(way, "delivered") for way in ways])
    for cause in CAUSES:
        key = cause.counter
        if key == "lost" or any(way["packets"].get(key) for way in ways):
            yield _row(cause.words, [_share(way, key) for way in ways])
    for key in COUNTERS:
        counts = [way.get(key, way["packets"].get(key, 0)) for way in ways]
        if any(counts):
            yield _row(key, [f"{count}" for count in counts])
    if any(way["packets"]["in_flight"] for way in ways):
        yield _row("on the way", [f"{way['packets']['in_flight']}" for way in ways])
    if any(way["utilisation"] is not None for way in ways):
        yield _row(
            "largest queue",
            [units.format_count(way["queue_packets_max"], "packet") for way in ways],
        )
        yield _row("utilisation", [_percent(way["utilisation"]) for way in ways])


def _row(name: str, cells: list[str]) -> Row:
    return f"  {name}", cells[0], cells[1]


def _amount(way: Mapping[str, Any], fate: str) -> str:
    size = units.format_size(way["bytes"][fate], units.SHORT_DIGITS)
    return f"{units.format_count(way['packets'][fate], 'packet')}, {size}"


def _share(way: Mapping[str, Any], cause: str) -> str:
    count, sent = way["packets"].get(cause, 0), way["packets"]["in"]
    return f"{count} ({_percent(count / sent)})" if count and sent else f"{count}"


def _percent(share: float | None) -> str:
    return "unlimited" if share is None else f"{share * 100:.2f} %"


def _emulator(result: Mapping[str, Any]) -> str:
    late = result["lateness_ns"]
    if not late["count"]:
        return "  emulator saw no packet"
    quantiles = ", ".join(f"{name} {late[name] / 1e3:.0f} us" for name in ("p50", "p99", "max"))
    overrun = result["socket_drops"] + result["send_failures"]
    warned = f"; {overrun} packets were beyond this machine: the counters miss them"
    return f"  emulator late: {quantiles}{warned if overrun else ''}"


def file_mistakes(
    outputs: Mapping[str, str | None], inputs: Iterable[tuple[str, str]]
) -> Iterator[Mistake]:
    """Yield a mistake for each output that cannot be written, or that would destroy something.

    An output is neither an input nor another output, and replaces only files of its own kind.
    Nothing is created or changed.
    """
    by_identity = {identity: flag for flag, file in inputs if (identity := _of_input(file))}
    new = list[Path]()
    try:
        for flag, file in outputs.items():
            if file is None:
                continue
            if not file:
                yield Mistake(flag, "is empty", "name a file")
                continue
            try:
                identity = _probed(Path(file), new)
            except OSError as error:
                reason = f"{file}: {error.strerror}"
                yield Mistake(flag, reason, "name a file that can be written")
                continue
            if identity in by_identity:
                yield Mistake(
                    flag, f"{file} is also that of {by_identity[identity]}", "name another file"
                )
                continue
            if unlike := user_file.unlike(Path(file), KINDS[flag]):
                yield Mistake(flag, f"{file} {unlike}", "name another file, or delete this one")
            if identity:
                by_identity[identity] = flag
    finally:
        for path in new:
            path.unlink()


def empty(files: Iterable[Path | None]) -> None:
    """Create or empty the files: the sandbox mounts files that exist."""
    for file in files:
        if file:
            file.open("wb").close()


def _of_input(file: str) -> Identity | None:
    try:
        return _identity(Path(file).stat())
    except (OSError, ValueError):  # reported where it is read
        return None


def _probed(path: Path, new: list[Path]) -> Identity | None:
    """Open the file as its writer will, without emptying it; None for no file."""
    is_new = not path.exists()
    # Without O_NONBLOCK opening a pipe waits for a reader.
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC
    opened = os.open(path, flags, 0o666)
    try:
        about = os.fstat(opened)
    finally:
        os.close(opened)
    if is_new:
        new.append(path.resolve())
    return _identity(about)


def _identity(about: os.stat_result) -> Identity | None:
    """Return the identity of a regular file; None for others, such as /dev/null."""
    return (about.st_dev, about.st_ino) if stat.S_ISREG(about.st_mode) else None
