"""The files to fetch depend only on seed and size, and damage is detected."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from httpbed.trial import content
from httpbed.trial.content import ContentFile
from recorded import H2_LOSS, PROXIED, contents, trial


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPBED_CACHE", str(tmp_path))


def target(size: int, number: int = 1) -> ContentFile:
    return ContentFile("/", size, number)


@pytest.mark.parametrize("name", [H2_LOSS, PROXIED])
def test_the_content_is_a_function_of_seed_size_and_number(name: str) -> None:
    """The recorded trials served the same bytes."""
    made = content.ensure_all(trial(name).seed, [trial(name).scenario().workload])
    served = contents(name)
    assert {path: one.sha256 for path, one in made.items()} == {
        path: one.sha256 for path, one in served.items()
    }
    for path, one in made.items():
        assert one.size == served[path].size
        assert hashlib.sha256(one.path.read_bytes()).hexdigest() == one.sha256


def test_every_file_has_the_same_modification_time() -> None:
    """Also a file that an earlier version made, because servers send the time."""
    made = content.ensure(1, target(1000)).path
    then = made.stat().st_mtime
    made.touch()
    assert content.ensure(1, target(1000)).path.stat().st_mtime == then
    assert content.ensure(1, target(1001)).path.stat().st_mtime == then


@pytest.mark.parametrize("size", [0, 1, 10**6, 5 * 10**6])
def test_the_content_has_its_length_and_is_text(size: int) -> None:
    """Contents that are written in several parts have it, too."""
    made = content.ensure(1, target(size))
    assert made.path.stat().st_size == size
    assert made.path.read_bytes().isascii()


def test_a_file_is_made_once() -> None:
    """The second trial reuses it."""
    first = content.ensure(1, target(1000))
    before = first.path.stat().st_mtime_ns
    assert content.ensure(1, target(1000)) == first
    assert first.path.stat().st_mtime_ns == before


def test_a_damaged_file_is_made_anew() -> None:
    """Damage during a campaign fails the check of every trial that serves the file."""
    first = content.ensure(1, target(1000))
    first.path.write_bytes(b"x" * 1000)
    assert not first.is_whole()
    assert content.ensure(1, target(1000)) == first
    assert first.is_whole()
