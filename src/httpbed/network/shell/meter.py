"""The live line of a link, from the emulator's counters; pure.

It is shown where it cannot disturb: stderr is a terminal, and the command cannot be interactive
because its input or its output is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from httpbed.experiment import units
from httpbed.experiment.impairments.registry import CAUSES
from httpbed.network.shell.options import FAR

ERASE = "\r\x1b[K"
PERIOD_S = 0.5


def is_shown(*, wanted: bool | None, stdin: bool, stdout: bool, stderr: bool) -> bool:
    """Decide whether there is a meter; the streams tell whether they are terminals."""
    return stderr and not (stdin and stdout) if wanted is None else wanted


@dataclass
class Meter:
    """Makes a line of each counters event."""

    _before: Mapping[str, Any] | None = None
    _lines: int = field(default=0)

    def line(self, event: Mapping[str, Any]) -> str:
        """Write what happened since the last event; empty at the first."""
        before, self._before = self._before, event
        if before is None or event["at_ns"] <= before["at_ns"]:
            return ""
        seconds = (event["at_ns"] - before["at_ns"]) / 1e9
        pairs = zip(before["directions"], event["directions"], strict=True)
        ways = sorted(pairs, key=lambda pair: pair[1]["to"] != FAR)
        said = [_way(*pair, seconds) for pair in ways]
        return f"link  up {said[0]}  down {said[1]}"


def _way(before: Mapping[str, Any], now: Mapping[str, Any], seconds: float) -> str:
    passed = now["bytes"]["delivered"] - before["bytes"]["delivered"]
    gone = sum(count for name, count in now["packets"].items() if name in _GONE)
    waiting = now["packets"]["in_flight"]
    rate = units.format_rate(passed * 8 / seconds, units.SHORT_DIGITS)
    return f"{rate:>12}, {waiting} on the way, {gone} lost"


_GONE = {cause.counter for cause in CAUSES}
