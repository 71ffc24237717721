"""How a link behaved over the time of a trial: rate, queue, losses and requests."""

from __future__ import annotations

from httpbed.base.addon import Addon

ADDON = Addon(
    provides={
        "report sections": ("httpbed.addons.timeline.time_series_report:SECTION",),
        "views of a trial": ("httpbed.addons.timeline.time_series_report:TRIAL",),
    },
)
