"""Datasets: one row per trial, with its network, workload, programs, machine and outcomes.

Not here: files and their dictionary (:mod:`httpbed.addons.dataset.dataset_report`). Start in
table.py.
"""

from __future__ import annotations

from httpbed.base.addon import Addon

ADDON = Addon(
    provides={
        "exports": ("httpbed.addons.dataset.dataset_export:EXPORT",),
    },
)
