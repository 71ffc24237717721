"""``httpbed explain``: divides the time of a transfer into causes, and names the knob of each.

Not here: what the causes are and which rules find them (docs/concepts/explain.md).
Start at ``division``; ``transfer`` is what it divides, ``evidence`` reads that from an attempt.
"""

from __future__ import annotations

from httpbed.base.addon import Addon, Verb

ADDON = Addon(
    verbs=(
        Verb(
            "explain",
            "Say why a transfer took so long, and which knob would change it.",
            "judge",
            "httpbed.addons.explain.explain_verb",
        ),
    ),
    provides={
        "report sections": ("httpbed.addons.explain.explain_report:SECTION",),
        "report notes": ("httpbed.addons.explain.explain_report:HELD",),
    },
)
