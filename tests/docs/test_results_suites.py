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


def save(test: dict[str, Any], folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / RECORD).write_text(json.dumps(test))


def page_of(folder: Path) -> list[str]:
    return [*results_suites.page(results_suites.read(folder))]


def test_a_matrix_has_a_row_for_each_sender_which_leads_to_its_certificate(tmp_path: Path) -> None:
    """Its columns are what some sender fails; what nobody saw is no failure."""
    save(outcome("good", 4.0, passed=True), tmp_path / "good-folder")
    save(outcome("bad", 9.0, passed=False, more=" --knob floor=1"), tmp_path / "bad-folder")
    save(outcome("silent", None, passed=None), tmp_path / "silent-folder")
    _, _, _, opening, matrix, passed, lacking = page_of(tmp_path)
    assert opening.startswith("Within every bound: good bbr. Out of some: bad bbr, floor=1 (1).")
    assert matrix.splitlines() == [
        "| sender | 1 a case | within bounds |",
        "| --- | --- | --- |",
        "| *asked* | 3 to 8 rounds |  |",
        "| [bad bbr, floor=1](suites/bad-folder/conformance.md) | **9** | 0 of 1 |",
        "| [good bbr](suites/good-folder/conformance.md) | 4 | 1 of 1 |",
        "| [silent bbr](suites/silent-folder/conformance.md) | *not seen* | 0 of 0 |",
    ]
    assert "1 a case" not in passed
    assert "quinn" in lacking


def test_what_every_sender_passes_is_named_and_has_no_column(tmp_path: Path) -> None:
    """A matrix of all properties would be wider than a page."""
    save(outcome("good", 4.0, passed=True), tmp_path / "good")
    *_, matrix, passed, _ = page_of(tmp_path)
    assert "1 a case" not in matrix
    assert "1 a case" in passed


def test_a_server_that_ran_is_not_lacking(tmp_path: Path) -> None:
    """The others of the toolbox are."""
    save(outcome("quinn", 4.0, passed=True), tmp_path / "quinn")
    *_, lacking = page_of(tmp_path)
    assert "quinn" not in lacking
    assert "picoquic" in lacking


def test_only_servers_with_a_bbr_of_their_own_lack_the_cases_of_bbr(tmp_path: Path) -> None:
    """Another suite asks nothing of the congestion control's name."""
    lacking = dict[str, str]()
    for suite in ("bbr", "bcp133"):
        save(outcome("good", 4.0, passed=True) | {"suite": suite}, tmp_path / suite / "good")
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
    save(test, tmp_path / "good")
    *_, envelopes, lacking = page_of(tmp_path)
    assert envelopes.splitlines() == [
        "| sender | beside Reno: conformance | beside Reno: delay |",
        "| --- | --- | --- |",
        "| the kernel's Reno | 0.91 | 0.91 ms |",
        "| [good bbr](suites/good/conformance.md) | 0.45 | *not seen* |",
    ]
    assert "quinn" in lacking


def test_bounds_that_follow_from_other_senders_are_a_range(tmp_path: Path) -> None:
    """Reno and CUBIC ran in each sender's networks, and with a proxy they do something else."""
    for name, high in (("behind", 3.0), ("direct", 2.0)):
        test = outcome(name, 4.0, passed=False)
        test["findings"][0] |= {"low": None, "high": high, "references": {"reno": high / 2}}
        save(test, tmp_path / name)
    *_, matrix, _, _ = page_of(tmp_path)
    assert "| *asked* | at most 2 to 3 rounds |" in matrix


def test_without_tests_there_is_no_matrix(tmp_path: Path) -> None:
    """The page has no empty table."""
    assert not [*results_suites.section(tmp_path / "none")]
