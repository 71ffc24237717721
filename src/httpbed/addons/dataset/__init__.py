"""Datasets: one row per trial, with its network, workload, programs, machine and outcomes.

Start at ``dataset_table``; ``dataset_report`` has the dictionary of its files.
"""

from __future__ import annotations

from httpbed.base.addon import Addon

ADDON = Addon(
    provides={
        "exports": ("httpbed.addons.dataset.dataset_export:EXPORT",),
    },
)
