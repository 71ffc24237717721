"""Claims: what they say, and the verdicts on them.

``stated_claim`` is the table of the experiment file, ``compiled_claim`` makes cells of it,
``block_values`` their values, and ``cell_location`` the statistic of each over the blocks;
``claim_verdict`` is the statistic over cells and its verdict, with ``repetition`` for their number.
Start at ``judging``.
"""

from __future__ import annotations

from httpbed.base.addon import Addon, Verb

ADDON = Addon(
    word="claim",
    verbs=(
        Verb(
            "claims",
            "Judge the claims of a campaign.",
            "judge",
            "httpbed.addons.claims.claims_verb",
        ),
    ),
    provides={
        "additions to campaigns": ("httpbed.addons.claims.claim_trials:ADDITION",),
        "report sections": ("httpbed.addons.claims.claims_section_report:SECTION",),
        "tables of the experiment file": ("httpbed.addons.claims.claim_checking:TABLE",),
    },
)
