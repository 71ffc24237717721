"""HTTP archives (HAR 1.2): a strict reader for the files of several tools, and a writer.

Not here: importing a HAR file's figures (``analysis``), replaying it as a site (``sites/replay``).
Start at ``entries`` (the values); ``schema`` and ``parser`` read them, ``loads`` makes page loads.
"""

from __future__ import annotations

from httpbed.base.addon import Addon, Verb

ADDON = Addon(
    provides={
        "exports": ("httpbed.addons.har.import_verb:EXPORT",),
    },
    verbs=(
        Verb(
            "pages import",
            "Turn HAR files into observations, and audit claims on them.",
            "read",
            "httpbed.addons.har.import_verb",
        ),
    ),
)
