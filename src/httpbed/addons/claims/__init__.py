"""Claims: what they say, and the verdicts on them.

``stated`` is the table of the experiment file, ``compiled`` makes cells of it, ``blocks`` their
values, and ``cells`` the statistic of each over the blocks; ``estimation`` is the statistic over
cells, with ``repetition`` for their number. Start at ``judging``. ``regression`` compares with a
baseline.
"""

from __future__ import annotations

from httpbed.base.addon import Addon, Verb

ADDON = Addon(
    verbs=(
        Verb(
            "claims",
            "Judge the claims of a campaign.",
            "judge",
            "httpbed.addons.claims.claims_verb",
        ),
        Verb(
            "gate",
            "Fail if a campaign is worse than a baseline, or contradicts its claims.",
            "judge",
            "httpbed.addons.claims.gate_verb",
        ),
    ),
    provides={
        "checks of experiment files": ("httpbed.addons.claims.file_check:CHECK",),
        "additions to campaigns": ("httpbed.addons.claims.claim_trials:ADDITION",),
        "report sections": ("httpbed.addons.claims.claims_section_report:SECTION",),
        "tables of the experiment file": ("httpbed.addons.claims.checking:TABLE",),
    },
)
