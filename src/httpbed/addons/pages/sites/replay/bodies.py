"""The length of each body on the wire, and bodies of exactly the recorded length.

A HAR file has decoded bodies, and the lengths of the encoded ones. To reach such a length, a body
is encoded by an encoder at least as good as the recorded one. Padding goes where decoders skip it:
a comment in gzip's header (RFC 1952, section 2.3.1), a metadata block before brotli's data (RFC
7932, section 9.2), a skippable frame after Zstandard's (RFC 8878, section 3.1.2). Zero bytes stand
for a missing body, behind an image header where one is due: a browser stops fetching an image that
it cannot read.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from httpbed.addons.pages.har.har_file import HarEntry
from httpbed.addons.pages.sites.replay.selection import WITHOUT_BODY

_HEAD_SHARE = 0.5
"""Share of a head's text that HTTP/2 and HTTP/3 send (RFC 7541, RFC 9204), approximately."""


@dataclass(frozen=True)
class Size:
    """Length of a body on the wire."""

    bytes: int
    is_exact: bool
    """Whether the file has this length or what it follows from, rather than an approximation."""


def body_size(entry: HarEntry) -> Size:
    """Return a body's length on the wire, from the most exact figure in the file."""
    if entry.status in WITHOUT_BODY or entry.method.upper() == "HEAD":
        return Size(0, is_exact=True)
    announced = content_length(entry)
    sent = entry.sent_body_bytes
    if sent or (sent == 0 and not announced and not entry.stated_body_bytes):
        return Size(sent or 0, is_exact=True)
    if announced is not None:
        return Size(announced, is_exact=True)
    if entry.stated_wire_bytes is not None:
        return _without_head(entry, entry.stated_wire_bytes)
    if entry.stated_body_bytes is not None:
        return Size(entry.stated_body_bytes, is_exact=not header(entry, "content-encoding"))
    return Size(0, is_exact=sent == 0)


def _without_head(entry: HarEntry, wire: int) -> Size:
    if entry.head_bytes:
        return Size(max(0, wire - entry.head_bytes), is_exact=True)
    text = sum(len(name) + len(value) + 4 for name, value in entry.response_headers)
    return Size(max(0, wire - int(text * _HEAD_SHARE)), is_exact=False)


def content_length(entry: HarEntry) -> int | None:
    """Return the content length of the response's header."""
    length = header(entry, "content-length").strip()
    return int(length) if length.isascii() and length.isdigit() and len(length) < 16 else None


def header(entry: HarEntry, name: str) -> str:
    """Return a field of the response's head; empty if missing."""
    return next((value for own, value in entry.response_headers if own.lower() == name), "")


_GIF = bytes.fromhex("47494638396101000100800000000000ffffff2c00000000010001000002024401003b")
_SVG = b'<svg xmlns="http://www.w3.org/2000/svg"/>'
_TEXT = re.compile(r"text/|javascript|ecmascript|json|xml|svg")
_MIN_FRAME = 8
_REFERRING = re.compile(r"html|css|script|json|xml|svg|wasm|mpegurl|manifest")
"""Kinds of bodies that cause further requests."""


@dataclass(frozen=True)
class Body:
    """Bytes to send, and their coding; zero bytes fill up to ``length``."""

    start: bytes
    length: int
    coding: str = ""
    is_filler: bool = False


def filler(kind: str, length: int) -> Body:
    """Return a filler for a missing body of this kind."""
    if "svg" in kind and len(_SVG) <= length:
        return Body(_SVG + b" " * (length - len(_SVG)), length, is_filler=True)
    start = _GIF if kind.startswith("image/") and len(_GIF) <= length else b""
    return Body(start, length, is_filler=True)


def leads_further(kind: str) -> bool:
    """Return whether a body of this kind may cause further requests."""
    return not kind or bool(_REFERRING.search(kind))


def is_text(kind: str) -> bool:
    """Return whether bodies of this kind are text."""
    return bool(_TEXT.search(kind))


def exact(body: bytes, kind: str, coding: str, length: int) -> Body | None:
    """Encode a body to exactly ``length`` bytes, preferably by ``coding``; None if impossible."""
    recorded = coding.lower().strip()
    if not recorded and (plain := _plain(body, kind, length)) is not None:
        return Body(plain, length)
    for name in dict.fromkeys((recorded, "gzip", "br")):
        encode = _ENCODERS.get(name)
        if encode and (encoded := encode(body, length)) is not None:
            return Body(encoded, length, name)
    return None


def decoded(sent: bytes, coding: str, length: int) -> bytes | None:
    """Return a body as browsers decode it; None if it has not this length or another coding."""
    name = coding.lower().strip()
    try:
        if name in ("gzip", "x-gzip"):
            body = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS).decompress(sent)
        elif name in ("br", "zstd"):
            body = _codec("brotli" if name == "br" else name).decompress(sent, length, asbytes=True)
        else:
            body = sent
    except (OSError, zlib.error):
        return None
    return body if len(body) == length and name in ("", "identity", *_ENCODERS) else None


