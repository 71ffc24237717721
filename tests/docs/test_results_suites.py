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


def page_of(folder: Path) -> list[str]:
    return [*results_suites.page(results_suites.read(folder))]


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
    _, _, _, opening, matrix, commands, lacking = page_of(tmp_path)
    assert opening.startswith("Within every bound: good bbr. Out of some: bad bbr, floor=1 (1).")
    head, _, case, within = matrix.splitlines()
    assert head == "| property | asked | bad bbr, floor=1 | good bbr | silent bbr |"
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
    *_, commands, lacking = page_of(tmp_path)
    assert "(suites/bbr-quinn/conformance.md)" in commands
    assert "quinn" not in lacking


def test_only_servers_with_a_bbr_of_their_own_lack_the_cases_of_bbr(tmp_path: Path) -> None:
    """Another suite asks nothing of the congestion control's name."""
    lacking = dict[str, str]()
    for suite in ("bbr", "bcp133"):
        (tmp_path / suite).mkdir()
        test = outcome("good", 4.0, passed=True) | {"suite": suite}
        (tmp_path / suite / "good.json").write_text(json.dumps(test))
        *_, lacking[suite] = page_of(tmp_path / suite)
    assert "aioquic" not in lacking["bbr"]
    assert "aioquic" in lacking["bcp133"]
    assert all("quinn" in line for line in lacking.values())


def test_envelopes_have_a_row_for_each_sender_after_the_kernels(tmp_path: Path) -> None:
    """Nothing bounds these figures; one that no trial shows is said."""
    findings = [
        {
            "name": f"envelope beside Reno: {name}",
            "observed": observed,
            "low": None,
            "high": None,
            "unit": unit,
            "n": 1,
            "passed": None,
            "references": {"reno": 0.912},
            "network": "beside Reno",
        }
        for name, observed, unit in (("conformance", 0.453, "of 1"), ("delay", None, "ms"))
    ]
    test = outcome("good", 4.0, passed=True) | {"suite": "envelope", "findings": findings}
    (tmp_path / "good.json").write_text(json.dumps(test))
    *_, envelopes, commands, lacking = page_of(tmp_path)
    assert envelopes.splitlines() == [
        "| sender | beside Reno: conformance | beside Reno: delay |",
        "| --- | --- | --- |",
        "| the kernel's Reno | 0.91 | 0.91 ms |",
        "| good bbr | 0.45 | *not seen* |",
    ]
    assert test["command"] in commands
    assert "quinn" in lacking


def test_bounds_that_follow_from_other_senders_are_a_range(tmp_path: Path) -> None:
    """Reno and CUBIC ran in each sender's networks, and with a proxy they do something else."""
    for name, high in (("behind", 3.0), ("direct", 2.0)):
        test = outcome(name, 1.0, passed=True)
        test["findings"][0] |= {"low": None, "high": high, "references": {"reno": high / 2}}
        (tmp_path / f"{name}.json").write_text(json.dumps(test))
    *_, matrix, _, _ = page_of(tmp_path)
    assert "| 1 a case | at most 2 to 3 rounds | 1 | 1 |" in matrix


def test_without_tests_there_is_no_matrix(tmp_path: Path) -> None:
    """The page has no empty table."""
    assert not [*results_suites.section(tmp_path / "none")]
