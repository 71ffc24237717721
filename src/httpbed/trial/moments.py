"""What happened in each hand-over and when, for whoever draws it: a file beside the deliveries.

All that it tells is in the other files, too, on clocks of their own; here it is in seconds since
the client's first packet, where the request time begins.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from httpbed.process import left
from httpbed.trial import following
from httpbed.trial.handover_metrics import NS, Course

MOMENTS = "handovers.json"


def write(course: Course, artifacts: Path) -> None:
    """Leave the moments of every hand-over that took place in an attempt's folder."""
    told = list(moments(course))
    left.write(artifacts, MOMENTS, json.dumps(told, indent=1) + "\n")


def moments(course: Course) -> Iterator[dict[str, Any]]:
    """Tell of every hand-over; what never happened is null."""
    origin_ns = course.chain.legs[0].first_packet_ns(course.seen.link) or 0
    for window in course.windows:
        change = window.change
        at_s = (change.at_ns - origin_ns) / NS
        verdict, how = following.followed(course, window)
        yield {
            "number": change.number,
            "from": change.left,
            "to": change.entered,
            "at_s": at_s,
            "first_probe_s": _later(at_s, course.probe_s(window)),
            "validated_s": _later(at_s, course.validation_s(window)),
            "first_byte_s": _later(at_s, course.new_path_s(window)),
            "verdict": verdict,
            "how": how,
        }


def _later(at_s: float, delay_s: float | None) -> float | None:
    return None if delay_s is None else at_s + delay_s
