"""Decrypts a QUIC connection's 1-RTT packets with the secrets that a trial kept (RFC 9001, 5).

Of frames (RFC 9000, 19) it reads those of flow control: STREAM, MAX_DATA, MAX_STREAM_DATA, and what
a sender says that is blocked. The transport parameters are left encrypted, so a limit is known from
its first update on.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import replace

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from httpbed.addons.explain.qlog_trace import Packet
from httpbed.experiment.workload import Sender

CIPHERS: tuple[type[AESGCM | ChaCha20Poly1305], ...] = (AESGCM, ChaCha20Poly1305)
MAX_SECRETS = 100
PROBES = 16
"""1-RTT packets with which secret and cipher of a connection are found."""
SAMPLE_BYTES, MAX_NUMBER_BYTES = 16, 4
LONG, PHASE = 0x80, 0x04
INITIAL, RETRY = 0, 3
_LINE = re.compile(
    r"^(CLIENT|SERVER)_TRAFFIC_SECRET_0 [0-9a-f]{64} ([0-9a-f]{64,96})$", re.MULTILINE
)
_INTEGERS = {
    **dict.fromkeys((0x00, 0x01, 0x1E, 0x1F), 0),
    **dict.fromkeys((0x12, 0x13, 0x19), 1),
    0x05: 2,
    0x04: 3,
    0xAF: 4,
}
"""How many integers follow the type of a frame that has nothing else."""
MAX_DATA, MAX_STREAM_DATA = 0x10, 0x11
BLOCKED = {
    0x14: ("DATA_BLOCKED", 1),
    0x15: ("STREAM_DATA_BLOCKED", 2),
    0x16: ("STREAMS_BLOCKED", 1),
    0x17: ("STREAMS_BLOCKED", 1),
}
"""Frames of a sender that has more to send than its limits allow, with how many integers follow."""


def secrets(keylog: str, end: Sender) -> list[bytes]:
    """Return an end's 1-RTT secrets of a key log, of all of its connections."""
    lines = _LINE.findall(keylog)[:MAX_SECRETS]
    return [bytes.fromhex(secret) for name, secret in lines if name == end.upper()]


def connection_id_bytes(datagrams: Sequence[bytes]) -> int | None:
    """Return the length of the ID that the sender of datagrams chose; None without a long header.

    The other end's short headers have it without its length (RFC 9000, 17.3).
    """
    for datagram in datagrams:
        if len(datagram) > 6 and datagram[0] & LONG:
            place = 6 + datagram[5]
            return datagram[place] if place < len(datagram) else None
    return None


def packets(
    datagrams: Sequence[bytes], known: Sequence[bytes], id_bytes: int
) -> list[Packet] | None:
    """Return the 1-RTT packet of each datagram, without number where it has none that is read.

    None if no secret decrypts any of the first.
    """
    parts = [_short_header_packet(datagram) for datagram in datagrams]
    probes = [*itertools.islice(filter(None, parts), PROBES)]
    for secret, cipher in itertools.product(known, CIPHERS):
        tried = _Direction(secret, cipher, id_bytes)
        if any(tried.packet(probe).number >= 0 for probe in probes):
            direction = _Direction(secret, cipher, id_bytes)
            read = map(direction.packet, parts)
            sizes = map(len, datagrams)
            return [replace(packet, size=size) for packet, size in zip(read, sizes, strict=True)]
    return None


