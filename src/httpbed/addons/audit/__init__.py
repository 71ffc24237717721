"""``httpbed doctor audit``: whether trials side by side give the numbers of trials one at a time.

Not here: what makes a single attempt invalid (``trial/checks``). Start at ``audit_session``.
"""

from __future__ import annotations

from httpbed.base.addon import Addon, Verb

ADDON = Addon(
    verbs=(
        Verb(
            "doctor audit",
            "Test whether trials side by side give the numbers of trials one at a time.",
            "look inside",
            "httpbed.addons.audit.audit_verb",
        ),
    ),
)
