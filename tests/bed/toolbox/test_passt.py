"""pasta is this machine's, or is unpacked into the cache once."""

from __future__ import annotations

from pathlib import Path

import pytest

from httpbed.base.errors import HostError
from httpbed.bed.toolbox import debian


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without pasta; the folder for its programs."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("HTTPBED_CACHE", str(tmp_path / "cache"))
    (tmp_path / "bin").mkdir()
    return tmp_path / "bin"


def test_the_package_is_unpacked_once(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second request finds it in the cache."""
    unpacked, said = list[tuple[str, ...]](), list[str]()

    def unpack(packages: tuple[str, ...], target: Path) -> None:
        unpacked.append(packages)
        (target / "usr/bin").mkdir(parents=True)
        (target / "usr/bin/pasta").touch(0o755)

    monkeypatch.setattr(debian, "unpack", unpack)
    assert debian.find_pasta() is None
    first = debian.ensure_pasta(said.append)
    assert (debian.ensure_pasta(said.append), debian.find_pasta()) == (first, first)
    assert (unpacked, len(said)) == ([("passt",)], 1)
    assert bare.parent / "cache" in first.parents


def test_an_installed_one_is_preferred(bare: Path) -> None:
    """It has this machine's AppArmor profile and security updates."""
    (bare / "pasta").touch(0o755)
    assert debian.ensure_pasta(pytest.fail) == bare / "pasta"


def test_a_failed_download_leaves_nothing(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next request tries again, and the message has a remedy."""

    def refuse(folder: Path, words: list[str]) -> str:
        del folder, words
        return "Unable to locate package passt"

    monkeypatch.setattr(debian, "_apt_get", refuse)
    for _ in range(2):
        with pytest.raises(HostError, match="Unable to locate package passt") as caught:
            debian.ensure_pasta(lambda _: None)
        assert "install passt" in caught.value.remedy
    assert list((bare.parent / "cache").iterdir()) == []


def test_pasta_and_its_device_are_tried(tmp_path: Path) -> None:
    """Each fault has its remedy."""
    for name, script in {"works": "exit 0", "fails": "echo no libc >&2; exit 127"}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    device = tmp_path / "tun"
    device.touch()
    assert debian.pasta_fault(tmp_path / "works", device) is None
    for broken, reason in ((tmp_path / "fails", "exit status 127"), (tmp_path / "gone", "No such")):
        why, remedy = debian.pasta_fault(broken, device) or ("", "")
        assert why.startswith(f"{broken}: {reason}")
        assert "apt install passt" in remedy
    why, remedy = debian.pasta_fault(tmp_path / "works", tmp_path / "none") or ("", "")
    assert why == f"{tmp_path}/none: No such file or directory"
    assert "modprobe tun" in remedy
