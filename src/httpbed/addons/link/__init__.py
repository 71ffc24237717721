"""``httpbed link``: its options, sandbox, changes of a running link, nested links, counters.

Not here: trials (``trial``) and the link itself (``network``).
Start at ``run``.
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
