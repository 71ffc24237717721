"""cargo in a root filesystem of the toolbox: how it is run, and what this machine is called.

It runs in a mount namespace in which that root's /usr stands in the place of the machine's.
Everything else (home, sources, /tmp, certificates) is the machine's and keeps its name.

Standard library only: set-up uses it, before anything is installed.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path


def triple() -> str:
    """Name this machine as Rust does."""
    return f"{os.uname().machine}-unknown-linux-gnu"


def variable() -> str:
    """Name this machine as cargo's environment variables do."""
    return triple().upper().replace("-", "_")


def script(root: Path) -> str:
    """Write the script: where /bin, /lib and their like are no links into /usr, cover them too."""
    usr = shlex.quote(str(root / "usr"))
    return f"""#!/bin/sh
# Runs the cargo of another root filesystem's /usr.
user=$(id -u) group=$(id -g)
export user group CC=gcc CXX=g++ CARGO_TARGET_{variable()}_LINKER=gcc
# The machine's own Rust must stay out: rustup's proxies on the PATH may have no toolchain, and
# cargo looks for its subcommands in its home first, unless the PATH has that further down.
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
# The second namespace gives the user their own number back.
exec unshare --user --map-root-user --mount sh -c "$cover"'
exec /usr/bin/unshare --user --map-user="$user" --map-group="$group" /usr/bin/cargo "$@"' cargo "$@"
"""
