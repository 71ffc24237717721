"""Why versions differ, in the opening of the results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import results_explained


def cell(http3_s: float, again_s: float, cause: str, **more: Any) -> dict[str, Any]:
    """Return a cell in which HTTP/2 takes a second, by the medians and again."""
    return {
        "study": "a/b",
        "published": {"http2_s": 1.0, "http3_s": http3_s},
        "again_s": [again_s, 1.0],
        "cause": cause,
        "difference_s": abs(again_s - 1.0),
        "lifts": [],
        **more,
    }


def lift(cause: str) -> dict[str, Any]:
    """Return a lift that took its cause away."""
    return {"lifts": [{"cause": cause, "confirmed": True, "kept": True, "lifted": "it"}]}


def test_the_opening_counts_reasons_and_what_lifting_confirmed(tmp_path: Path) -> None:
    cells = [
        cell(0.5, 0.5, "connection"),
        cell(0.5, 0.5, "connection", **lift("timeout")),  # which is not why
        cell(0.5, 0.5, "recovery", **lift("recovery")),
        cell(0.5, 2.0, "recovery", **lift("recovery")),  # the two trials differ the other way
        cell(
            2.0, 2.0, "slower than the link", waited={"fixed window": 0.9}, **lift("fixed window")
        ),
        {"study": "a/b", "failed": "it has a hand-over"},
    ]
    file = tmp_path / "cells.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in cells))
    (text,) = results_explained.summary(file)
    assert "In 6 cells HTTP/2 and HTTP/3 differ" in text
    assert "in 4 the same version was slower again" in text
    assert "HTTP/2 is slower in 3 of these" in text
    assert "a round trip more to set up (2)" in text
    assert "because packets are lost (1, confirmed in 1)" in text
    assert "mostly because a window or buffer is too small (1, confirmed in 1)." in text


def test_an_opening_without_cells_says_nothing(tmp_path: Path) -> None:
    assert not [*results_explained.summary(tmp_path / "cells.jsonl")]
