"""``httpbed link``: its options, sandbox, server, exposed ports, changes of the link, counters.

Not here: trials (``trial``) and the link itself (``bed/network``).
Start at ``link_run``; ``link_guest`` runs it in virtual time.
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
    absent_options={
        "link --of": "run httpbed link --change behind the link, or write a schedule into an"
        " experiment file",
    },
)
