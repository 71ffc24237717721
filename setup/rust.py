"""cargo: the machine's own, or one in a root filesystem.

If the machine's cargo is missing or too old, Debian's newest is unpacked into a root filesystem;
this needs no root rights. `.venv/bin/cargo` then runs it in a mount namespace whose /usr is that of
the root filesystem. Home, checkout, /tmp and certificates remain the machine's.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import progress
from httpbed.bed.toolbox import compiled, root_filesystem

SUITE = "sid"
PACKAGES = (
    *("cargo", "rustc", "rustfmt", "rust-clippy"),
    *("gcc", "libc6-dev"),
    *("dash", "coreutils", "util-linux", "mount"),  # called by build scripts and tests
    *("iproute2", "ethtool"),
)
_COMPANIONS = ("cargo-fmt", "cargo-clippy", "cc", "ip", "ethtool")
"""Other programs that checks, builds and tests call; the root filesystem has them, too."""


def ensure(checkout: Path) -> None:
    """Ensure that a suitable cargo is on the PATH, in .venv/bin if necessary."""
    wrapper = checkout / ".venv/bin/cargo"
    if _is_good(checkout, wrapper.parent):
        wrapper.unlink(missing_ok=True)
        return
    with progress.step("unpacking Rust, which this machine lacks", "2 min", silent_s=1.0):
        root = root_filesystem.ensure(
            root_filesystem.Contents(SUITE, frozenset(PACKAGES)), say=progress.say
        )
    text = compiled.cargo_script(root.path)
    if not wrapper.exists() or wrapper.read_text() != text:
        fresh = wrapper.with_name(".cargo")
        fresh.write_text(text)
        fresh.chmod(0o755)
        fresh.rename(wrapper)


def _is_good(checkout: Path, without: Path) -> bool:
    """Whether the machine's own cargo is complete and new enough for this workspace."""
    places = [place for place in os.environ["PATH"].split(":") if Path(place) != without]
    path = ":".join((*places, str(Path.home() / ".cargo/bin"), "/usr/sbin", "/sbin"))
    if not all(shutil.which(name, path=path) for name in ("cargo", *_COMPANIONS)):
        return False
    program = str(shutil.which("cargo", path=path))
    done = subprocess.run([program, "--version"], check=False, capture_output=True, text=True)
    workspace = tomllib.loads((checkout / "Cargo.toml").read_text())["workspace"]
    oldest = workspace["package"]["rust-version"]
    return _version(done.stdout) >= _version(oldest)


def _version(text: str) -> tuple[int, ...]:
    match = re.search(r"\d+(?:\.\d+)+", text)
    return tuple(map(int, match[0].split("."))) if match else ()
