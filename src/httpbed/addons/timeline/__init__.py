"""Throughput, round trips, bytes in flight and queue over the time of a trial, with figures."""

from __future__ import annotations

from httpbed.base.addon import Addon

ADDON = Addon(
    absent_options={
        "report --timeline": "use --trial BLOCK/TRIAL: it draws one trial, and with --json gives"
        " its values"
    },
    provides={
        "report sections": ("httpbed.addons.timeline.time_series_report:SECTION",),
        "views of a trial": ("httpbed.addons.timeline.time_series_report:TRIAL",),
    },
)
