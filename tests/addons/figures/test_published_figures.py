"""The figures of the published experiments: complete grids, and grids of which a part ran."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from campaigns import Ending, campaign
from declared_figures import panels
from httpbed.addons.figures import figures_section
from httpbed.addons.figures.stated_figure import PlacedFigure, StatedFigure, place
from httpbed.experiment import parser
from httpbed.experiment.experiment import Experiment
from httpbed.experiment.metric import METRICS
from httpbed.report.svg import Plot
from httpbed.store.results import Results

pytestmark = pytest.mark.slow

STUDIES = Path(__file__).resolve().parents[3] / "experiments"
FILES = sorted(
    file for file in STUDIES.glob("*/*.toml") if file.parent.name not in {"examples", "matrix"}
)
ITEMS = {"/": (0.0, 0.4), "/a.css": (0.5, 0.3), "/b.js": (0.6, 0.9)}
"""Start and length of each resource of a synthesised page load."""
FURTHER_STACKS = {"nginx-h3", "aioquic-cubic-h3"}
HAS_BARS = {"bars", "grid"}


@dataclass(frozen=True)
class Drawn:
    """A figure of a file, drawn from a synthesised campaign."""

    placed: PlacedFigure
    plot: Plot

    @property
    def panels(self) -> list[Axes]:
        return panels(self.plot)

    @property
    def hatched(self) -> int:
        return sum(
            isinstance(artist, Rectangle) and bool(artist.get_hatch())
            for axes in self.panels
            for artist in axes.findobj()
        )


def read(file: Path) -> tuple[Experiment, list[Mapping[str, str]]]:
    found = parser.read(file.read_text())
    assert found.experiment is not None
    return found.experiment, list(found.treatments)


def placed(file: Path) -> Iterator[PlacedFigure]:
    experiment, treatments = read(file)
    for stated in experiment.figures:
        yield place(stated, experiment.factors, treatments)


def synthesised(file: Path, ran: Callable[[Mapping[str, str]], bool]) -> Results:
    """Make a campaign of two blocks with all cells of the figures that ran."""
    figures = list(placed(file))
    wanted = {
        tuple(one.values())
        for figure in figures
        for cell in figure.cells
        for one in (cell.treatment, cell.base)
        if one is not None
    }
    metrics = [figure.stated.metric for figure in figures]

    def ends(levels: Mapping[str, str], block: int) -> Ending | None:
        if tuple(levels.values()) not in wanted or not ran(levels):
            return None
        value = 1 + math.fmod(sum(map(ord, "".join(levels.values()))), 7) + block / 10
        return Ending({metric: value for metric in metrics if not METRICS[metric].per_item})

    lines = file.read_text().splitlines()
    text = "\n".join(
        "replicates = 2" if line.startswith("replicates =") else line for line in lines
    )
    return with_items(campaign(ends, text), [figure.stated for figure in figures])


def with_items(results: Results, figures: list[StatedFigure]) -> Results:
    """Add the resources of each trial, where a figure draws them."""
    rows = [
        {**trial, "metric": metric, "item": name, "value": value, "unit": "s", "source": "client"}
        for trial in results.trials.to_pylist()
        for name, (start, length) in ITEMS.items()
        for metric, value in (
            (figure.metric, start if figure.length else length) for figure in figures
        )
        if METRICS[metric].per_item
    ] + [
        {
            **trial,
            "metric": figure.length,
            "item": name,
            "value": length,
            "unit": "s",
            "source": "client",
        }
        for trial in results.trials.to_pylist()
        for name, (_, length) in ITEMS.items()
        for figure in figures
        if figure.length
    ]
    schema = results.observations.schema
    every = [*results.observations.to_pylist(), *rows]
    table = results.observations.from_pylist(every, schema=schema)
    return Results(**{**vars(results), "observations": table})


def drawn(file: Path, ran: Callable[[Mapping[str, str]], bool] = lambda _: True) -> list[Drawn]:
    """Draw the figures of a file that have a value."""
    plots = {one.name: one for one in figures_section.make(synthesised(file, ran))[0]}
    every = [(one, plots.get(f"{figures_section.PREFIX}-{one.stated.id}")) for one in placed(file)]
    return [Drawn(figure, plot) for figure, plot in every if plot]


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_a_complete_grid_leaves_no_place_hatched(file: Path) -> None:
    """Except columns that no trial can run. Each figure names its source."""
    figures = drawn(file)
    assert len(figures) == len(list(placed(file)))
    for figure in figures:
        stated = figure.placed.stated
        absent = len(stated.absent) * len(figure.placed.series) * len(figure.placed.panels)
        assert figure.hatched == absent, stated.id
        assert len(figure.panels) == len(figure.placed.panels)
        texts = [text.get_text() for text in figure.plot.figure.findobj(Text)]
        assert any(stated.source in text.replace("\n", " ") for text in texts)


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_every_bar_and_cell_that_did_not_run_is_hatched(file: Path) -> None:
    """Half of the treatments ran."""

    def ran(levels: Mapping[str, str]) -> bool:
        return zlib.crc32("".join(levels.values()).encode()) % 2 == 0

    for figure in drawn(file, ran):
        shown = figure.placed
        if shown.stated.kind in HAS_BARS:
            absent = len(shown.stated.absent) * len(shown.series) * len(shown.panels)
            idle = sum(
                not (ran(cell.treatment) and (cell.base is None or ran(cell.base)))
                for cell in shown.cells
            )
            assert figure.hatched == idle + absent, shown.stated.id
            words = f"{idle + absent} of {len(shown.cells) + absent} cells did not run."
            assert idle + absent == 0 or words in figure.plot.caption


@pytest.mark.parametrize(
    ("experiment", "figure", "count", "cells"),
    [
        ("liu2024/single-stream", "figure-4", 3, 42),  # and six of Proxygen
        ("liu2024/single-stream", "figure-4-sizes", 18, 252),
        ("liu2024/multi-stream", "figure-5", 1, 20),
        ("liu2024/migration", "figure-6", 3, 48),
        ("liu2024/pages", "figure-7", 3, 216),
        ("biswal2016/grid", "figure-3", 18, 360),
        ("biswal2016/grid", "figure-4", 2, 18),
        ("zhang2023/rates", "figure-9", 2, 56),
        ("zhang2023/losses", "figure-10", 2, 32),
        ("ranjan2019/pages", "onload-2mbit", 16, 32),
        ("ranjan2019/pages", "onload-10mbit", 16, 32),
    ],
)
def test_a_figure_has_the_cells_of_the_published_one(
    experiment: str, figure: str, count: int, cells: int
) -> None:
    """Clients and paths, sizes, losses and sites as the paper has them."""
    (found,) = (one for one in placed(STUDIES / f"{experiment}.toml") if one.stated.id == figure)
    assert (len(found.panels), len(found.cells)) == (count, cells)


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_scale_paper_runs_every_cell_of_the_published_figures(file: Path) -> None:
    """So a campaign at that scale hatches only what no trial can run.

    Zhang and Song have two stacks; the further lines beside them are control arms.
    """
    experiment, _ = read(file)
    runs = {tuple(treatment.values()) for treatment in experiment.at_scale("paper").treatments()}
    lacking = {
        figure.stated.id: cell.treatment
        for figure in placed(file)
        for cell in figure.cells
        for one in (cell.treatment, cell.base)
        if one is not None and tuple(one.values()) not in runs
        if not (file.parent.name == "zhang2023" and one["stack"] in FURTHER_STACKS)
    }
    assert lacking == {}
