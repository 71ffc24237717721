"""Whether a HAR file supports the claims on it: its protocol and its network.

A label on a published HAR file may be wrong: the browser fell back to HTTP/2, a proxy near the
client answered, or the emulated rate was not the link's. A HAR file bounds a claim from one side:
no response is faster than a round trip, no period has more bytes than the link carries. So a claim
is

- **contradicted** if something was faster than the claim allows, or used another version;
- **supported** if nothing was, and something comes as close as such a network allows;
- **undecided** otherwise.

Times in a HAR file come from a browser under load and are rounded; each comparison allows a
millisecond.

The rate is that of the fastest window of a load. All bytes of a response arrive between its request
and its end. So a window contains at least the bytes of all responses that were requested and ended
within it, however they shared the link. A token bucket passes a burst faster than its rate, and a
browser's clock is coarse: both are allowed for before a rate is certain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import urlsplit

import numpy as np

from httpbed.addons.pages.har.har_file import ArchivedLoad, HarEntry
from httpbed.base import units

ALLOWANCE_BYTES = 2**16
"""Bytes of a burst: twice the bucket of common set-ups (32 kB)."""
MIN_BYTES = 4 * ALLOWANCE_BYTES
"""Bytes in a window whose rate is reported; with fewer, bursts and slow start dominate."""
CLOCK_S = 0.001
MAX_TRANSFERS = 5000
"""The largest transfers are examined; all pairs of their times are windows."""


Verdict = Literal["supported", "contradicted", "undecided", "not claimed"]
"""``not claimed``: there is no claim on it."""

MAX_PLACES = 5
"""Most entries that a result names as examples."""
_ADDS_UP_SHARE = 0.01
_NEAR_SHARE, _NEAR_S = 1.25, 0.010
"""How far above the claimed round trip the fastest response may be and still support it."""
_FULL_SHARE = 0.5
"""Share of the claimed rate that the fastest period must reach to support it."""
_TCP_VERSIONS, _QUIC_VERSION = ("1.0", "1.1", "2"), "3"
_NOT_MODIFIED = 304

Entries = Sequence[HarEntry]
Lengths = Sequence[tuple[float, HarEntry]]
"""Seconds, and the entry that took them."""


@dataclass(frozen=True)
class Transfer:
    """A response's transfer: seconds since the navigation, and bytes as sent."""

    start_s: float
    end_s: float
    bytes: int
    entry: int
    """Its place in the file."""


@dataclass(frozen=True)
class Stretch:
    """A window of time, and the bytes that certainly arrived within it."""

    seconds: float
    bytes: int
    bit_s: float
    """Average rate of the window; :func:`beyond_a_burst` subtracts one burst first."""
    entries: tuple[int, ...]


def fastest(transfers: Sequence[Transfer]) -> Stretch | None:
    """Return the window with the highest rate; None where none has :data:`MIN_BYTES`."""
    return _best(transfers, fewest=MIN_BYTES, burst=0)


def beyond_a_burst(transfers: Sequence[Transfer]) -> Stretch | None:
    """Return the window that takes the highest rate even if a burst came at once."""
    return _best(transfers, fewest=ALLOWANCE_BYTES + 1, burst=ALLOWANCE_BYTES)


def _best(transfers: Sequence[Transfer], *, fewest: int, burst: int) -> Stretch | None:
    largest = sorted(transfers, key=lambda transfer: transfer.bytes, reverse=True)[:MAX_TRANSFERS]
    by_end = sorted(largest, key=lambda transfer: transfer.end_s)
    starts = np.array([transfer.start_s for transfer in by_end])
    ends = np.array([transfer.end_s for transfer in by_end])
    sizes = np.array([transfer.bytes for transfer in by_end], dtype=float)
    best = (0.0, 0.0, 0.0)
    for start in np.unique(starts):
        total = np.cumsum(np.where(starts >= start, sizes, 0.0))
        is_window = (ends >= start) & (total >= fewest)
        rate = np.where(is_window, (total - burst) / (ends - start + CLOCK_S), 0.0)
        at = int(rate.argmax())
        best = max(best, (float(rate[at]) * 8, float(start), float(ends[at])))
    bit_s, start_s, end_s = best
    if not bit_s:
        return None
    within = [
        transfer for transfer in by_end if transfer.start_s >= start_s and transfer.end_s <= end_s
    ]
    total_bytes = sum(transfer.bytes for transfer in within)
    return Stretch(
        end_s - start_s, total_bytes, bit_s, tuple(transfer.entry for transfer in within)
    )


@dataclass(frozen=True)
class Claims:
    """The user's claims about how a HAR was recorded; None for no claim."""

    http_version: str | None = None
    rate_bit_s: int | None = None
    """Rate of the narrowest link towards the client."""
    rtt_s: float | None = None
    """Round trip of an idle path to the server or cache that responds."""
    visit: str | None = None
    """``cold`` or ``repeat view``."""


@dataclass(frozen=True)
class AuditResult:
    """The verdict on one claim, with its figures."""

    about: str
    verdict: Verdict
    text: str
    entries: tuple[int, ...] = ()
    """Indices of the first few entries that contradict the claim."""


