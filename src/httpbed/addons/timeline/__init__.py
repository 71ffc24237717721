"""How a link behaved over the time of a trial: rate, queue, losses and requests."""

from __future__ import annotations

from httpbed.base.addon import Addon

ADDON = Addon()
