"""The table of the studies' senders."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import results_senders


def record(name: str, *passed: bool | None) -> dict[str, Any]:
    """Return a test with one property for each result."""
    findings = [
        {"name": f"throughput, {number} %, 50 ms", "observed": 1.5, "passed": one}
        for number, one in enumerate(passed, start=4)
    ]
    sender = {
        "implementation": name,
        "version": "1.0",
        "transport": "quic",
        "http_version": "3",
        "congestion_control": "reno",
    }
    return {"sender": sender, "findings": findings, "date": "2026-11-22T1", "scale": "standard"}


def test_the_worst_sender_is_first(tmp_path: Path) -> None:
    """Properties that no trial showed do not count."""
    for test in (record("good", True, None), record("bad", False, False, False, False, True)):
        (tmp_path / f"{test['sender']['implementation']}.json").write_text(json.dumps(test))
    *_, rows = results_senders.section(tmp_path)
    bad, good = rows.splitlines()[2:]
    assert bad.startswith("| bad 1.0 | QUIC | reno | 1 of 5 | not seen | 1.50x |")
    assert "7 %" not in bad, "only the first names are given"
    assert "and 1 more" in bad
    assert "| good 1.0 | QUIC | reno | 1 of 1 | not seen | 1.50x | none |" in good


def test_without_tests_there_is_no_section(tmp_path: Path) -> None:
    """The page has no empty table."""
    assert not [*results_senders.section(tmp_path)]
