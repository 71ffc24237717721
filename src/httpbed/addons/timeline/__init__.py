"""Throughput, round trips, bytes in flight and queue over the time of a trial, with figures."""

from __future__ import annotations

from httpbed.base.addon import Addon

ADDON = Addon(
    provides={
        "report sections": ("httpbed.addons.timeline.time_series_report:SECTION",),
        "views of a trial": ("httpbed.addons.timeline.time_series_report:TRIAL",),
    },
)
