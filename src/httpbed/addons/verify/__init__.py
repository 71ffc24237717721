"""``httpbed verify``: every file of a campaign, its tables and its signature.

Not here: reading a campaign, which verifies each attempt's own files (``store``).
"""

from __future__ import annotations

from httpbed.base.addon import Addon, Verb

ADDON = Addon(
    absent_options={
        "verify --signers": "verify first, then let ssh-keygen -Y verify check the signature of the"
        " manifest (docs/guides/report.md)",
    },
    verbs=(
        Verb(
            "verify",
            "Compare every file of a campaign with its digest.",
            "judge",
            "httpbed.addons.verify.verify_verb",
        ),
    ),
)
