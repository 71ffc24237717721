"""The job of a guest that leaves nothing."""

from __future__ import annotations

from httpbed.addons.virtual.first_process import power_off as main

__all__ = ["main"]