def audit(archived: ArchivedLoad, claims: Claims) -> list[AuditResult]:
    """Judge each claim; report the figures where nothing is claimed."""
    requested = [entry for entry in archived.entries if entry.is_on_network]
    answered = [entry for entry in requested if not entry.failed]
    audits = [_protocol(answered, claims.http_version)]
    if claims.rtt_s is not None:
        audits += [_answers(answered, claims.rtt_s), *_handshakes(answered, claims.rtt_s)]
    audits.append(_rate(answered, claims.rate_bit_s))
    audits.append(_cache(archived, claims.visit))
    audits += [_failures(requested), _redirects(requested), _sums(archived.entries)]
    return audits


def _protocol(answered: Entries, claimed: str | None) -> AuditResult:
    counts = Counter(entry.http_version for entry in answered)
    mix = ", ".join(f"{_version(name)}: {count}" for name, count in counts.most_common())
    about = "protocol"
    if claimed is None:
        return AuditResult(about, "not claimed", mix or "no request was answered over the network")
    others = [entry for entry in answered if entry.http_version not in (claimed, "")]
    if others:
        share = units.format_share(len(others) / len(answered))
        text = f"{len(others)} of {len(answered)} ({share}) were not over HTTP/{claimed}: {mix}"
        return _finding(about, "contradicted", text + _downgrades(answered, claimed), others)
    unstated = counts[""]
    if unstated or not answered:
        text = f"{unstated} of {len(answered)} do not tell their version"
        return AuditResult(about, "undecided", text)
    return AuditResult(about, "supported", f"all {len(answered)} over HTTP/{claimed}")


def _downgrades(answered: Entries, claimed: str) -> str:
    """Distinguish a first visit that switched protocols from one that never did."""
    by_origin: dict[object, list[str]] = {}
    for entry in answered:
        if entry.http_version:
            by_origin.setdefault(urlsplit(entry.url)[:2], []).append(entry.http_version)
    begun = sum(one[0] < claimed and claimed in one for one in by_origin.values())
    fallen = sum(claimed in one and one[-1] < claimed for one in by_origin.values())
    text = f"; {begun} origins changed to it on the way" if begun else ""
    return text + (f"; {fallen} origins ended below it" if fallen else "")


def _version(name: str) -> str:
    return f"HTTP/{name}" if name[:1].isdigit() else name or "not told"


def _answers(answered: Entries, rtt_s: float) -> AuditResult:
    """Compare the time from a request to its response with a round trip."""
    waits = [
        (entry.headers_end_s - entry.send_start_s, entry)
        for entry in answered
        if entry.headers_end_s is not None and entry.send_start_s is not None
    ]
    return _round_trips("responses", "answered", waits, rtt_s)


def _handshakes(answered: Entries, rtt_s: float) -> Iterator[AuditResult]:
    """Compare the time of connection set-up with a round trip."""
    whole = [
        (entry.connect_end_s - entry.connect_start_s, entry)
        for entry in answered
        if entry.connect_end_s is not None
        and entry.connect_start_s is not None
        and entry.connect_end_s > entry.connect_start_s
        and entry.has_whole_setup
    ]
    versions = {entry.http_version for entry in answered}
    if versions & set(_TCP_VERSIONS):
        over_tcp = [pair for pair in whole if pair[1].http_version in _TCP_VERSIONS]
        yield _tcp_handshakes(over_tcp, rtt_s)
    if _QUIC_VERSION in versions:
        over_quic = [pair for pair in whole if pair[1].http_version == _QUIC_VERSION]
        yield _quic_handshakes(over_quic, rtt_s)


def _tcp_handshakes(lengths: Lengths, rtt_s: float) -> AuditResult:
    audited = _round_trips("connections over TCP", "set up", lengths, rtt_s)
    if not lengths or not rtt_s:
        return audited
    trips = min(length for length, _ in lengths) / rtt_s
    text = f"{audited.text}: {trips:.1f} round trips; TCP takes one and TLS 1.3 another"
    is_many = audited.verdict == "undecided" and trips <= 3 * _NEAR_SHARE + _NEAR_S / rtt_s
    return replace(audited, text=text, verdict="supported" if is_many else audited.verdict)


def _quic_handshakes(lengths: Lengths, rtt_s: float) -> AuditResult:
    """Compare set-up over QUIC; a shorter one is possible, as 0-RTT sends requests early."""
    audited = _round_trips("connections over QUIC", "set up", lengths, rtt_s)
    if audited.verdict != "contradicted":
        return audited
    text = f"{audited.text}; with 0-RTT that can be"
    return AuditResult(audited.about, "undecided", text)


def _round_trips(about: str, done: str, lengths: Lengths, rtt_s: float) -> AuditResult:
    if not lengths:
        return AuditResult(about, "undecided", "no entry has these times")
    fast = [entry for length, entry in lengths if length < rtt_s - CLOCK_S]
    shortest = min(length for length, _ in lengths)
    texts = f"the fastest of {len(lengths)} was {done} in {_time(shortest)}"
    if fast:
        text = f"{len(fast)} of {len(lengths)} were {done} within less than {_time(rtt_s)}; {texts}"
        return _finding(about, "contradicted", text, fast)
    is_near = shortest <= rtt_s * _NEAR_SHARE + _NEAR_S
    return AuditResult(about, "supported" if is_near else "undecided", texts)


