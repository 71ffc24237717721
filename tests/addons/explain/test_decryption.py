from __future__ import annotations

from dataclasses import dataclass

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from hypothesis import given
from hypothesis import strategies as st

from httpbed.addons.explain import decryption
from httpbed.addons.explain.qlog_trace import Packet
from httpbed.experiment.workload import Sender

SECRET = bytes(range(32))
ID = b"\x05" * 8
ACK = bytes([0x02, 0x40, 0x64, 0x00, 0x01, 0x02, 0x00, 0x03])
STREAM = bytes([0x0E, 0x00, 0x80, 0x00, 0x10, 0x00, 0x05]) + b"hello"
MAX_DATA = bytes([0x10, 0x80, 0x01, 0x00, 0x00])
MAX_STREAM_DATA = bytes([0x11, 0x04, 0x80, 0x02, 0x00, 0x00])
NEW_ID = bytes([0x18, 0x01, 0x00, 0x08]) + ID + bytes(16)
BLOCKED = bytes([0x15, 0x00, 0x40, 0x64, 0x14, 0x40, 0x64, 0x16, 0x01])
PADDING = bytes(30)


def expanded(secret: bytes, label: bytes, length: int) -> bytes:
    info = length.to_bytes(2, "big") + bytes([len(label) + 6]) + b"tls13 " + label + b"\x00"
    return HKDFExpand(hashes.SHA256(), length, info).derive(secret)


@dataclass
class Sealer:
    """Encrypts packets as RFC 9001 says, with AES-128-GCM."""

    secret: bytes = SECRET
    phase: int = 0

    def sealed(self, number: int, frames: bytes) -> bytes:
        key = expanded(self.secret, b"quic key", 16)
        iv = int.from_bytes(expanded(self.secret, b"quic iv", 12), "big")
        first, low = 0x41 | self.phase, (number & 0xFFFF).to_bytes(2, "big")
        text = AESGCM(key).encrypt(
            (iv ^ number).to_bytes(12, "big"), frames, bytes([first]) + ID + low
        )
        protection = algorithms.AES(expanded(SECRET, b"quic hp", 16))
        mask = Cipher(protection, modes.ECB()).encryptor().update(text[2:18])  # noqa: S305
        hidden = bytes(a ^ b for a, b in zip(low, mask[1:3], strict=True))
        return bytes([first ^ mask[0] & 0x1F]) + ID + hidden + text

    def updated(self) -> Sealer:
        return Sealer(expanded(self.secret, b"quic ku", 32), self.phase ^ 0x04)


def read(*datagrams: bytes) -> list[Packet]:
    found = decryption.packets(datagrams, [bytes(32), SECRET], len(ID))
    assert found is not None
    return found


def test_frames_of_flow_control_are_read_between_others() -> None:
    frames = ACK + NEW_ID + MAX_DATA + MAX_STREAM_DATA + STREAM + PADDING
    (packet,) = read(Sealer().sealed(7, frames))
    assert packet.number == 7
    assert packet.ends == {0: 4096 + 5}
    assert packet.limits == {-1: 65536, 4: 131072}


def test_what_a_sender_says_that_is_blocked_is_read() -> None:
    (packet,) = read(Sealer().sealed(7, BLOCKED + STREAM + PADDING))
    assert packet.blocked == ["STREAM_DATA_BLOCKED", "DATA_BLOCKED", "STREAMS_BLOCKED"]
    assert packet.ends == {0: 4096 + 5}


def test_a_connection_is_found_behind_datagrams_of_others() -> None:
    noise = [bytes([0x41]) + bytes([number] * 60) for number in range(10)]
    others = [bytes([number] * 32) for number in range(1, 50)]
    sealed = [Sealer().sealed(number, STREAM + PADDING) for number in range(40)]
    found = decryption.packets([*noise, *sealed], [*others, SECRET], len(ID))
    assert found is not None
    assert [packet.number for packet in found] == [-1] * 10 + [*range(40)]
    assert [packet.size for packet in found] == [len(one) for one in (*noise, *sealed)]


def test_numbers_go_on_beyond_what_a_packet_has_of_them() -> None:
    numbers = [0, 30_000, 60_000, 70_000, 69_999]
    sealed = [Sealer().sealed(number, STREAM + PADDING) for number in numbers]
    assert [packet.number for packet in read(*sealed)] == numbers


def test_keys_are_updated() -> None:
    first, second = Sealer(), Sealer().updated()
    sealed = [first.sealed(1, STREAM + PADDING), second.sealed(2, STREAM + PADDING)]
    sealed.append(second.updated().sealed(3, MAX_DATA + PADDING))
    assert [packet.number for packet in read(*sealed)] == [1, 2, 3]


def test_a_packet_behind_a_long_header_is_read() -> None:
    handshake = bytes([0xE0, 0, 0, 0, 1, 8]) + ID + bytes([8]) + ID + bytes([0x40, 20]) + bytes(20)
    (packet,) = read(handshake + Sealer().sealed(1, STREAM + PADDING))
    assert packet.number == 1
    assert decryption.connection_id_bytes([handshake]) == len(ID)


def test_another_connection_is_not_read() -> None:
    sealed = Sealer(bytes([1] * 32)).sealed(1, STREAM + PADDING)
    assert decryption.packets([sealed], [SECRET], len(ID)) is None


@given(st.binary(max_size=120))
def test_any_frames_end(frames: bytes) -> None:
    (packet, _) = read(Sealer().sealed(1, frames + PADDING), Sealer().sealed(2, STREAM + PADDING))
    assert packet.number in {1, -1}


@given(st.binary(max_size=120))
def test_any_datagram_is_a_packet_or_none(datagram: bytes) -> None:
    noise, packet = read(datagram, Sealer().sealed(2, STREAM + PADDING))
    assert (noise.number, packet.number) == (-1, 2)


@pytest.mark.parametrize("end", ["client", "server"])
def test_secrets_are_those_of_an_end(end: Sender) -> None:
    names = ("CLIENT", "SERVER")
    lines = [f"{name}_TRAFFIC_SECRET_0 {'0' * 64} {name[0].encode().hex() * 32}" for name in names]
    lines.insert(1, f"CLIENT_HANDSHAKE_TRAFFIC_SECRET {'0' * 64} {'1' * 64}")
    assert decryption.secrets("\n".join(lines), end) == [end[0].upper().encode() * 32]
