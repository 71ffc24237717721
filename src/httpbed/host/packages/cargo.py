"""Running cargo from a root filesystem of the toolbox.

cargo runs in a mount namespace whose /usr is that of the root filesystem. Home, sources, /tmp and
certificates remain the machine's.

Standard library only: set-up uses it before anything is installed.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path


def triple() -> str:
    """Return this machine's Rust target triple."""
    return f"{os.uname().machine}-unknown-linux-gnu"


def variable() -> str:
    """Return the triple as it is spelled in cargo's environment variables."""
    return triple().upper().replace("-", "_")


def script(root: Path) -> str:
    """Return a shell script that runs cargo.

    /bin, /sbin, /lib and /lib64 are covered, too, unless they are links into /usr.
    """
    usr = shlex.quote(str(root / "usr"))
    return f"""#!/bin/sh
# Runs the cargo of another root filesystem's /usr.
user=$(id -u) group=$(id -g)
export user group CC=gcc CXX=g++ CARGO_TARGET_{variable()}_LINKER=gcc
# Keep the machine's own Rust out: rustup's proxies on the PATH may have no toolchain, and cargo
# looks for subcommands in its home first, unless that comes later on the PATH.
export PATH="/usr/bin:$PATH:${{CARGO_HOME:-$HOME/.cargo}}/bin:/usr/sbin:/sbin"
export RUSTC=/usr/bin/rustc RUSTDOC=/usr/bin/rustdoc RUSTFMT=/usr/bin/rustfmt
cover='
for place in bin sbin lib lib64; do
    if [ -d /$place ] && [ ! -L /$place ]; then mount --rbind {usr}/$place /$place || exit; fi
done
mount --rbind {usr} /usr || exit'
if [ "$user" = 0 ]; then
    exec unshare --mount sh -c "$cover"'; exec /usr/bin/cargo "$@"' cargo "$@"
fi
# The second namespace restores the user's own id.
exec unshare --user --map-root-user --mount sh -c "$cover"'
exec /usr/bin/unshare --user --map-user="$user" --map-group="$group" /usr/bin/cargo "$@"' cargo "$@"
"""
