"""What was delivered to the client when, and where its hand-overs fell: one curve for each trial.

A trial leaves ``deliveries.tsv`` (bytes of IP packets per millisecond and link, since the emulator
began) and ``handovers.json`` (seconds since the client's first packet). Both are put on the clock
of the request time, whose zero is that packet.

A curve has as many corners as its trial had milliseconds with packets, far more than can be seen.
:func:`thinned` keeps those that shape it: of all corners left out always the one that lies farthest
from the line drawn so far (Douglas and Peucker 1973, farthest first), until none is farther than
the tolerance or there are as many as allowed. Ends of stalls are such corners.
"""

from __future__ import annotations

import heapq
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from numpy.typing import NDArray

from httpbed.analysis.sample import last_attempts
from httpbed.store import campaign
from httpbed.store.results import Results

Floats = NDArray[np.float64]

DELIVERIES = "deliveries.tsv"
HANDOVERS = "handovers.json"
MIGRATED, ANEW, ANSWERED, NOTHING = "migrated", "new connection", "answered only", "nothing"
"""What the wire shows after a hand-over: data of the same connection on the new path, another
connection, answers that came to nothing, or no answer there."""
UNKNOWN, OVER_BEFORE = "not known", "over before"
"""Likewise: what cannot be told, or the client was done before anybody could answer it there."""
VERDICTS = frozenset({MIGRATED, ANEW, ANSWERED, NOTHING, UNKNOWN, OVER_BEFORE})
MOST_BYTES = 64 * 2**20
"""Of a file that is read; what is longer was not written by a trial."""
_ORIGIN = b"# origin_ms:"
_COLUMNS = {"bin": pa.int64(), "link": pa.string(), "bytes": pa.int64()}


@dataclass(frozen=True)
class Moment:
    """A hand-over of one trial; times are seconds since the client's first packet."""

    number: int
    """From 1."""
    left: str
    """Name of the link that the client left."""
    entered: str
    """Name of the link that it went to."""
    at_s: float
    first_probe_s: float | None
    """The client's first packet on the new path; None: never seen, as all below."""
    validated_s: float | None
    first_byte_s: float | None
    """The first packet delivered to the client on the new path."""
    verdict: str
    """One of :data:`VERDICTS`; empty where none was left."""
    how: str
    """What shows it, in words."""

    def followed(self) -> Iterator[tuple[str, float]]:
        """Yield what was seen to follow, with its time."""
        for name, at_s in (
            ("first packet sent", self.first_probe_s),
            ("path validated", self.validated_s),
            ("first packet delivered", self.first_byte_s),
        ):
            if at_s is not None:
                yield name, at_s


@dataclass(frozen=True)
class Curve:
    """Bytes delivered over time, as corners of a line that never falls."""

    times_s: Floats
    total_bytes: Floats

    @property
    def end_s(self) -> float:
        """When the last byte came; 0 without any."""
        return float(self.times_s[-1]) if self.times_s.size else 0.0

    @property
    def end_bytes(self) -> float:
        """How many bytes came in all."""
        return float(self.total_bytes[-1]) if self.total_bytes.size else 0.0

    def at(self, time_s: float) -> float:
        """Bytes delivered by a time."""
        return float(np.interp(time_s, self.times_s, self.total_bytes)) if self.end_s else 0.0


@dataclass(frozen=True)
class Timeline:
    """The last attempt at a trial, over time."""

    block: int
    trial: str
    attempt: int
    levels: Mapping[str, str]
    outcome: str
    curve: Curve
    moments: tuple[Moment, ...]
    by_link: Mapping[str, int]
    """Bytes delivered over each link, in the order of their first packets."""


NO_CURVE = Curve(np.zeros(0), np.zeros(0))


def attempts(results: Results) -> list[dict[str, Any]]:
    """Rows of the attempts that count and whose bed held, by block and position."""
    rows = [row for row in last_attempts(results.trials) if row["outcome"] != "invalid"]
    return sorted(rows, key=lambda row: (row["block"], row["position"]))


def timeline(results: Results, row: Mapping[str, Any]) -> Timeline:
    """Read one attempt's timeline; what it did not leave, or is damaged, is empty in it."""
    curve, by_link = deliveries(_left(results, row, DELIVERIES))
    return Timeline(
        block=row["block"],
        trial=row["trial"],
        attempt=row["attempt"],
        levels={name: row[name] for name in results.experiment.factors},
        outcome=row["outcome"],
        curve=curve,
        moments=moments(results, row),
        by_link=by_link,
    )


def moments(results: Results, row: Mapping[str, Any]) -> tuple[Moment, ...]:
    """Read one attempt's hand-overs."""
    try:
        said = json.loads(_left(results, row, HANDOVERS) or b"[]")
    except ValueError:
        return ()
    tables = said if isinstance(said, list) else []
    return tuple(_moments(one for one in tables if isinstance(one, Mapping)))


