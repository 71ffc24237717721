"""A program whose attempts are repeated more often than others': what the verbs say about it."""

from __future__ import annotations

import json
from pathlib import Path

import stored_campaigns
from command_line import Command

TEXT = stored_campaigns.SMALL.replace("replicates = 2", "replicates = 6")


def made(directory: Path, *, selects: bool) -> Path:
    """Make a campaign in which HTTP/3 may have an invalid attempt before each that counts."""
    records = []
    for index, trial in enumerate(stored_campaigns.loaded(TEXT).trials):
        seconds = 1 + index % 7 / 1000
        repeated = selects and trial.levels["http_version"] == "3"
        if repeated:
            records.append(stored_campaigns.record(trial, 1, "invalid", 9.0))
        records.append(stored_campaigns.record(trial, 1 + repeated, seconds=seconds))
    stored_campaigns.make(directory, records, TEXT)
    return directory


def test_the_gate_refuses_a_selected_campaign(httpbed: Command, tmp_path: Path) -> None:
    """On either side: a baseline that looks slow is as wrong as a campaign that looks fast."""
    honest, again = (made(tmp_path / name, selects=False) for name in ("a", "b"))
    selected = made(tmp_path / "c", selects=True)
    assert httpbed("gate", honest, again)[0] == 0
    for pair in ((honest, selected), (selected, honest)):
        code, out, _ = httpbed("gate", *pair)
        assert (code, out.splitlines()[-1].startswith("gate: refused: ")) == (1, True)
    values = json.loads(httpbed("gate", honest, selected, "--json")[1])
    (arm,) = values["refused_arms"]
    assert (values["verdict"], arm["levels"]) == ("refused", {"http_version": "3"})
    assert (arm["trials"], arm["with_invalid_attempts"]) == (12, 12)


def test_the_report_notes_it(httpbed: Command, tmp_path: Path) -> None:
    """Beside the numbers that may be selected."""
    out = " ".join(httpbed("report", made(tmp_path / "c", selects=True))[1].split())
    assert "12 of 12 trials of http_version 3 have invalid attempts" in out
