"""Certificates of guests are the same for every user; those of other trials are secret."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509

from httpbed.base.clock import GUEST_STARTS
from httpbed.programs.part import AUTHORITY, CERTIFICATE, certificate_file
from httpbed.trial import tls_certificates
from modes import is_readable_by_all, private_mask

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
    """Return the files of a folder by name."""
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def certificates(files: dict[str, bytes]) -> list[x509.Certificate]:
    """Return the certificates of the servers."""
    names = (CERTIFICATE, *map(certificate_file, ORIGINS))
    return [x509.load_pem_x509_certificate(files[name]) for name in names]


def test_every_user_has_the_same_certificates_in_guests(caches: list[dict[str, bytes]]) -> None:
    """Keys, serial numbers and signatures follow from constants."""
    one, another = caches
    assert one == another


def test_programs_read_the_certificates_of_a_user_with_a_private_mask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They run as another user."""
    monkeypatch.setenv("HTTPBED_CACHE", str(tmp_path))
    with private_mask():
        folder = tls_certificates.ensure_for_guests(ORIGINS)
    assert is_readable_by_all(folder)


def test_the_authority_of_guests_signed_the_certificates(caches: list[dict[str, bytes]]) -> None:
    """Each has its own serial number, and is valid when a guest starts."""
    authority = x509.load_pem_x509_certificate(caches[0][AUTHORITY])
    found = certificates(caches[0])
    for certificate in found:
        certificate.verify_directly_issued_by(authority)
        assert certificate.not_valid_before_utc < GUEST_STARTS < certificate.not_valid_after_utc
    assert len({certificate.serial_number for certificate in (authority, *found)}) == 1 + len(found)


def test_certificates_by_the_real_clock_are_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caches: list[dict[str, bytes]]
) -> None:
    """Two users share no key with each other, nor with guests."""
    keys = {cache["server.key"] for cache in caches}
    for user in ("one", "another"):
        monkeypatch.setenv("HTTPBED_CACHE", str(tmp_path / user))
        keys.add(contents(tls_certificates.ensure(NOW))["server.key"])
    assert len(keys) == 3
