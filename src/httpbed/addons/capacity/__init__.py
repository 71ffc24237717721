"""``httpbed capacity``: how many page loads run side by side without disturbing each other.

Not here: the record of the result (``store/capacity_records``).
Start at ``session``, then ``judgement``.
"""

from __future__ import annotations

from httpbed.base.addon import Addon, Verb

ADDON = Addon(
    verbs=(
        Verb(
            "capacity",
            "Measure how many page loads may run side by side on this machine.",
            "look inside",
            "httpbed.addons.capacity.capacity_verb",
        ),
    ),
)
