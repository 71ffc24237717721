"""The meter: a live line with the link's counters.

It appears only if stderr is a terminal and the command is not interactive, because its input or its
output is no terminal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from httpbed.addons.link.options import FAR
from httpbed.base import units
from httpbed.experiment.impairments.registry import CAUSES

ERASE = "\r\x1b[K"
PERIOD_S = 0.5


def is_shown(*, wanted: bool | None, stdin: bool, stdout: bool, stderr: bool) -> bool:
    """Return whether to show a meter; the arguments say which streams are terminals."""
    return stderr and not (stdin and stdout) if wanted is None else wanted


@dataclass
class Meter:
    """Turns each event with counters into a line."""

    _before: Mapping[str, Any] | None = None
    _lines: int = field(default=0)

    def line(self, event: Mapping[str, Any]) -> str:
        """Return a line on the time since the last event; empty for the first event."""
        before, self._before = self._before, event
        if before is None or event["at_ns"] <= before["at_ns"]:
            return ""
        seconds = (event["at_ns"] - before["at_ns"]) / 1e9
        pairs = zip(before["directions"], event["directions"], strict=True)
        ways = sorted(pairs, key=lambda pair: pair[1]["to"] != FAR)
        texts = [_way(*pair, seconds) for pair in ways]
        return f"link  up {texts[0]}  down {texts[1]}"


def _way(before: Mapping[str, Any], now: Mapping[str, Any], seconds: float) -> str:
    passed = now["bytes"]["delivered"] - before["bytes"]["delivered"]
    gone = sum(count for name, count in now["packets"].items() if name in _GONE)
    waiting = now["packets"]["in_flight"]
    rate = units.format_rate(passed * 8 / seconds, units.SHORT_DIGITS)
    return f"{rate:>12}, {waiting} on the way, {gone} lost"


_GONE = {cause.counter for cause in CAUSES}
