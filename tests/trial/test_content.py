"""The files that are fetched: a function of seed and size, made once, noticed when damaged."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from httpbed.trial import content
from recorded import SERVED


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPBED_CACHE", str(tmp_path))


def test_the_content_is_a_function_of_seed_and_size() -> None:
    """To the byte: the recorded trials were served the same file."""
    made = content.ensure(20261121, SERVED.size)
    assert (made.size, made.sha256) == (SERVED.size, SERVED.sha256)
    assert hashlib.sha256(made.path.read_bytes()).hexdigest() == made.sha256
    assert content.ensure(1, SERVED.size).sha256 != made.sha256


@pytest.mark.parametrize("size", [0, 1, 2**20 - 1, 2**20, 2**20 + 1])
def test_the_content_has_its_length(size: int) -> None:
    """Also around the chunks in which it is made; and every byte is text."""
    made = content.ensure(1, size)
    assert made.path.stat().st_size == size
    assert made.path.read_bytes().isascii()


def test_a_file_is_made_once() -> None:
    """The second trial finds it."""
    first = content.ensure(1, 1000)
    before = first.path.stat().st_mtime_ns
    assert content.ensure(1, 1000) == first
    assert first.path.stat().st_mtime_ns == before


def test_a_short_file_is_made_anew() -> None:
    """A disk may have been full."""
    first = content.ensure(1, 1000)
    first.path.write_bytes(first.path.read_bytes()[:500])
    assert content.ensure(1, 1000) == first
    assert first.path.stat().st_size == 1000


def test_a_changed_file_keeps_the_digest_of_what_it_was() -> None:
    """So each trial that serves it fails its check, and none believes it."""
    first = content.ensure(1, 1000)
    first.path.write_bytes(b"x" * 1000)
    assert content.ensure(1, 1000).sha256 == first.sha256
