"""httpbed accepts the experiments and command lines that the guides show."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path
from typing import get_args

import pytest
from click.testing import CliRunner

import campaigns
import printed
import results_archives
import stored_campaigns
from httpbed.addons.claims import claim_trials
from httpbed.addons.claims.stated_claim import OtherCells, RankTrend, StatedClaim
from httpbed.addons.compare import compare_verb as compare
from httpbed.addons.handover.handover_model import HandoverKind
from httpbed.addons.pages.page import PageLoad, RecordedPage
from httpbed.cli import export
from httpbed.cli.main import cli
from httpbed.experiment import parser, workload_kinds
from httpbed.experiment.document import scenario_document
from httpbed.experiment.scenario import Scenario

GUIDES = Path(__file__).parents[2] / "docs/guides"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
HEAD = """
schema = 1
name = "shown"
question = "Is what the guide shows accepted?"
replicates = 2
seed = 1
"""
REST = """
[topology]
hosts = ["client", "proxy", "server"]
links = [
    { between = ["client", "proxy"], loss = { factor = "loss" } },
    { between = ["proxy", "server"] },
]

[workload]
kind = "download"
size = "1 kB"
"""


def blocks(guide: str, language: str) -> list[str]:
    found = BLOCK.findall((GUIDES / guide).read_text())
    return [text for name, text in found if name == language]


def test_the_design_of_the_comparison_guide_is_an_experiment() -> None:
    """The factors and groups are accepted with a header, a network and a workload around them."""
    (shown,) = blocks("compare.md", "toml")
    read = parser.read(HEAD + shown + REST)
    assert read.mistakes == ()
    assert len(read.treatments) == 4 - 1 + 2


def test_the_range_of_replicates_of_the_guide_is_accepted() -> None:
    """With its three keys."""
    (shown,) = blocks("grow.md", "toml")
    factor = '[factors]\nloss = ["0 %", "1 %"]\n'
    roles = '[roles.client]\nimplementation = "curl"\n[roles.server]\nimplementation = "nginx"\n'
    read = parser.read(HEAD.replace("replicates = 2", shown) + factor + roles + REST)
    assert not [mistake for mistake in read.mistakes if "replicates" in mistake.place]
    assert read.experiment
    assert read.experiment.stopping
    assert read.experiment.blocks == 40


def test_the_shared_bottleneck_of_the_topologies_page_is_an_experiment() -> None:
    """The network in which two pairs share a bottleneck, with its roles and competitors."""
    dumbbell, taking_part = blocks("../concepts/topologies.md", "toml")[1:3]
    read = parser.read(HEAD + taking_part + dumbbell)
    assert read.mistakes == ()
    document = scenario_document(read.document, read.treatments[0])
    scenario = Scenario.model_validate(document)
    (competitor,) = scenario.competitors
    assert competitor.client.host == "other"
    assert competitor.after == 0.1
    (late,) = parser.read(HEAD + taking_part.replace("100 ms", "1000 h") + dumbbell).mistakes
    assert late.place == "competitors[0].after"


def test_the_figures_of_the_guide_are_accepted() -> None:
    """They fit the experiment of the tests; the second block chooses panels."""
    shown, chosen = blocks("figures.md", "toml")
    assert parser.read(campaigns.VERSIONS + shown).mistakes == ()
    delayed = campaigns.VERSIONS.replace('"25 ms"', '{ factor = "delay" }')
    delayed = delayed.replace("[factors]", '[factors]\ndelay = ["0 ms", "50 ms"]')
    chosen = chosen.replace("4 %", "2 %")
    bars = 'id = "a"\ntitle = "a"\nkind = "bars"\nmetric = "request_time"\nx = "http_version"\n'
    read = parser.read(f"{delayed}\n[[figure]]\n{bars}{chosen}")
    assert read.mistakes == ()


def test_the_handover_guide_shows_a_whole_experiment_and_every_kind() -> None:
    """The experiment is accepted unchanged, and the table lists every kind of change."""
    (shown,) = blocks("handovers.md", "toml")
    read = parser.read(shown)
    assert read.mistakes == ()
    assert len(read.treatments) == 2 * 3
    text = (GUIDES / "handovers.md").read_text()
    assert all(f'| `"{kind}"` |' in text for kind in get_args(HandoverKind))


def test_the_line_of_the_comparison_guide_is_accepted() -> None:
    """It prints an experiment whose name the guide uses for the campaign's folder."""
    line = blocks("compare.md", "sh")[0].replace("\\\n", " ")
    words = shlex.split(line)[2:]
    result = CliRunner().invoke(compare.command, [*words, "--dry-run"])
    assert result.exit_code == 0, result.output
    name = re.search(r'^name = "(compare-\w+)"', result.output, re.MULTILINE)
    assert name
    assert f"cp {name[1]}/experiment.toml" in "".join(blocks("compare.md", "sh"))


def test_the_experiment_of_the_traces_guide_is_accepted() -> None:
    """Unchanged: three kinds of capacity, two HTTP versions."""
    (shown,) = blocks("traces.md", "toml")
    read = parser.read(shown)
    assert read.mistakes == ()
    assert len(read.treatments) == 3 * 2


