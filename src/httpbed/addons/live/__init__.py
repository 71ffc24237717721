"""A campaign under way: its status as a document, on a terminal, and on a local page.

Not here: what a status says (``analysis/status``).
Start at ``watch``, which yields documents; ``terminal`` and ``server`` show them.
"""

from __future__ import annotations

from httpbed.base.addon import Addon

ADDON = Addon(
    provides={
        "additions to campaigns": ("httpbed.addons.live.live_view:ADDITION",),
        "views of campaigns": ("httpbed.addons.live.status_view:VIEW",),
    },
)
