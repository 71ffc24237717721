"""Do programs do what their recipes declare? ``httpbed toolbox check`` runs them with each other.

Not here: recipes and their checks on paper (``programs``).
Start at ``pairings``, then ``interop_session``, which runs them; ``check_verb`` writes results.
"""

from __future__ import annotations

from httpbed.base.addon import Addon, Verb

ADDON = Addon(
    verbs=(
        Verb(
            "toolbox check",
            "Run programs in every role and HTTP version that their recipes declare.",
            "set up",
            "httpbed.addons.interop.check_verb",
        ),
    ),
)
