"""Certificates of guests are the same for every user; those of other trials are secret.

The key log of a trial: what its programs wrote, as far as it is a key log.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509

from httpbed.base.clock import GUEST_STARTS
from httpbed.experiment.kept import KEYS
from httpbed.programs.protocol import AUTHORITY, CERTIFICATE, certificate_file
from httpbed.trial import key_log, tls_certificates

ORIGINS = ("a.example.org", "b.example.org")
NOW = datetime(2026, 11, 23, tzinfo=UTC)


@pytest.fixture
def caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, bytes]]:
    """Make the certificates of guests for two users, each with a cache."""
    made = []
    for user in ("one", "another"):
        monkeypatch.setenv("HTTPBED_CACHE", str(tmp_path / user))
        made.append(contents(tls_certificates.ensure_for_guests(ORIGINS)))
    return made


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def certificates(files: dict[str, bytes]) -> list[x509.Certificate]:
    names = (CERTIFICATE, *map(certificate_file, ORIGINS))
    return [x509.load_pem_x509_certificate(files[name]) for name in names]


def test_every_user_has_the_same_certificates_in_guests(caches: list[dict[str, bytes]]) -> None:
    """Keys, serial numbers and signatures follow from constants."""
    one, another = caches
    assert one == another


def test_the_authority_of_guests_signed_the_certificates(caches: list[dict[str, bytes]]) -> None:
    """Each has its own serial number, and is valid when a guest starts."""
    authority = x509.load_pem_x509_certificate(caches[0][AUTHORITY])
    found = certificates(caches[0])
    for one in found:
        one.verify_directly_issued_by(authority)
        assert one.not_valid_before_utc < GUEST_STARTS < one.not_valid_after_utc
    assert len({one.serial_number for one in (authority, *found)}) == 1 + len(found)


def test_certificates_by_the_real_clock_are_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caches: list[dict[str, bytes]]
) -> None:
    """Two users share no key with each other, nor with guests."""
    keys = {one["server.key"] for one in caches}
    for user in ("one", "another"):
        monkeypatch.setenv("HTTPBED_CACHE", str(tmp_path / user))
        keys.add(contents(tls_certificates.ensure(NOW))["server.key"])
    assert len(keys) == 3


RANDOM = "5d" * 32
CLIENT, SERVER = (f"{one}_TRAFFIC_SECRET_0 {RANDOM} {'a7' * 48}" for one in ("CLIENT", "SERVER"))


def wrote(artifacts: Path, part: str, content: str | bytes) -> None:
    """Write a program's key log."""
    (artifacts / part).mkdir(exist_ok=True)
    file = artifacts / part / KEYS
    file.write_bytes(content if isinstance(content, bytes) else content.encode())


def gathered(artifacts: Path, *parts: str) -> list[str]:
    """Return the lines of the trial's key log; none without a file."""
    key_log.gather(artifacts, parts)
    file = artifacts / KEYS
    return file.read_text().splitlines() if file.exists() else []


def test_each_secret_stands_once(tmp_path: Path) -> None:
    """Both ends of a connection write the same ones."""
    wrote(tmp_path, "client", f"{CLIENT}\n{SERVER}\n")
    wrote(tmp_path, "proxy", f"{SERVER}\n{CLIENT.replace('5d', '6e')}\n")
    found = gathered(tmp_path, "client", "proxy", "server")
    assert found == [CLIENT, SERVER, CLIENT.replace("5d", "6e")]


def test_only_secrets_are_taken_over(tmp_path: Path) -> None:
    """Comments, incomplete lines, terminal sequences and binary data are left out."""
    lines = ["# a comment", CLIENT, "\x1b[2J", SERVER[:-70], f"{SERVER} and more", f"x{SERVER}"]
    wrote(tmp_path, "client", "\n".join(lines).encode() + b"\xff\x00\n")
    assert gathered(tmp_path, "client") == [CLIENT]


def test_programs_without_secrets_leave_no_file(tmp_path: Path) -> None:
    """An empty file would look like a key log."""
    wrote(tmp_path, "client", "")
    assert gathered(tmp_path, "client", "server") == []
    assert not (tmp_path / KEYS).exists()


def test_a_link_a_pipe_and_an_endless_file_are_not_read(tmp_path: Path) -> None:
    """A program may leave anything under the name."""
    secret = tmp_path / "secret"
    secret.write_text(CLIENT)
    for part in ("link", "pipe", "long"):
        (tmp_path / part).mkdir()
    (tmp_path / "link" / KEYS).symlink_to(secret)
    os.mkfifo(tmp_path / "pipe" / KEYS)
    with (tmp_path / "long" / KEYS).open("wb") as file:
        file.truncate(key_log.MOST_BYTES + 1)
    assert gathered(tmp_path, "link", "pipe", "long") == []