def _moments(said: Iterable[Mapping[str, Any]]) -> Iterator[Moment]:
    for one in said:
        number, at_s = one.get("number"), _number(one.get("at_s"))
        verdict = str(one.get("verdict"))
        if isinstance(number, int) and at_s is not None:
            yield Moment(
                number=number,
                left=str(one.get("from") or ""),
                entered=str(one.get("to") or ""),
                at_s=at_s,
                first_probe_s=_number(one.get("first_probe_s")),
                validated_s=_number(one.get("validated_s")),
                first_byte_s=_number(one.get("first_byte_s")),
                verdict=verdict if verdict in VERDICTS else "",
                how=str(one.get("how") or ""),
            )


def _number(said: object) -> float | None:
    known = isinstance(said, int | float) and not isinstance(said, bool) and np.isfinite(said)
    return float(said) if known and isinstance(said, int | float) else None


def deliveries(text: bytes) -> tuple[Curve, dict[str, int]]:
    """Read what a trial wrote down of deliveries: the curve, and the bytes over each link.

    The line ``# origin_ms: 12.5`` tells when the client's first packet was: what came before it,
    such as answers to ping, is not counted. Without it the first delivery is zero.
    """
    head, _, rest = text.partition(b"\n")
    has_origin = head.startswith(_ORIGIN)
    try:
        origin_ms = float(head.removeprefix(_ORIGIN)) if has_origin else None
        table = _table(rest if has_origin else text)
    except (ValueError, pa.ArrowException):
        return NO_CURVE, {}
    if origin_ms is None:
        origin_ms = float(pc.min(table["bin"]).as_py() or 0)
    table = table.filter(pc.greater(pc.add(table["bin"], 1), origin_ms))
    by_link: dict[str, int] = {}
    links, sizes = table["link"].to_pylist(), table["bytes"].to_pylist()
    for link, size in zip(links, sizes, strict=True):
        by_link[link] = by_link.get(link, 0) + size
    return _curve(table, origin_ms), by_link


def _table(text: bytes) -> pa.Table:
    parsing = pa.csv.ParseOptions(delimiter="\t")
    converting = pa.csv.ConvertOptions(column_types=_COLUMNS, include_columns=list(_COLUMNS))
    table = pa.csv.read_csv(io.BytesIO(text), None, parsing, converting)
    return table.drop_null().sort_by("bin")


def _curve(table: pa.Table, origin_ms: float) -> Curve:
    """Let the line rise during each millisecond with packets, and be level between them."""
    if not table.num_rows:
        return NO_CURVE
    bins, where = np.unique(table["bin"].to_numpy(), return_inverse=True)
    after = np.cumsum(np.bincount(where, weights=table["bytes"].to_numpy()))
    before = np.concatenate(([0.0], after[:-1]))
    begins = np.maximum((bins - origin_ms) / 1e3, 0.0)
    times = np.column_stack((begins, (bins + 1 - origin_ms) / 1e3)).ravel()
    total = np.column_stack((before, after)).ravel()
    return Curve(np.concatenate(([0.0], times)), np.concatenate(([0.0], total)))


def thinned(curve: Curve, tolerance_bytes: float, most: int) -> Curve:
    """Leave out corners that nobody would miss; ``most`` is at least 2."""
    x, y = curve.times_s, curve.total_bytes
    if x.size <= 2:  # noqa: PLR2004 - both ends
        return curve
    kept = [0, x.size - 1]
    waiting = [_farthest(x, y, 0, x.size - 1)]
    while waiting and len(kept) < most:
        negative, middle, first, last = heapq.heappop(waiting)
        if -negative <= tolerance_bytes:
            break
        kept.append(middle)
        for start, end in ((first, middle), (middle, last)):
            if end - start > 1:
                heapq.heappush(waiting, _farthest(x, y, start, end))
    order = np.sort(np.array(kept))
    return Curve(x[order], y[order])


def _farthest(x: Floats, y: Floats, first: int, last: int) -> tuple[float, int, int, int]:
    """Return the corner farthest from the line between two, for a heap with the largest first."""
    between = slice(first + 1, last)
    drawn = np.interp(x[between], (x[first], x[last]), (y[first], y[last]))
    off = np.abs(y[between] - drawn)
    index = int(np.argmax(off))
    return -float(off[index]), first + 1 + index, first, last


def _left(results: Results, row: Mapping[str, Any], name: str) -> bytes:
    path: Path = campaign.artifacts(results.directory, row["block"], row["trial"], row["attempt"])
    try:
        with (path / name).open("rb") as file:
            text = file.read(MOST_BYTES + 1)
    except OSError:
        return b""
    return text if len(text) <= MOST_BYTES else b""
