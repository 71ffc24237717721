"""Certificates of a cluster: who can read them, and which are refused."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from httpbed.addons.cluster import certificates
from httpbed.addons.cluster.certificates import CERTIFICATE, KEY, VALID
from httpbed.base.errors import ConfigError, HostError
from httpbed.programs.part import AUTHORITY

NOW = datetime(2026, 11, 24, tzinfo=UTC)


@pytest.fixture
def made(tmp_path: Path) -> Path:
    certificates.make(tmp_path / "above/cluster", NOW)
    return tmp_path / "above/cluster"


def test_new_certificates_are_their_owners_alone_and_valid(made: Path) -> None:
    """Whatever the file mode mask says; the authority's key is not among them."""
    certificates.require(made, NOW)
    assert {path.name for path in made.iterdir()} == {AUTHORITY, CERTIFICATE, KEY}
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in made.iterdir()} == {0o600}
    assert (made / AUTHORITY).read_bytes() != (made / CERTIFICATE).read_bytes()


def test_nothing_is_overwritten(made: Path, tmp_path: Path) -> None:
    """Neither a folder, nor what a link leads to; only a key is called one to remove."""
    before = (made / KEY).read_bytes()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    for name, place in (
        ("above/cluster", "above/cluster"),
        ("link", "link"),
        ("file", "file"),
        ("folder", "folder"),
        ("file/cluster", "file"),
    ):
        with pytest.raises(ConfigError) as refused:
            certificates.make(tmp_path / name, NOW)
        (mistake,) = refused.value.mistakes
        assert mistake.place == str(tmp_path / place)
        assert ("remove" in mistake.remedy) is (name == "above/cluster")
        assert "--certificates" in mistake.remedy
    assert (made / KEY).read_bytes() == before
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda one: (one / KEY).chmod(0o640), "other users can read"),
        (lambda one: (one / AUTHORITY).chmod(0o666), "other users can change"),
        (lambda one: one.chmod(0o777), "other users can change"),
        (lambda one: (one / KEY).unlink(), "cannot be read: No such file"),
        (lambda one: _replaced(one / KEY, Path.mkdir), "cannot be read"),
        (lambda one: _replaced(one / KEY, lambda path: os.mkfifo(path, 0o600)), "no plain file"),
        (lambda one: (one / KEY).write_text("-----BEGIN"), "cannot be read"),
        (lambda one: (one / AUTHORITY).write_bytes(b"\0" * 10**6), "cannot be read"),
        (lambda one: _of_another(one, AUTHORITY), "another authority signed it"),
        (lambda one: _of_another(one, KEY), "the key is of another certificate"),
        (lambda one: _of_another(one, CERTIFICATE), "the key is of another certificate"),
    ],
)
def test_certificates_that_prove_nothing_are_refused(
    made: Path, spoil: Callable[[Path], None], reason: str
) -> None:
    """With what is wrong, and a way out."""
    spoil(made)
    with pytest.raises(HostError, match=reason) as refused:
        certificates.require(made, NOW)
    assert refused.value.remedy


def _replaced(path: Path, make: Callable[[Path], None]) -> None:
    path.unlink()
    make(path)


def _of_another(made: Path, name: str) -> None:
    certificates.make(made.parent / "other", NOW)
    (made / name).write_bytes((made.parent / "other" / name).read_bytes())


@pytest.mark.parametrize(
    ("when", "reason"),
    [
        (NOW + VALID + timedelta(days=1), "it expired on"),
        (NOW - timedelta(days=2), "is valid from"),
    ],
)
def test_a_certificate_has_its_time(made: Path, when: datetime, reason: str) -> None:
    """A year from the day before it was made."""
    with pytest.raises(HostError, match=reason):
        certificates.require(made, when)


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files to another user")
def test_the_files_of_another_user_are_refused(made: Path) -> None:
    """He would have the key, or choose the authority."""
    for path in (made / KEY, made / AUTHORITY, made):
        os.chown(path, 65534, 65534)
        with pytest.raises(HostError, match="belongs to another user"):
            certificates.require(made, NOW)
        os.chown(path, 0, 0)


def test_links_to_protected_files_are_followed(made: Path) -> None:
    """Kubernetes mounts secrets so."""
    (made / "..data").mkdir()
    for name in (AUTHORITY, CERTIFICATE, KEY):
        (made / name).rename(made / "..data" / name)
        (made / name).symlink_to(Path("..data") / name)
    certificates.require(made, NOW)
    (made / "..data" / KEY).chmod(0o644)
    with pytest.raises(HostError, match="other users can read"):
        certificates.require(made, NOW)
