"""Physical bounds: whether an attempt's times and bytes are possible for the experiment's links.

Not here: the emulator's own witness (``crates/link-model/src/witness.rs``), whose observations are
judged here, and whether a link did as it was configured (``trial.checks.link``).
Start at ``link_bounds``.
"""

from __future__ import annotations

from httpbed.base.addon import Addon

ADDON = Addon(
    provides={
        "checks": ("httpbed.addons.bounds.bound_check_table:CHECKS",),
        "additions to trials": ("httpbed.addons.bounds.link_bounds:ADDITION",),
    },
)
