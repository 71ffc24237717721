"""A campaign under way: its status as a document, and on a terminal.

Start at ``status``.
"""

from __future__ import annotations

from httpbed.base.addon import Addon

_REMEDY = "httpbed report DIR --watch shows the status in a terminal, over SSH, too"

ADDON = Addon(
    absent_options={"run --serve": _REMEDY, "report --serve": _REMEDY},
    provides={
        "views of campaigns": ("httpbed.addons.live.status_view:VIEW",),
    },
)
