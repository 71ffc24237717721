"""Running cargo from a root filesystem of the toolbox, whose /usr covers this machine's.

Standard library only: set-up uses it before anything is installed.
"""

from __future__ import annotations

import os
from pathlib import Path

from httpbed.bed.toolbox import usr_cover


def triple() -> str:
    """Return this machine's Rust target triple."""
    return f"{os.uname().machine}-unknown-linux-gnu"


def variable() -> str:
    """Return the triple as it is spelled in cargo's environment variables."""
    return triple().upper().replace("-", "_")


def script(root: Path) -> str:
    """Return a shell script that runs cargo."""
    return f"""#!/bin/sh
# Runs the cargo of another root filesystem's /usr.
user=$(id -u) group=$(id -g)
export user group CC=gcc CXX=g++ CARGO_TARGET_{variable()}_LINKER=gcc
# Keep the machine's own Rust out: rustup's proxies on the PATH may have no toolchain, and cargo
# looks for subcommands in its home first, unless that comes later on the PATH.
export PATH="/usr/bin:$PATH:${{CARGO_HOME:-$HOME/.cargo}}/bin:/usr/sbin:/sbin"
export RUSTC=/usr/bin/rustc RUSTDOC=/usr/bin/rustdoc RUSTFMT=/usr/bin/rustfmt
cover='{usr_cover.commands(root)}'
if [ "$user" = 0 ]; then
    exec unshare --mount sh -c "$cover"'; exec /usr/bin/cargo "$@"' cargo "$@"
fi
# The second namespace restores the user's own id.
exec unshare --user --map-root-user --mount sh -c "$cover"'
exec /usr/bin/unshare --user --map-user="$user" --map-group="$group" /usr/bin/cargo "$@"' cargo "$@"
"""