def test_the_lines_of_the_guides_that_compare_are_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each prints an experiment, without the options that name a build."""
    monkeypatch.chdir(tmp_path)
    (recipe,) = blocks("ci.md", "toml")
    Path("ci/recipes").mkdir(parents=True)
    Path("ci/recipes/my-server.toml").write_text(recipe)
    for guide in ("first-comparison.md", "own-binary.md", "ci.md"):
        lines = "".join(blocks(guide, "sh")).replace("\\\n", " ").splitlines()
        for line in (line for line in lines if line.startswith("httpbed compare")):
            words = shlex.split(line.partition(" --program")[0].partition(" > ")[0])[2:]
            result = CliRunner().invoke(compare.command, [*words, "--dry-run"])
            assert result.exit_code == 0, result.output


@pytest.mark.slow
def test_what_lines_on_published_archives_print_is_what_the_guides_show() -> None:
    """`make docs` runs these lines."""
    pages = {guide: guide.read_text() for guide in GUIDES.glob("*.md")}
    shown = {guide: text for guide, text in pages.items() if printed.BLOCK.search(text)}
    assert shown
    for guide, text in shown.items():
        assert printed.page(text) == text, guide.name


@pytest.mark.slow
def test_the_query_of_the_dataset_guide_prints_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On the dataset of the published campaigns that the guide writes first."""
    monkeypatch.chdir(tmp_path)
    Path("results").symlink_to(results_archives.PUBLISHED)
    line = blocks("dataset.md", "console")[0].splitlines()[0]
    assert CliRunner().invoke(cli, shlex.split(line.removeprefix("$ httpbed "))).exit_code == 0
    queries, tables = blocks("dataset.md", "python"), blocks("dataset.md", "text")
    for query, table in zip(queries, tables, strict=True):
        exec(query, {})  # noqa: S102 - the guide's own code
        assert capsys.readouterr().out.strip() == table.strip()


def test_the_report_guide_explains_the_table_of_the_first_comparison() -> None:
    """Both guides show one campaign."""
    table = blocks("report.md", "text")[0]
    assert table in blocks("first-comparison.md", "text")[0]


def test_the_har_files_of_the_pages_guide_are_pages() -> None:
    """The guide explains every value of ``order``."""
    shown = [text for text in blocks("pages.md", "toml") if "har =" in text]
    assert shown
    for text in shown:
        load = workload_kinds.parse(tomllib.loads(text)["workload"])
        assert isinstance(load, PageLoad)
        assert isinstance(load.page, RecordedPage)
    for order in get_args(get_args(RecordedPage.model_fields["order"].annotation)[0]):
        assert f'`order = "{order}"`' in (GUIDES / "pages.md").read_text()


def test_the_claim_of_the_guide_is_accepted() -> None:
    """In an experiment with its factors."""
    claim, *shapes, others = blocks("claims.md", "toml")
    for text in shapes:
        StatedClaim.model_validate({"id": "a", "says": "a claim", **tomllib.loads(text)})
    for key, cells in tomllib.loads(others).items():
        RankTrend.model_validate(cells) if key == "trend" else OtherCells.model_validate(cells)
    read = parser.read(campaigns.VERSIONS + claim)
    assert read.mistakes == ()
    assert read.experiment is not None
    assert len(read.experiment.claims) == 1


SHIPPED = re.compile(
    r"^\| (\w+/[\w-]+) \| (\d+)\D.*? \| (\d+)\D.*? \| (\d+)\D.*? \|$", re.MULTILINE
)


@pytest.mark.slow
def test_the_claims_guide_has_the_trials_that_claims_need() -> None:
    """Of each experiment with claims: at the standard scale, also for claims, and without scale."""
    rows = SHIPPED.findall((GUIDES / "claims.md").read_text())
    folder = GUIDES.parents[1] / "experiments"
    for name, *numbers in rows:
        whole = parser.read((folder / f"{name}.toml").read_text()).experiment
        assert whole is not None
        standard = whole.at_scale("standard")
        needed = [
            claim_trials.ADDITION.needed(whole, experiment).blocks.values()
            for experiment in (standard, whole)
        ]
        assert [*map(int, numbers)] == [standard.trials(), *map(sum, needed)], name
    claiming = [path for path in folder.glob("*/*.toml") if "[[claim]]" in path.read_text()]
    assert len(rows) == len(claiming)


def test_two_machines_are_joined_as_the_guide_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Campaigns that differ in their seed become one."""
    monkeypatch.chdir(tmp_path)
    text = stored_campaigns.SMALL.replace("replicates = 2", "replicates = 6")
    for seed, machine in enumerate(("first-machine", "second-machine"), start=1):
        part = re.sub("^seed = .*", f"seed = {seed}", text, flags=re.MULTILINE)
        trials = stored_campaigns.loaded(part).trials
        stored_campaigns.make(
            Path(machine), [stored_campaigns.record(trial) for trial in trials], part
        )
    *_, shown = blocks("many-machines.md", "text")
    (line,) = [block for block in blocks("many-machines.md", "sh") if "--archive" in block]
    ran = CliRunner().invoke(export.command, shlex.split(line)[2:])
    assert (ran.exit_code, ran.output) == (0, shown)
