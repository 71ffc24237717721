"""The page of the competition, and the file of one of its cells."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

import results_competition
from httpbed.experiment import parser

SHARES = {
    ("reno", "reno"): 0.5,
    ("reno", "bbr"): 0.3,
    ("bbr", "reno"): 0.9,
    ("bbr", "bbr"): 0.5,
    ("bbr", "failed"): 0.7,
}
CELL = Path(results_competition.__file__).parents[1] / "experiments/matrix/cell.py"


def test_the_answer_names_the_largest_and_smallest_share_of_two_senders() -> None:
    """A sender beside itself is no answer; a pair whose mirror is far from it is counted."""
    text = results_competition.answer(SHARES)
    assert "most bbr beside reno (0.90), least reno beside bbr (0.30)" in text
    assert "within 0.1 in 0 of 1 pairs" in text
    assert "No pair" in results_competition.answer({("reno", "reno"): 0.5})


def test_the_matrix_has_a_cell_for_each_pair_with_a_value() -> None:
    """Senders in rows, and the senders of large shares first in the table of senders."""
    head, _, reno, bbr = results_competition.matrix(SHARES, "{:.1f}".format).splitlines()
    assert head == "|  | reno | bbr | failed |"
    assert reno == "| reno | 0.5 | 0.3 |  |"
    assert bbr == "| bbr | 0.9 | 0.5 | 0.7 |"
    delays = {("bbr", "reno"): 0.01, ("bbr", "failed"): 0.03}
    *_, first, last = results_competition.by_sender(SHARES, delays).splitlines()
    assert first == "| bbr | 0.80 | 0.90 (reno) | 0.70 (failed) | 10 to 30 | 2 |"
    assert last == "| reno | 0.30 | 0.30 (bbr) | 0.30 (bbr) |  | 1 |"


def test_without_an_archive_there_is_no_page(tmp_path: Path) -> None:
    """Nor a part of the page of results."""
    results_competition.write(tmp_path)
    assert list(results_competition.section(tmp_path)) == []
    assert not [*tmp_path.iterdir()]


def test_the_file_of_a_cell_has_one_treatment(capsys: pytest.CaptureFixture[str]) -> None:
    """All else is as in the whole file; unknown senders are refused with the known ones."""
    main = runpy.run_path(str(CELL))["main"]
    assert main(["tcp-bbr", "quic-go"]) == 0
    cell = parser.read_valid(capsys.readouterr().out).document
    whole = parser.read_valid(CELL.with_name("competition.toml").read_text()).document
    assert {name: [*levels] for name, levels in cell["factors"].items()} == {
        "sender": ["tcp-bbr"],
        "beside": ["quic-go"],
    }
    same = cell.keys() - {"factors"}
    assert {name: whole[name] for name in same} == {name: cell[name] for name in same}
    assert main(["tcp-bbr", "absent"]) == 2
    assert "quic-go" in capsys.readouterr().err
