"""The matrix of senders and properties of a suite."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import results_suites
from httpbed.addons.conformance.certificate import RECORD


def outcome(
    name: str, observed: float | None, *, passed: bool | None, more: str = ""
) -> dict[str, Any]:
    bounded = {"name": "1 a case", "low": 3.0, "high": 8.0, "unit": "rounds", "n": 1}
    shown = {"name": "2 shown", "low": None, "high": None, "unit": "s", "n": 1}
    return {
        "suite": "bbr",
        "findings": [
            bounded | {"observed": observed, "passed": passed},
            shown | {"observed": 1.0, "passed": None},
        ],
        "sender": {
            "implementation": name,
            "version": "1.0",
            "transport": "quic",
            "congestion_control": "bbr",
            "kernel": "linux 1",
        },
        "command": f"httpbed conformance {name}{more} --suite bbr",
        "date": "2026-11-28T01",
    }


def test_a_matrix_has_a_column_for_each_sender_and_its_command(tmp_path: Path) -> None:
    """Only properties with bounds have a row; what nobody saw is no failure."""
    tests = (
        outcome("good", 4.0, passed=True),
        outcome("bad", 9.0, passed=False, more=" --knob floor=1"),
        outcome("silent", None, passed=None),
    )
    for one in tests:
        file = tmp_path / f"{one['sender']['implementation']}.json"
        file.write_text(json.dumps(one))
    *_, matrix, commands, lacking = results_suites.section(tmp_path)
    head, _, case, within = matrix.splitlines()
    assert head == "| property | asked | bad QUIC bbr, floor=1 | good QUIC bbr | silent QUIC bbr |"
    assert case == "| 1 a case | 3 to 8 rounds | **9** | 4 | *not seen* |"
    assert within == "| within bounds |  | 0 of 1 | 1 of 1 | 0 of 0 |"
    assert all(f"`{one['command']}`" in commands for one in tests)
    assert "certificate" not in commands
    assert "quinn" in lacking


def test_a_sender_with_a_certificate_has_a_link_to_it(tmp_path: Path) -> None:
    """Its record lies in a folder with its digests, and its program did run."""
    folder = tmp_path / "bbr-quinn"
    folder.mkdir()
    (folder / RECORD).write_text(json.dumps(outcome("quinn", 4.0, passed=True)))
    *_, commands, lacking = results_suites.section(tmp_path)
    assert "(../results/senders/suites/bbr-quinn/conformance.md)" in commands
    assert "quinn" not in lacking


def test_without_tests_there_is_no_matrix(tmp_path: Path) -> None:
    """The page has no empty table."""
    assert not [*results_suites.section(tmp_path / "none")]
