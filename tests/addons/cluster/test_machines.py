"""Machines of a campaign: which ran what, and how much slower one is than the others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import campaigns
from httpbed.addons.cluster import machines_report
from httpbed.addons.cluster import machines_report as sentences
from httpbed.report.document import ReportInput, Table
from httpbed.results.findings import find
from httpbed.store import machine_log
from httpbed.store.layout import MACHINE_LINES
from httpbed.store.results import Results

TEXT = campaigns.VERSIONS.replace("replicates = 5", "replicates = 14")


def named(results: Results, names: dict[int, str]) -> Results:
    """Give each block's attempts the name of a machine."""
    table = results.trials
    column = pa.array([names[block] for block in table["block"].to_pylist()], pa.string())
    place = table.schema.get_field_index("machine")
    return replace(results, trials=table.set_column(place, "machine", column))


def line(name: str, block: int, ending: str = "returned", **about: Any) -> dict[str, Any]:
    return {"machine": name, "block": block, "ending": ending, **about}


def campaign(slow: float, lines: list[dict[str, Any]] | None = None) -> Results:
    """Return 14 blocks, seven on each machine; ``beta`` takes so many times as long."""

    def ends(levels: Any, block: int) -> float:
        base = 2.0 if levels["loss"] == "2 %" else 1.0
        return base * (1 + block / 1000) * (slow if block > 7 else 1.0)

    made = campaigns.campaign(ends, TEXT, manifest={"machines": lines or []})
    return named(made, {block: "beta" if block > 7 else "alpha" for block in range(1, 15)})


def test_a_slow_machine_is_found_and_its_blocks_are_named() -> None:
    """The effect is against the median of all blocks, so a factor of 4 shows as 1/1.6 and 1.6."""
    results = campaign(4.0, [line("beta", 9, "lost")])
    alpha, beta = machines_report.shares(results, find(results))
    assert (alpha.blocks, beta.blocks) == (tuple(range(1, 8)), tuple(range(8, 15)))
    assert (alpha.lost, beta.lost) == (0, 1)
    assert alpha.effect is not None
    assert beta.effect is not None
    assert beta.effect / alpha.effect == pytest.approx(4.0, rel=0.02)
    assert alpha.differs
    assert beta.differs


def test_equal_machines_do_not_differ() -> None:
    """A machine that differs by less than 1 % is named in the table, and in no note."""
    results = campaign(1.0)
    source = ReportInput(results, find(results))
    assert not [note for note in sentences.notes(source) if "differ" in note]
    section = sentences.SECTION.make(source)
    assert section is not None
    table = next(block for block in section.blocks if isinstance(block, Table))
    (blocks,) = (column.cells for column in table.columns if column.header == "blocks")
    assert [cell.text for cell in blocks] == ["1-7", "8-14"]


def test_a_block_on_two_machines_is_a_note() -> None:
    """A resumed block may have been finished elsewhere."""
    results = campaign(1.0)
    names = results.trials["machine"].to_pylist()
    mixed = pa.array(["beta", *names[1:]], pa.string())
    place = results.trials.schema.get_field_index("machine")
    results = replace(results, trials=results.trials.set_column(place, "machine", mixed))
    assert machines_report.mixed_blocks(results) == [1]
    assert any("blocks: 1" in note for note in sentences.notes(ReportInput(results, find(results))))


def test_a_campaign_of_one_machine_has_no_such_section() -> None:
    """Neither attempts nor sources name a machine."""
    results = campaigns.campaign(lambda _, block: 1.0 + block / 100)
    assert sentences.SECTION.make(ReportInput(results, find(results))) is None
    assert list(sentences.notes(ReportInput(results, find(results)))) == []


TWO = [
    {"host": {"cpu": "fast", "cores": 4}, "blocks": {"1": 1, "2": 2}},
    {"host": {"cpu": "slow", "cores": 4}, "blocks": {"3": 1, "4": 2, "5": 3}},
]
SAME = {str(block): block for block in range(1, 6)}


@pytest.mark.parametrize("sources", [TWO, [{**TWO[0], "sources": TWO, "blocks": SAME}]])
def test_an_archive_of_two_machines_tells_them_apart(sources: list[dict[str, Any]]) -> None:
    """It keeps the facts of each source's machine, also those of an archive."""
    results = campaigns.campaign(lambda _, block: float(block), manifest={"sources": sources})
    one, two = machines_report.shares(results, find(results))
    assert (one.name, one.blocks, one.host["cpu"]) == ("machine 1", (1, 2), "fast")
    assert (two.name, two.blocks, two.host["cpu"]) == ("machine 2", (3, 4, 5), "slow")


@pytest.mark.parametrize(("clock", "named"), [("real", True), ("virtual", False)])
def test_a_machine_without_a_certificate_is_named_in_real_time(clock: str, named: bool) -> None:
    """No certificate covers virtual time, so calibrating the machine would change nothing."""
    lines = {MACHINE_LINES: [line("alpha", 1)], "clock": clock}
    results = campaigns.campaign(lambda _, block: float(block), manifest=lines)
    notes = [*sentences.notes(ReportInput(results, find(results)))]
    assert any("no link certificate on alpha" in note for note in notes) is named


def test_certificates_count_together() -> None:
    """The oldest gives the date; one machine without a certificate leaves the campaign without."""
    old = {"date": "2026-01-01", "outside": ["rate 1 Gbit/s"]}
    new = {"date": "2026-02-01", "outside": []}
    lines = [line("alpha", 1, link_certificate=new), line("beta", 2, link_certificate=old)]
    assert machine_log.certificate(lines) == {
        "date": "2026-01-01",
        "outside": ["beta: rate 1 Gbit/s"],
        "machines": ["alpha", "beta"],
    }
    lines.append(line("gamma", 3, link_certificate=None))
    assert machine_log.certificate(lines) is None
    assert machine_log.uncalibrated(lines) == ["gamma"]
