"""Covers this machine's /usr with that of a root filesystem of the toolbox, in a mount namespace.

Home, sources, /tmp and certificates remain the machine's.

Standard library only: set-up uses it before anything is installed.
"""

from __future__ import annotations

import shlex
from pathlib import Path


def commands(root: Path) -> str:
    """Return shell commands to run in a mount namespace of its own.

    /bin, /sbin, /lib and /lib64 are covered, too, unless they are links into /usr.
    """
    usr = shlex.quote(str(root / "usr"))
    return f"""
for place in bin sbin lib lib64; do
    if [ -d /$place ] && [ ! -L /$place ]; then mount --rbind {usr}/$place /$place || exit; fi
done
mount --rbind {usr} /usr || exit"""