def _rate(answered: Entries, claimed: int | None) -> AuditResult:
    transfers = list(_transfers(answered))
    certain = beyond_a_burst(transfers)
    if claimed is not None and certain is not None and certain.bit_s > claimed:
        beyond = f"{units.format_size(ALLOWANCE_BYTES, 2)} of it a burst, the rest takes"
        more = f"more than {units.format_rate(claimed)}"
        text = f"{_stretch(certain)}: {beyond} {_rate_of(certain)}, {more}"
        return AuditResult("rate", "contradicted", text, certain.entries[:MAX_PLACES])
    full = fastest(transfers)
    otherwise: Verdict = "not claimed" if claimed is None else "undecided"
    if full is None:
        least = units.format_size(MIN_BYTES, units.SHORT_DIGITS)
        return AuditResult("rate", otherwise, f"no stretch has {least} with their times")
    is_full = claimed is not None and full.bit_s >= _FULL_SHARE * claimed
    text = f"{_stretch(full)}: {_rate_of(full)}"
    return AuditResult("rate", "supported" if is_full else otherwise, text)


def _stretch(found: Stretch) -> str:
    return f"{units.format_size(found.bytes, units.SHORT_DIGITS)} came in {_time(found.seconds)}"


def _rate_of(found: Stretch) -> str:
    return units.format_rate(found.bit_s, units.SHORT_DIGITS)


def _transfers(answered: Entries) -> Iterator[Transfer]:
    """Yield lower bounds of what crossed the link: bytes as sent, with start and end."""
    for entry in answered:
        stated = entry.stated_wire_bytes
        size = stated if stated is not None else entry.sent_body_bytes
        start, end = entry.send_start_s, entry.ended_s
        if size and start is not None and end is not None and end >= start:
            yield Transfer(start, end, size, entry.index)


def _cache(archived: ArchivedLoad, claimed: str | None) -> AuditResult:
    kept = [entry for entry in archived.entries if entry.from_cache]
    revalidated = [entry for entry in archived.entries if entry.status == _NOT_MODIFIED]
    text = f"{len(kept)} from a cache, {len(revalidated)} not modified"
    text += f", of {len(archived.entries)}"
    if claimed is None:
        return AuditResult("cache", "not claimed", text)
    hits = kept + revalidated
    if claimed == "cold":
        verdict: Verdict = "contradicted" if hits else "supported"
        return _finding("cache", verdict, text, hits)
    return AuditResult("cache", "supported" if hits else "undecided", text)


def _failures(requested: Entries) -> AuditResult:
    failed = [entry for entry in requested if entry.failed]
    refused = [entry for entry in requested if entry.status >= 400]  # RFC 9110, 15
    reasons = Counter(entry.failed for entry in failed)
    why = "".join(f"; {reason}: {count}" for reason, count in reasons.most_common(MAX_PLACES))
    text = (
        f"{len(failed)} without a response, {len(refused)} with an error, of {len(requested)}{why}"
    )
    return _finding("failed requests", "not claimed", text, failed + refused)


def _redirects(requested: Entries) -> AuditResult:
    moved = [entry for entry in requested if entry.redirected_to]
    return _finding("redirects", "not claimed", f"{len(moved)} of {len(requested)}", moved)


def _sums(entries: Iterable[HarEntry]) -> AuditResult:
    """Check what HAR 1.2 demands: phases add up to the time, and TLS is part of connecting."""
    timed = [entry for entry in entries if entry.time_s is not None and _phases(entry)]
    wrong = [entry for entry in timed if not _adds_up(entry)]
    if not timed:
        return AuditResult("timings", "undecided", "no entry has both a time and its phases")
    if wrong:
        text = f"of {len(wrong)} of {len(timed)} entries the phases do not add up to the time"
        return _finding("timings", "contradicted", text, wrong)
    return AuditResult("timings", "supported", f"the phases of all {len(timed)} add up")


def _phases(entry: HarEntry) -> list[float]:
    times = entry.timings
    all_of_them = (times.blocked, times.dns, times.connect, times.send, times.wait, times.receive)
    return [one for one in all_of_them if one is not None]


def _adds_up(entry: HarEntry) -> bool:
    total = entry.time_s or 0.0
    allowed = CLOCK_S + _ADDS_UP_SHARE * total
    is_nested = (entry.timings.ssl or 0.0) <= (entry.timings.connect or 0.0) + CLOCK_S
    return abs(sum(_phases(entry)) - total) <= allowed and is_nested


def _finding(about: str, verdict: Verdict, text: str, against: Iterable[HarEntry]) -> AuditResult:
    return AuditResult(about, verdict, text, tuple(entry.index for entry in against)[:MAX_PLACES])


def _time(seconds: float) -> str:
    return units.format_duration(seconds, units.SHORT_DIGITS)
