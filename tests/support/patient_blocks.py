"""Lets workers run their blocks without the limits on a busy machine (:mod:`patience`)."""

from __future__ import annotations

import sys

from httpbed.addons.cluster import worker

_MAIN = """
import patience
patience.lift()
from httpbed.addons.cluster import block_process
block_process.main()
"""
worker.PROGRAM = (sys.executable, "-c", _MAIN)