class _Direction:
    """One direction of a connection, with its keys and the largest packet number so far."""

    def __init__(
        self, secret: bytes, cipher: type[AESGCM | ChaCha20Poly1305], id_bytes: int
    ) -> None:
        self._cipher, self._id_bytes, self._secret = cipher, id_bytes, secret
        self._hash = (
            hashes.SHA384() if len(secret) == hashes.SHA384.digest_size else hashes.SHA256()
        )
        is_short = cipher is AESGCM and isinstance(self._hash, hashes.SHA256)
        self._key_bytes = 16 if is_short else 32
        self._protection = self._expanded(b"quic hp", self._key_bytes)
        block = Cipher(algorithms.AES(self._protection), modes.ECB())  # noqa: S305 - RFC 9001
        self._block = block.encryptor()
        self._phase, self._largest = 0, -1
        self._set_keys(secret)

    def _expanded(self, label: bytes, length: int) -> bytes:
        label = b"tls13 " + label
        info = length.to_bytes(2, "big") + bytes([len(label)]) + label + b"\x00"
        return HKDFExpand(self._hash, length, info).derive(self._secret)

    def _set_keys(self, secret: bytes) -> None:
        self._secret = secret
        self._aead = self._cipher(self._expanded(b"quic key", self._key_bytes))
        self._iv = int.from_bytes(self._expanded(b"quic iv", 12), "big")

    def packet(self, protected: bytes) -> Packet:
        """Return a 1-RTT packet, without number if it is not decrypted; its size stays open."""
        try:
            number, payload = self._opened(protected)
            read = Packet(0, number, 0)
            _take_frames(read, payload)
        except (InvalidTag, IndexError, ValueError):
            return Packet(0, -1, 0)
        self._largest = max(self._largest, number)
        return read

    def _opened(self, packet: bytes) -> tuple[int, bytes]:
        place = 1 + self._id_bytes
        sample = packet[place + MAX_NUMBER_BYTES :][:SAMPLE_BYTES]
        if len(sample) < SAMPLE_BYTES:
            raise IndexError
        mask = self._mask(sample)
        first = packet[0] ^ (mask[0] & 0x1F)
        size = (first & 3) + 1
        truncated = bytes(
            a ^ b for a, b in zip(packet[place : place + size], mask[1:], strict=False)
        )
        number = self._whole(int.from_bytes(truncated, "big"), 8 * size)
        header = bytes([first]) + packet[1:place] + truncated
        nonce = (self._iv ^ number).to_bytes(12, "big")
        if first & PHASE == self._phase:
            return number, self._aead.decrypt(nonce, packet[place + size :], header)
        return number, self._updated(number, packet[place + size :], header)

    def _updated(self, number: int, text: bytes, header: bytes) -> bytes:
        """Decrypt a packet of the next key phase, and keep its keys if they fit (RFC 9001, 6)."""
        before = self._secret
        self._set_keys(self._expanded(b"quic ku", self._hash.digest_size))
        try:
            opened = self._aead.decrypt((self._iv ^ number).to_bytes(12, "big"), text, header)
        except InvalidTag:
            self._set_keys(before)
            raise
        self._phase ^= PHASE
        return opened

    def _mask(self, sample: bytes) -> bytes:
        if self._cipher is AESGCM:
            return self._block.update(sample)
        stream = Cipher(algorithms.ChaCha20(self._protection, sample), None)
        return stream.encryptor().update(bytes(5))

    def _whole(self, truncated: int, bits: int) -> int:
        """Return the packet number nearest to the expected one (RFC 9000, A.3)."""
        expected, window = self._largest + 1, 1 << bits
        number = expected & ~(window - 1) | truncated
        if number <= expected - window // 2:
            return number + window
        return number - window if number > expected + window // 2 and number >= window else number


def _short_header_packet(datagram: bytes) -> bytes:
    """Return the packet of a datagram that has a short header, or nothing (RFC 9000, 12.2)."""
    place = 0
    try:
        while place < len(datagram) and datagram[place] & LONG:
            kind = (datagram[place] & 0x30) >> 4
            if kind == RETRY:
                return b""
            at = place + 5
            for _ in range(2):
                at += 1 + datagram[at]
            if kind == INITIAL:
                token, at = _integer(datagram, at)
                at += token
            length, at = _integer(datagram, at)
            place = at + length
    except IndexError:
        return b""
    return datagram[place:]


def _integer(data: bytes, place: int) -> tuple[int, int]:
    """Return an integer of variable length and the place behind it (RFC 9000, 16)."""
    size = 1 << (data[place] >> 6)
    if place + size > len(data):
        raise IndexError
    value = int.from_bytes(data[place : place + size], "big")
    return value & ((1 << (8 * size - 2)) - 1), place + size


def _take_frames(packet: Packet, data: bytes) -> None:
    """Read the frames of a packet, up to the first of an unknown type."""
    place = 0
    while place < len(data):
        kind, place = _integer(data, place)
        if 0x08 <= kind <= 0x0F:
            stream, place = _integer(data, place)
            offset, place = _integer(data, place) if kind & 4 else (0, place)
            length, place = _integer(data, place) if kind & 2 else (len(data) - place, place)
            packet.ends[stream] = max(packet.ends.get(stream, 0), offset + length)
            place += length
        elif kind in (MAX_DATA, MAX_STREAM_DATA):
            stream, place = _integer(data, place) if kind == MAX_STREAM_DATA else (-1, place)
            packet.limits[stream], place = _integer(data, place)
        elif kind in BLOCKED:
            name, count = BLOCKED[kind]
            place = _behind_integers(data, place, count)
            packet.blocked.append(name)
        else:
            following = _behind(kind, data, place)
            if following is None:
                return
            place = following


def _behind(kind: int, data: bytes, place: int) -> int | None:
    """Return the place behind a frame that says nothing of windows; None for an unknown type."""
    if kind in (0x02, 0x03):
        ranges, _ = _integer(data, _behind_integers(data, place, 2))
        return _behind_integers(data, place, 4 + 2 * ranges + (3 if kind == 0x03 else 0))
    if kind in (0x06, 0x07):
        length, place = _integer(data, place if kind == 0x07 else _integer(data, place)[1])
        return place + length
    if kind == 0x18:
        place = _behind_integers(data, place, 2)
        return place + 1 + data[place] + 16
    if kind in (0x1A, 0x1B):
        return place + 8
    return _behind_integers(data, place, _INTEGERS[kind]) if kind in _INTEGERS else None


def _behind_integers(data: bytes, place: int, count: int) -> int:
    for _ in range(count):
        _, place = _integer(data, place)
    return place
