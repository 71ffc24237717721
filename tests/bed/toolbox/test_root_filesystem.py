"""A root filesystem is always complete, and is built once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from families import living, until
from httpbed.base import folders
from httpbed.base.errors import HostError
from httpbed.bed.toolbox import debian, root_filesystem
from httpbed.bed.toolbox.root_filesystem import Contents

FAKE = """
root="${@: -1}"
mkdir -p "$root/etc" "$root/dev" "$root/tmp" "$root/usr/bin"
touch "$root/usr/bin/dash"
printf 'curl 8.23.0-1 c0ffee\\nlibc6 2.43-7 decade\\n' >"$HTTPBED_VERSIONS"
echo built >>"$FAKE_LOG"
"""
"""What mmdebstrap leaves behind, without an archive."""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The fake's log, one line per build, and a temporary cache."""
    monkeypatch.setenv("HTTPBED_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "log"))
    return tmp_path / "log"


def pretend(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Replace mmdebstrap by a bash script."""
    monkeypatch.setattr(debian, "mmdebstrap", lambda _: ["bash", "-c", script, "fake"])


def holding(suite: str, *packages: str, pypi: str = "") -> Contents:
    return Contents(suite, frozenset(packages), frozenset(pypi.split()))


def quiet(_: str) -> None:
    """Discard progress."""


def test_a_root_is_built_once_and_found_again(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second request builds nothing, whatever the order of the packages."""
    pretend(monkeypatch, FAKE)
    assert root_filesystem.find(holding("sid", "curl", "nginx")) is None
    built = root_filesystem.ensure(holding("sid", "curl", "nginx"), say=quiet)
    assert root_filesystem.ensure(holding("sid", "nginx", "curl"), say=quiet) == built
    assert root_filesystem.find_all() == [built]
    assert built.versions == {"curl": "8.23.0-1", "libc6": "2.43-7"}
    assert built.digests == {"curl": "c0ffee", "libc6": "decade"}
    assert log.read_text().split() == ["built"]


def test_a_root_has_users_groups_a_shell_and_device_nodes(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Packages' scripts, which would have made them, do not run."""
    del log
    pretend(monkeypatch, FAKE)
    root = root_filesystem.ensure(holding("sid", "curl"), say=quiet).path
    assert (root / "etc/passwd").read_text().startswith("root:x:0:0:")
    assert "nogroup" in (root / "etc/group").read_text()
    assert (root / "usr/bin/sh").readlink() == Path("dash")
    assert (root / "dev/null").is_file()
    assert (root / "tmp").stat().st_mode & 0o7777 == 0o1777


def test_other_packages_make_another_root(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Roots never change; they exist side by side until removed."""
    pretend(monkeypatch, FAKE)
    first = root_filesystem.ensure(holding("sid", "curl"), say=quiet)
    second = root_filesystem.ensure(holding("trixie", "curl"), say=quiet)
    assert first.path != second.path
    assert len(log.read_text().split()) == 2
    root_filesystem.remove(first)
    assert root_filesystem.find_all() == [second]


def test_a_failed_build_reports_the_reason_and_keeps_its_log(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message of the archive is reported; no partial root remains."""
    del log
    pretend(monkeypatch, 'mkdir "${@: -1}"; echo "E: Unable to locate package nginx"; exit 25')
    with pytest.raises(HostError, match="Unable to locate package nginx") as raised:
        root_filesystem.ensure(holding("sid", "nginx"), say=quiet)
    (kept,) = (folders.cache() / "toolbox").glob("*.log")
    assert str(kept) in raised.value.remedy
    assert root_filesystem.find_all() == []
    assert not list((folders.cache() / "toolbox").glob(".*.partial"))


def test_a_killed_build_leaves_no_process_and_the_next_build_succeeds(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SIGKILL to the builder ends all processes of mmdebstrap; its partial folder is cleared."""
    word = str(uuid.uuid4().int)[:12]
    hang = f'mkdir -p "${{@: -1}}/half"; sleep 1000.{word} & sleep 1000.{word}'
    script = (
        "import sys; from httpbed.bed.toolbox import debian, root_filesystem as roots;"
        " debian.mmdebstrap = lambda _: ['bash', '-c', sys.argv[1], 'fake'];"
        " roots.ensure(roots.Contents('sid', frozenset({'curl'})), say=print)"
    )
    with subprocess.Popen([sys.executable, "-c", script, hang]) as builder:
        until(lambda: len(living(f"1000.{word}")) >= 3)
        os.kill(builder.pid, signal.SIGKILL)
        until(lambda: not living(f".{word}"))
    assert root_filesystem.find(holding("sid", "curl")) is None
    pretend(monkeypatch, FAKE)
    root = root_filesystem.ensure(holding("sid", "curl"), say=quiet)
    assert not (root.path / "half").exists()
    assert log.read_text().split() == ["built"]


def test_builders_of_one_root_wait_for_the_first(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three simultaneous requests build once."""
    del monkeypatch
    script = (
        "import sys; from httpbed.bed.toolbox import debian, root_filesystem as roots;"
        " debian.mmdebstrap = lambda _: ['bash', '-c', 'sleep 0.3;' + sys.argv[1], 'fake'];"
        " roots.ensure(roots.Contents('sid', frozenset({'curl'})), say=lambda _: None)"
    )
    several = [subprocess.Popen([sys.executable, "-c", script, FAKE]) for _ in range(3)]
    assert [process.wait() for process in several] == [0, 0, 0]
    assert log.read_text().split() == ["built"]


def test_a_root_with_unwritable_folders_is_removed(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A package may contain a folder that its owner cannot write to."""
    del log
    pretend(monkeypatch, FAKE + 'mkdir -m 0555 "$root/closed" && mkdir -m 0 "$root/shut"')
    root = root_filesystem.ensure(holding("sid", "curl"), say=quiet)
    root_filesystem.remove(root)
    assert not root.path.exists()


@pytest.mark.slow
@pytest.mark.toolbox
def test_programs_of_a_real_root_are_identified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Built from the archive: base packages, their versions, and ip with all of them."""
    monkeypatch.setenv("HTTPBED_CACHE", str(tmp_path))
    root = root_filesystem.ensure(root_filesystem.TOOLS, say=quiet)
    assert {*root_filesystem.BASE, *root_filesystem.TOOLS.packages} <= set(root.versions)
    assert root.digests.keys() == root.versions.keys()
    assert all(len(digest) == 64 for digest in root.digests.values())
    program = root_filesystem.program_identity(root, "ip")
    assert program.path == "/usr/bin/ip"
    assert program.packages.keys() == root.versions.keys()
    libc = f"{root.versions['libc6']} {root.digests['libc6']}"
    assert program.packages["libc6"] == libc
    assert program.libraries == {}
    argv = root_filesystem.tool_command(root, "ip")
    assert argv
    done = subprocess.run([*argv, "-json", "link"], check=True, capture_output=True)
    assert json.loads(done.stdout)
    root_filesystem.remove(root)
