"""Archives of attempts: what is packed comes back equal, and nothing else is written."""

from __future__ import annotations

import io
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

import stored_campaigns
from httpbed.addons.cluster import attempt_archive
from httpbed.addons.cluster.attempt_archive import UselessError
from httpbed.experiment.trial import Record


def leave(_: Record, artifacts: Path) -> None:
    """Write artifacts as programs do: folders, odd names, links that no digest covers."""
    (artifacts / "client").mkdir()
    (artifacts / "client" / "curl.json").write_text("{}")
    (artifacts / "client" / "odd \udcff % name").write_bytes(b"\x00\x01")
    (artifacts / "client" / "link").symlink_to("/etc/passwd")


@pytest.fixture
def attempt(tmp_path: Path) -> Path:
    record = stored_campaigns.record(stored_campaigns.loaded().trials[0])
    stored_campaigns.make(tmp_path / "far", [record], leave=leave)
    (folder,) = (tmp_path / "far/trials").glob("*/*/*")
    return folder


def packed(attempt: Path) -> io.BytesIO:
    archive = io.BytesIO()
    attempt_archive.pack(attempt, archive)
    archive.seek(0)
    return archive


def files(folder: Path) -> dict[str, bytes]:
    """Return the content of every regular file."""
    found = (one for one in folder.rglob("*") if one.is_file() and not one.is_symlink())
    return {str(one.relative_to(folder)): one.read_bytes() for one in found}


def test_an_unpacked_attempt_has_the_files_that_its_digests_cover(
    attempt: Path, tmp_path: Path
) -> None:
    """A link that a program made stays behind."""
    (tmp_path / "home").mkdir()
    attempt_archive.unpack(packed(attempt), tmp_path / "home")
    assert files(tmp_path / "home") == files(attempt)
    assert not any(one.is_symlink() for one in (tmp_path / "home").rglob("*"))


def test_a_sparse_file_is_refused(tmp_path: Path) -> None:
    """A few bytes of an archive would expand to any length."""
    with (tmp_path / "trial.json").open("wb") as file:
        file.truncate(1_000_000)
    archive = tmp_path / "sparse.tar"
    line = ["tar", "--sparse", "--create", "--file", str(archive), "-C", str(tmp_path)]
    subprocess.run([*line, "trial.json"], check=True)
    (tmp_path / "home").mkdir()
    with archive.open("rb") as source, pytest.raises(UselessError, match=r"begin with trial\.json"):
        attempt_archive.unpack(source, tmp_path / "home")


Change = Callable[[list[tuple[tarfile.TarInfo, bytes]]], None]


def changed(attempt: Path, change: Change) -> io.BytesIO:
    members = list[tuple[tarfile.TarInfo, bytes]]()
    with tarfile.open(fileobj=packed(attempt)) as tar:
        for one in tar:
            content = tar.extractfile(one)
            members.append((one, content.read() if content else b""))
    change(members)
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for one, text in members:
            tar.addfile(one, io.BytesIO(text))
    archive.seek(0)
    return archive


def outside(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    """Add a file outside of the folder."""
    members.append((tarfile.TarInfo("../outside"), b""))


def link(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    members[-1][0].type = tarfile.SYMTYPE
    members[-1][0].linkname = "/etc/passwd"


def longer(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    """Make an artifact longer than trial.json says."""
    one, content = members[-1]
    one.size = len(content) + 1
    members[-1] = (one, content + b"x")


def twice(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    members.append(members[-1])


def fewer(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    """Leave an artifact out."""
    members.pop()


def headless(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    """Leave trial.json out."""
    members.pop(0)


def nothing(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    """Leave everything out."""
    members.clear()


@pytest.mark.parametrize("change", [outside, link, longer, twice, fewer, headless, nothing])
def test_an_archive_with_other_files_than_trial_json_names_is_refused(
    attempt: Path, tmp_path: Path, change: Change
) -> None:
    """Nothing is written beside the folder."""
    home = tmp_path / "home"
    home.mkdir()
    before = sorted(tmp_path.iterdir())
    with pytest.raises(UselessError):
        attempt_archive.unpack(changed(attempt, change), home)
    assert sorted(tmp_path.iterdir()) == before


def test_bytes_that_are_no_archive_are_refused(tmp_path: Path) -> None:
    """The message says that the archive is damaged."""
    (tmp_path / "home").mkdir()
    with pytest.raises(UselessError, match="damaged"):
        attempt_archive.unpack(io.BytesIO(b"no archive" * 100), tmp_path / "home")
