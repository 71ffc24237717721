"""The unprivileged user of programs under test when root runs httpbed.

In a user namespace made by root, a program could write kernel settings and read root's files. So
the sandbox changes to another user first (``unprivileged.rs`` of ``httpbed-sandbox``), and its
files belong to that user.

Standard library only.
"""

from __future__ import annotations

import os
from pathlib import Path

from httpbed.base.errors import HostError

NOBODY = (65534, 65534)
"""User and group id: the kernel's overflow ids."""
_OF_THE_KERNEL = Path("/proc/sys/kernel/ostype")
"""A file of the machine's root, whatever its id is in this user namespace."""


def is_machines_root() -> bool:
    """Whether this process runs as the machine's root, whatever its id is here."""
    return _OF_THE_KERNEL.stat().st_uid == os.geteuid() != NOBODY[0]


def user() -> tuple[int, int] | None:
    """Return user and group id of a sandbox in the host's namespace; None: those of this process.

    Raises:
        HostError: This process is root, and this user namespace maps no other user.
    """
    if not is_machines_root():
        return None
    if not all(_is_mapped(kind, number) for kind, number in zip("ug", NOBODY, strict=True)):
        raise HostError(
            "programs under test may not run as root, and this user namespace has no other user",
            "run httpbed as an ordinary user, or outside of this user namespace",
        )
    return NOBODY


def _is_mapped(kind: str, number: int) -> bool:
    """Whether a user (``u``) or a group (``g``) exists in this user namespace."""
    ranges = Path(f"/proc/self/{kind}id_map").read_text().splitlines()
    return any(
        int(first) <= number < int(first) + int(count)
        for first, _, count in (line.split() for line in ranges)
    )
