"""Why versions differ, in the opening of the results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import results_explained


def cell(http3_s: float, again_s: float, *causes: str, **more: Any) -> dict[str, Any]:
    """Return a cell in which HTTP/2 takes a second, and which has causes of equal parts."""
    difference_s = abs(again_s - 1.0)
    return {
        "study": "a/b",
        "published": {"http2_s": 1.0, "http3_s": http3_s},
        "again_s": [again_s, 1.0],
        "causes": {"path": 0.01, **{cause: difference_s / len(causes) for cause in causes}},
        "difference_s": difference_s,
        "lifts": [],
        **more,
    }


def lift(cause: str) -> dict[str, Any]:
    """Return a lift that took its cause away."""
    return {"lifts": [{"cause": cause, "confirmed": True, "kept": True, "lifted": "it"}]}


def test_the_opening_counts_reasons_and_what_lifting_confirmed(tmp_path: Path) -> None:
    cells = [
        cell(0.5, 0.5, "set-up", "recovery"),
        cell(0.5, 0.5, "set-up", **lift("timeout")),  # which is not why
        cell(0.5, 0.5, "recovery", **lift("recovery")),
        cell(0.5, 2.0, "recovery", **lift("recovery")),  # the two trials differ the other way
        cell(2.0, 2.0, "fixed window", **lift("fixed window")),
        {"study": "a/b", "failed": "it has a hand-over"},
    ]
    file = tmp_path / "cells.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in cells))
    (text,) = results_explained.summary(file)
    assert "by more than 10 % in 6 cells" in text
    assert "in 4 the same version was slower again" in text
    assert "HTTP/2 is slower in 3: in 2 because its connection takes a round trip more" in text
    assert "in 2 (confirmed in 1) because packets are lost" in text
    assert "HTTP/3 is slower in 1: in 1 (confirmed in 1) because a window or buffer is too" in text


def test_an_opening_without_cells_says_nothing(tmp_path: Path) -> None:
    assert not [*results_explained.summary(tmp_path / "cells.jsonl")]
