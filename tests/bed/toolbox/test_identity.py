"""Programs of a root are found as in a chroot."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from httpbed.base.errors import HostError
from httpbed.bed.toolbox.root_filesystem import Root, program_identity


@pytest.fixture
def root(tmp_path: Path) -> Root:
    """A root with merged /usr, a script, and links of every kind."""
    (tmp_path / "usr/bin").mkdir(parents=True)
    (tmp_path / "etc/alternatives").mkdir(parents=True)
    (tmp_path / "bin").symlink_to("usr/bin")
    (tmp_path / "usr/bin/real").write_text("#!/bin/sh\n")
    (tmp_path / "usr/bin/real").chmod(0o755)
    (tmp_path / "etc/alternatives/tool").symlink_to("/bin/real")
    (tmp_path / "usr/bin/tool").symlink_to("/etc/alternatives/tool")
    (tmp_path / "usr/bin/loop").symlink_to("loop")
    (tmp_path / "usr/bin/escape").symlink_to("../../../../../../../bin/real")
    (tmp_path / "usr/bin/data").write_text("not executable")
    versions = {"tool": "3", "real": "1.2"}
    return Root("sid", tmp_path, frozenset(), versions, "", digests={"real": "0f0f"})


@pytest.mark.parametrize("name", ["real", "tool", "/bin/tool", "escape"])
def test_links_never_lead_out_of_the_root(root: Root, name: str) -> None:
    """Absolute links start at the root, and ``..`` stops there."""
    program = program_identity(root, name)
    assert program.path == "/usr/bin/real"
    assert program.sha256 == hashlib.sha256(b"#!/bin/sh\n").hexdigest()
    assert program.packages == {"real": "1.2 0f0f", "tool": "3"}


@pytest.mark.parametrize("name", ["missing", "loop", "data", "/usr/bin/missing"])
def test_a_program_that_cannot_run_is_rejected(root: Root, name: str) -> None:
    """The message names the program and the remedy."""
    with pytest.raises(HostError, match=r"install"):
        program_identity(root, name)
