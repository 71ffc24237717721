"""Figures that the experiment declares, drawn from a campaign.

Not here: what a figure may contain (``experiment.figures``), values (``analysis.figure_values``).
Start at ``section``.
"""

from __future__ import annotations

from httpbed.base.addon import Addon

ADDON = Addon(
    provides={
        "report sections": ("httpbed.addons.figures.section:SECTION",),
        "tables of the experiment file": ("httpbed.addons.figures.checking:TABLE",),
    },
)
