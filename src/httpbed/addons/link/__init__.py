"""``httpbed link``: its options, sandbox, server, changes of a running link, counters.

Not here: trials (``trial``) and the link itself (``bed/network``).
Start at ``run``; ``guest`` runs it in virtual time.
"""

from __future__ import annotations

from httpbed.base.addon import Addon, Verb

ADDON = Addon(
    verbs=(
        Verb(
            "link",
            "Run any command behind an emulated link.",
            "look inside",
            "httpbed.addons.link.link_verb",
        ),
    ),
)
