"""Guests: User Mode Linux, whose clock jumps to the next timer when all its processes wait.

Not here: building the kernel (``packages/guest_kernel``), what a guest does (``trial/guest``).
Start at ``boot``, which runs one guest.
"""

from __future__ import annotations

from httpbed.base.addon import Addon

ADDON = Addon(
    provides={"additions to trials": ("httpbed.addons.virtual.virtual_addition:ADDITION",)}
)
