"""The notebook of results runs against compact campaigns, and says so where there are none."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
from matplotlib import pyplot as plt

import stored_campaigns
from httpbed.store import archive, query

NOTEBOOK = Path(__file__).parents[2] / "docs/notebooks/results.ipynb"
COMPACT = ("manifest.json", "experiment.toml", "design.jsonl", "tables.json")
TABLES = ("trials.parquet", "observations.parquet", "checks.parquet")
SECONDS = {"1.1": 3.0, "2": 2.0, "3": 1.0}
CLAIMS = {"claims": [{"id": "a", "verdict": "reproduced"}, {"id": "b", "verdict": "inconclusive"}]}
Run = Callable[[Path], dict[str, Any]]


def cells() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(NOTEBOOK.read_text())["cells"]
    return found


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Yield a function that executes the code cells for a folder of results, without Jupyter."""
    monkeypatch.setattr(plt, "show", lambda: None)
    before = mpl.get_backend()
    plt.switch_backend("agg")

    def execute(results: Path) -> dict[str, Any]:
        monkeypatch.setenv("HTTPBED_RESULTS", str(results))
        names: dict[str, Any] = {}
        for cell in cells():
            if cell["cell_type"] == "code":
                exec("".join(cell["source"]), names)  # noqa: S102 - the repository's own notebook
        plt.close("all")
        return names

    yield execute
    plt.switch_backend(before)


def compact(campaign: Path, results: Path) -> None:
    """Keep the tables of a campaign, without its trials."""
    query.read(campaign)  # writes the tables
    results.mkdir(parents=True)
    for name in (*COMPACT, *TABLES):
        shutil.copyfile(campaign / name, results / name)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Make the results of two experiments with different factors.

    One is an archive with claims, the other an archive of before, whose design is plain text.
    """
    jittery = stored_campaigns.SMALL.replace('loss = ["0 %", "2 %"]', 'jitter = ["0 ms", "5 ms"]')
    jittery = jittery.replace('loss = { factor = "loss" }', 'jitter = { factor = "jitter" }')
    for name, text in (("one", stored_campaigns.SMALL), ("two's", jittery)):
        records = [
            stored_campaigns.record(trial, seconds=SECONDS[trial.levels["http_version"]])
            for trial in stored_campaigns.loaded(text).trials
        ]
        stored_campaigns.make(tmp_path / name, records, text)
    one = tmp_path / "results/study/one"
    archive.merge([tmp_path / "one"], one)
    (one / "claims.json").write_text(json.dumps(CLAIMS))
    compact(tmp_path / "two's", tmp_path / "results/study/two's")
    return tmp_path / "results"


def test_the_notebook_is_one_by_the_rules_of_its_format() -> None:
    """Format 4.5: unique identifiers, lines of source, and code cells without outputs."""
    document = json.loads(NOTEBOOK.read_text())
    assert (document["nbformat"], document["nbformat_minor"]) == (4, 5)
    assert set(document) == {"cells", "metadata", "nbformat", "nbformat_minor"}
    names = [cell["id"] for cell in cells()]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in names)
    for cell in cells():
        code = {"outputs", "execution_count"} if cell["cell_type"] == "code" else set()
        assert set(cell) == {"cell_type", "id", "metadata", "source", *code}
        assert cell["cell_type"] in {"code", "markdown"}
        assert all(line.endswith("\n") for line in cell["source"][:-1])
        assert cell.get("outputs", []) == []
        assert cell.get("execution_count") is None


@pytest.mark.slow
def test_the_notebook_draws_the_results(
    run: Run, results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One curve per campaign: HTTP/3 needs half the time of HTTP/2 in every comparison."""
    names = run(results)
    out = capsys.readouterr().out
    assert "2 campaigns in" in out
    assert "study/one" in out
    assert "study/one: 1 reproduced, 1 inconclusive" in out
    assert [label.rpartition(":")[0] for label in names["DRAWN"]] == ["study/one", "study/two's"]
    assert [values.tolist() for values in names["DRAWN"].values()] == [[0.5] * 4] * 2
    assert len(names["figure"].axes[0].get_legend().get_texts()) == 2


def test_the_notebook_without_results_says_so(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the way out; the figure says that it is empty."""
    names = run(tmp_path / "none")
    out = capsys.readouterr().out
    assert "set HTTPBED_RESULTS to a folder with some" in out
    assert "no trials" in out
    assert "no verdicts" in out
    assert "no campaign has two" in names["figure"].axes[0].get_title()
