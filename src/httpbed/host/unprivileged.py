"""The unprivileged user for programs under test when root runs httpbed.

In a user namespace of root's, a program could write the kernel's settings and read root's files.
So the sandbox becomes another user before it makes one (``httpbed-sandbox``, ``unprivileged.rs``),
and leaves its files as that user's.

Standard library only.
"""

from __future__ import annotations

import os
from pathlib import Path

from httpbed.experiment.errors import HostError

NOBODY = (65534, 65534)
"""User and group; the kernel's own numbers for what has no name."""
_OF_THE_KERNEL = Path("/proc/sys/kernel/core_pattern")
"""It belongs to the machine's root, by whatever number that has in this user namespace."""


def is_machines_root() -> bool:
    """Whether this process is the machine's root, by whatever number it has here."""
    return _OF_THE_KERNEL.stat().st_uid == os.geteuid() != NOBODY[0]


def user() -> tuple[int, int] | None:
    """Return user and group of a sandbox, as this machine counts; None if they are ours.

    Raises:
        HostError: This is the machine's root, and there is no other user to become.
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
