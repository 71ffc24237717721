"""Files of the Python index are accepted by SHA-256; here a folder serves as the index."""

from __future__ import annotations

import base64
import hashlib
import sys
import zipfile
from pathlib import Path

import pytest

from httpbed.base.errors import HostError
from httpbed.bed.toolbox import debian, pypi, root_filesystem
from httpbed.bed.toolbox.root_filesystem import Contents

FAKE = 'root="${@: -1}"; mkdir -p "$root"/{etc,dev,tmp,usr/bin}; : >"$HTTPBED_VERSIONS"'
"""What mmdebstrap leaves behind, without an archive."""


def wheel(folder: Path, name: str, needs: str = "") -> str:
    """Write a wheel with one module; return its SHA-256."""
    files = {
        f"{name}.py": "",
        f"{name}-1.0.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
        + (f"Requires-Dist: {needs}\n" if needs else ""),
        f"{name}-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: x\n"
        "Root-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = [
        f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
        f",{len(text)}"
        for path, text in files.items()
    ]
    file = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
        listed = f"{name}-1.0.dist-info/RECORD"
        archive.writestr(listed, "".join(f"{line}\n" for line in record) + f"{listed},,\n")
    return hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provide a folder that serves as index, and a temporary cache."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("UV_NO_INDEX", "1")
    monkeypatch.setenv("UV_FIND_LINKS", str(folder))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "installer"))
    monkeypatch.setenv("HTTPBED_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(debian, "mmdebstrap", lambda _: ["bash", "-c", FAKE, "fake"])
    return folder


def build(*lines: str) -> root_filesystem.Root:
    """Build a root filesystem with these packages of the index."""
    return root_filesystem.ensure(Contents("sid", pypi=frozenset(lines)), say=lambda _: None)


def test_a_file_with_the_digest_of_the_recipe_is_installed(index: Path) -> None:
    """Its dependencies are installed, too."""
    lines = [pypi.pinned(f"{name}==1.0", [wheel(index, name, needs)]) for name, needs in NEEDS]
    root = build(*lines)
    assert root.wheels == {"first": "1.0", "second": "1.0"}
    assert (root.path / "opt/pypi/second.py").exists()


NEEDS = (("first", "second"), ("second", ""))


def test_a_file_with_another_digest_is_rejected(index: Path) -> None:
    """The message names the package and the digest, and warns against installing it."""
    digest = wheel(index, "first")
    with pytest.raises(HostError) as raised:
        build(pypi.pinned("first==1.0", ["0" * 64]))
    assert "has another file of first==1.0 than the recipe names" in raised.value.reason
    assert digest in raised.value.reason
    assert "pip config list" in raised.value.remedy
    assert root_filesystem.find_all() == []


def test_dependencies_must_have_a_digest_too(index: Path) -> None:
    """The message names the dependency and what to add to the recipe."""
    wheel(index, "second")
    with pytest.raises(
        HostError, match="needs second, for which the recipe has no SHA-256"
    ) as raised:
        build(pypi.pinned("first==1.0", [wheel(index, "first", "second")]))
    assert "[install.pypi" in raised.value.remedy


def test_the_installer_requires_digests(tmp_path: Path) -> None:
    command, _ = pypi.command(tmp_path / "listed", tmp_path)
    assert "--require-hashes" in command


def test_no_module_of_the_current_folder_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder with a stranger's experiment may have a ``pip.py``."""
    (tmp_path / "pip.py").write_text("open('mark', 'w')")
    monkeypatch.chdir(tmp_path)
    pypi.settings_for_uv(sys.executable)
    assert not (tmp_path / "mark").exists()
