"""Guests: User Mode Linux, whose clock jumps to the next timer when all its processes wait.

Start at ``outside``, which makes an attempt in a guest, and ``boot``, which runs one guest.
"""

from __future__ import annotations

from httpbed.base.addon import Addon, Verb

ADDON = Addon(
    provides={
        "additions to trials": ("httpbed.addons.virtual.virtual_addition:ADDITION",),
        "clocks": ("httpbed.addons.virtual.clock:CLOCK",),
    },
    verbs=(
        Verb(
            "toolbox kernel",
            "Build the kernel of guests, which trials in virtual time run in.",
            "set up",
            "httpbed.addons.virtual.kernel_verb",
        ),
    ),
)
