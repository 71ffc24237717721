"""cargo: the machine's, or else one in a root filesystem of its own.

Where cargo is missing or too old, and the user may install nothing, Debian's newest is
unpacked into a root filesystem, as the programs under test are. `.venv/bin/cargo` then runs it
in a mount namespace in which that root's /usr stands in the place of the machine's. Everything
else (home, checkout, /tmp, certificates) is the machine's and keeps its name.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path

from httpbed.host.packages import cargo, toolbox

SUITE = "sid"
PACKAGES = (
    *("cargo", "rustc", "rustfmt", "rust-clippy"),
    *("gcc", "libc6-dev"),
    *("dash", "coreutils", "util-linux", "mount"),  # what build scripts and tests call
    *("iproute2", "ethtool"),
)
_COMPANIONS = ("cargo-fmt", "cargo-clippy", "cc", "ip", "ethtool")
"""What checks, builds and tests call beside cargo; the root has them too."""


def ensure(checkout: Path, say: Callable[[str], None]) -> None:
    """Have a cargo on the PATH that begins with .venv/bin."""
    wrapper = checkout / ".venv/bin/cargo"
    if _is_good(checkout, wrapper.parent):
        wrapper.unlink(missing_ok=True)
        return
    root = toolbox.ensure(toolbox.Contents(SUITE, frozenset(PACKAGES)), say=say)
    text = cargo.script(root.path)
    if not wrapper.exists() or wrapper.read_text() != text:
        fresh = wrapper.with_name(".cargo")
        fresh.write_text(text)
        fresh.chmod(0o755)
        fresh.rename(wrapper)


def _is_good(checkout: Path, without: Path) -> bool:
    """Whether the machine's own cargo is complete, and new enough for this workspace."""
    places = [place for place in os.environ["PATH"].split(":") if Path(place) != without]
    path = ":".join((*places, str(Path.home() / ".cargo/bin"), "/usr/sbin", "/sbin"))
    if not all(shutil.which(name, path=path) for name in ("cargo", *_COMPANIONS)):
        return False
    program = str(shutil.which("cargo", path=path))
    told = subprocess.run([program, "--version"], check=False, capture_output=True, text=True)
    workspace = tomllib.loads((checkout / "Cargo.toml").read_text())["workspace"]
    oldest = workspace["package"]["rust-version"]
    return _version(told.stdout) >= _version(oldest)


def _version(text: str) -> tuple[int, ...]:
    found = re.search(r"\d+(?:\.\d+)+", text)
    return tuple(map(int, found[0].split("."))) if found else ()
