"""Figures that the experiment declares, drawn from a campaign.

``stated_figure`` is the table of the experiment file and where its treatments stand,
``figure_values`` what is drawn there, ``figure_panels`` the layout that all kinds share. Start at
``figures_section``.
"""

from __future__ import annotations

from httpbed.base.addon import Addon

ADDON = Addon(
    word="figure",
    provides={
        "report sections": ("httpbed.addons.figures.figures_section:SECTION",),
        "tables of the experiment file": ("httpbed.addons.figures.figure_checking:TABLE",),
    },
)
