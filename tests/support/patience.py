"""The limits on a busy machine, which most tests lift because other tests run beside them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from httpbed.addons.handover import handover_checks as handover
from httpbed.addons.handover.handover_check_table import HANDOVER_PROMPT
from httpbed.addons.pages import replay_program as replay
from httpbed.addons.pages.page_check_table import RECORDED_DELAYS
from httpbed.experiment.check import LATENESS, PRESSURE
from httpbed.trial.checks import bed

LIMITED = {
    (bed, "PRESSURE"): PRESSURE,
    (bed, "LATENESS"): LATENESS,
    (handover, "HANDOVER_PROMPT"): HANDOVER_PROMPT,
    (replay, "RECORDED_DELAYS"): RECORDED_DELAYS,
}
"""Checks that fail on a busy machine, by the module that makes them and its name for them."""
UNLIMITED = 1e9

_MAIN = """
import sys
sys.path.insert(0, {folder!r})
import patience
patience.lift()
from httpbed.cli.main import main
main()
"""
HTTPBED = (sys.executable, "-c", _MAIN.format(folder=str(Path(__file__).parent)))
"""The command line without these limits."""


def lift(set_attribute: Callable[[Any, str, object], None] = setattr) -> None:
    """Lift every limit; a test passes ``monkeypatch.setattr`` to have them restored."""
    for (module, name), check in LIMITED.items():
        set_attribute(module, name, replace(check, limit=UNLIMITED))
    set_attribute(bed, "PRESSURE_ALONE", UNLIMITED)
    set_attribute(bed, "RTT_LATE_S", UNLIMITED)  # each link has its own limit beyond this one