def padded(text: bytes, length: int) -> Body | None:
    """Fill a document or script up with spaces; None if it is too long."""
    return Body(text + b" " * (length - len(text)), length) if len(text) <= length else None


def _plain(body: bytes, kind: str, length: int) -> bytes | None:
    if len(body) == length:
        return body
    # A HAR file has text as UTF-8, whatever its charset was.
    if charset := re.search(r"charset=[\"']?([\w-]+)", kind, re.IGNORECASE):
        try:
            recoded = body.decode().encode(charset[1])
        except (LookupError, UnicodeError):
            recoded = b""
        if len(recoded) == length:
            return recoded
    if len(body) < length and _TEXT.search(kind):
        return body + b" " * (length - len(body))
    return None


def _gzip(body: bytes, length: int) -> bytes | None:
    head, tail = 10, zlib.crc32(body).to_bytes(4, "little")
    tail += (len(body) % 2**32).to_bytes(4, "little")
    for level in (6, 9):
        packer = zlib.compressobj(level, wbits=-zlib.MAX_WBITS)
        packed = packer.compress(body) + packer.flush()
        missing = length - head - len(packed) - len(tail)
        if missing >= 0:
            flags, comment = (16, b" " * (missing - 1) + b"\0") if missing else (0, b"")
            return bytes([31, 139, 8, flags, 0, 0, 0, 0, 0, 255]) + comment + packed + tail
    return None


def _codec(name: str, level: int | None = None) -> Any:
    import pyarrow as pa

    return pa.Codec(name, compression_level=level)


def _brotli(body: bytes, length: int) -> bytes | None:
    for level in (5, 9, 11):
        packed = _codec("brotli", level).compress(body, asbytes=True)
        if len(packed) == length:
            return bytes(packed)
        if len(packed) < length and (padded := _with_metadata(bytes(packed), len(body), length)):
            return padded
    return None


def _with_metadata(packed: bytes, size: int, length: int) -> bytes | None:
    """Return a stream with metadata blocks between its window size and its data."""
    window_bits = _window_bits(packed[0])
    bits = int.from_bytes(packed, "little")
    window, data = bits & ((1 << window_bits) - 1), bits >> window_bits
    # A last zero byte may be data, or come from the shift; only the decoder can tell.
    for rest_bytes in range(
        len(packed) - (data.bit_length() <= 8 * len(packed) - 8), len(packed) + 1
    ):
        rest = data.to_bytes(rest_bytes, "little")
        blocks = _metadata(window, window_bits, length - rest_bytes)
        if blocks and _decodes(blocks + rest, size):
            return blocks + rest
    return None


def _metadata(window: int, window_bits: int, length: int) -> bytes | None:
    """Return a window size and metadata of ``length`` bytes, after an empty block if necessary."""
    for empty_blocks in (0, 1):
        for skip_bytes in range(4):
            # ISLAST 0, MNIBBLES 0 (as 11), reserved 0, MSKIPBYTES, MSKIPLEN, filled up to a byte.
            before = window_bits if not empty_blocks else 0
            header_bytes = (before + 6 + 8 * skip_bytes + 7) // 8
            first = (window_bits + 6 + 7) // 8 if empty_blocks else 0
            skipped = length - header_bytes - first
            least = {0: 0, 1: 1}.get(skip_bytes, 256 ** max(0, skip_bytes - 1) + 1)
            if not least <= skipped <= (256**skip_bytes if skip_bytes else 0):
                continue
            header = (0b0110 | skip_bytes << 4 | max(0, skipped - 1) << 6) << before
            empty = (window | 0b0110 << window_bits).to_bytes(first, "little") if first else b""
            header |= 0 if empty else window
            return empty + header.to_bytes(header_bytes, "little") + bytes(skipped)
    return None


def _decodes(packed: bytes, size: int) -> bool:
    try:
        _codec("brotli").decompress(packed, size)
    except OSError:
        return False
    return True


def _window_bits(first: int) -> int:
    """Return the number of bits of a stream's window size (RFC 7932, section 9.1)."""
    if not first & 1:
        return 1
    return 4 if first & 0b1110 else 7


def _zstandard(body: bytes, length: int) -> bytes | None:
    for level in (3, 12):
        packed = _codec("zstd", level).compress(body, asbytes=True)
        missing = length - len(packed)
        if missing == 0:
            return bytes(packed)
        if missing >= _MIN_FRAME:
            skipped = missing - _MIN_FRAME
            head = b"\x50\x2a\x4d\x18" + skipped.to_bytes(4, "little")
            return bytes(packed) + head + bytes(skipped)
    return None


_ENCODERS: Mapping[str, Callable[[bytes, int], bytes | None]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "br": _brotli,
    "zstd": _zstandard,
}
