"""A campaign under way: its status as a document, on a terminal, and on a local page.

Not here: what a status says (``analysis/status``) and the process beside a run (``cli/watcher``).
Start at ``watch``, which yields documents; ``terminal`` and ``server`` show them.
"""

from __future__ import annotations

from httpbed.base.addon import Addon

ADDON = Addon()
