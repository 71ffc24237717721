"""The section on page loads: its figures, bounded in number, bytes and time.

Of at most three scenes (:mod:`~httpbed.addons.pages.report.scenes`) there are a film, a filmstrip,
curves of progress, the resources, and waterfalls of two typical loads; and of all loads the
distribution of a time, and a heat map of ratios where a page is made of two factors. Pictures are
small JPEG files. A film has at most 1.2 MB, and all together stays below 10 MB, of however many
loads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl

from httpbed.addons.pages import loads
from httpbed.addons.pages.load.browser_load import BrowserLoad
from httpbed.addons.pages.report import (
    cumulative,
    film,
    filmstrip,
    heat,
    metrics_table,
    progress,
    resources,
    scenes,
    thumbnails,
    waterfall,
)
from httpbed.addons.pages.report.film import Film
from httpbed.addons.pages.report.metrics_table import PageTable
from httpbed.addons.pages.report.pictured import PhotoPlot
from httpbed.addons.pages.report.scenes import Scene, SceneTreatment
from httpbed.experiment.metric import METRICS
from httpbed.report.figures import STYLE, Plot
from httpbed.report.html_tables import MOST_LISTED
from httpbed.report.phrasing import level, title, treatment
from httpbed.report.visible_figure import VisibleFigure
from httpbed.results.findings import METRIC_OF_PAGES, Findings
from httpbed.results.sample import Sample, samples
from httpbed.store.results import Results

MOST_WATERFALLS = 2
"""Of a scene."""


@dataclass(frozen=True)
class SceneFigures:
    """What is shown of a scene."""

    name: str
    film: Film | None
    plots: tuple[Plot, ...]
    left_out: str


@dataclass(frozen=True)
class Section:
    """What is shown of a campaign's page loads."""

    metrics: PageTable | None
    """None where no load has a value."""
    plots: tuple[Plot, ...]
    """Of all loads."""
    parts: tuple[SceneFigures, ...]
    left_out: str
    example: str
    """A trial, as ``--trial`` takes it."""

    def save(self, folder: Path) -> None:
        """Write all pictures."""
        for plot in (*self.plots, *(plot for part in self.parts for plot in part.plots)):
            plot.save(folder)
        for part in self.parts:
            if part.film:
                part.film.save(folder)


def make(findings: Findings, results: Results) -> Section | None:
    """Draw everything; None where no treatment loads a page."""
    if not findings.has_pages:
        return None
    chosen = scenes.choose(findings, results)
    with mpl.rc_context(STYLE):
        return Section(
            metrics=metrics_table.make(results, findings.first(MOST_LISTED)),
            plots=tuple(_of_all(findings, results)),
            parts=tuple(_part(scene, number) for number, scene in enumerate(chosen, start=1)),
            left_out=scenes.left_out(findings, chosen),
            example=next((s.typical.name for one in chosen for s in one.treatments), ""),
        )


def _of_all(findings: Findings, results: Results) -> Iterator[Plot]:
    shown = heat.of(findings, results.document)
    if shown is not None:
        yield Plot(
            "pages-ratios", heat.caption(findings, shown), heat.alternative(shown), heat.draw(shown)
        )
    metric = _time_of_loads(findings)
    panels = _panels(findings, samples(results, metric))
    if panels:
        left = len(panels) - cumulative.MOST_PANELS
        more = (
            f" {left} further panels are not drawn; a [[figure]] can draw them." if left > 0 else ""
        )
        what = title(metric)
        yield Plot(
            "pages-cumulative",
            f"Share of loads with at most this {what}; a curve that ends below 100 % has loads"
            f" without a value.{more}",
            f"Cumulative distribution of the {what} of each treatment.",
            cumulative.draw(panels, f"{what} (s)"),
        )


def _time_of_loads(findings: Findings) -> str:
    """Return the report's metric if it is a time of a page load, else the page load time."""
    metric = METRICS[findings.metric]
    is_time = metric.applies == "page load" and metric.unit == "s" and not metric.per_item
    return findings.metric if is_time else METRIC_OF_PAGES


def _panels(
    findings: Findings, found: dict[tuple[str, ...], Sample]
) -> dict[str, dict[str, Sample]]:
    """Group samples of a metric as scenes are, by what is the same in a panel."""
    by_levels = {tuple(one.levels.items()): one for one in found.values()}
    rows = [row for _, row in findings.rows()]
    telling = [
        name
        for name in (*findings.others, *findings.network)
        if name not in findings.base and len({row.levels[name] for row in rows}) > 1
    ]
    panels: dict[str, dict[str, Sample]] = {}
    for row in rows:
        sample = by_levels[tuple(row.levels.items())]
        if sample.n:
            where = ", ".join(level(name, row.levels[name]) for name in telling)
            panels.setdefault(where, {})[treatment(row.levels, findings.base)] = sample
    return panels


def _part(scene: Scene, number: int) -> SceneFigures:
    shown = {one.name: one for one in scene.treatments}
    typical = {name: one.typical.load for name, one in shown.items()}
    where = f" {scene.name}:" if scene.name else ""
    made = film.make(
        typical,
        f"page-{number}-film",
        f"Film,{where} typical loads in real time, from the start of the navigation; the bar is the"
        " visual progress. A film begins again after its end.",
    )
    return SceneFigures(scene.name, made, tuple(_plots(shown, number)), scene.left_out)


def _plots(shown: dict[str, SceneTreatment], number: int) -> Iterator[Plot]:
    loaded = {name: one.typical.load for name, one in shown.items()}
    if any(load.frames for load in loaded.values()):
        yield _strip(shown, number)
        yield from _progress(shown, number)
    if any(resources.spans(load) for load in loaded.values()):
        yield _plot(
            f"page-{number}-resources",
            "Resources of the typical loads, in the order in which the page asked for them: a grey"
            " line is the time from then until the request was sent, a bar from then until the last"
            " byte. Below, how long each took with that wait and without it.",
            resources.draw(loaded),
        )
    for index, (name, one) in enumerate(_ends(list(shown.items())), start=1):
        yield waterfall_of(
            one.typical.load, f"page-{number}-waterfall-{index}", f"{name}: {one.text}"
        )


def _ends(shown: Sequence[tuple[str, SceneTreatment]]) -> list[tuple[str, SceneTreatment]]:
    """Choose the first and the last: the protocols that differ most stand there."""
    return [*shown[:1], *shown[1:][-(MOST_WATERFALLS - 1) :]]


def _strip(shown: dict[str, SceneTreatment], number: int) -> Plot:
    strips = {
        name: (one.typical.load, one.text + thumbnails.end(one.typical.load))
        for name, one in shown.items()
    }
    texts = "; ".join(f"{name}: {text}" for name, (_, text) in strips.items())
    return PhotoPlot(
        f"page-{number}-filmstrip",
        "What was seen when, of each treatment's typical load: the one whose value, at the right,"
        " is nearest to the median. A strong frame is a picture that differs from the one before.",
        f"Filmstrips. {texts}.",
        filmstrip.draw(strips),
    )


def _progress(shown: dict[str, SceneTreatment], number: int) -> Iterator[Plot]:
    """Draw the loads whose pictures are all there, if any."""
    all_of = {name: [loads.progress(t.load) for t in one.trials] for name, one in shown.items()}
    curves = {name: known for name, many in all_of.items() if (known := [*filter(None, many)])}
    if not curves:
        return
    unknown = sum(not steps for many in all_of.values() for steps in many)
    fewer = [one for one in shown.values() if len(one.trials) < one.of]
    most = max((one.of for one in fewer), default=0)
    note = f" Of up to {most} loads the {scenes.MOST_LOADS} nearest to the median are drawn."
    note *= bool(fewer)
    note += f" {unknown} loads whose pictures are not all there are left out." if unknown else ""
    yield _plot(
        f"page-{number}-progress",
        "Visual progress, by colour histograms: the median of the loads of each treatment, and"
        f" behind it a thin line for each load.{note}",
        progress.draw(curves),
    )


def waterfall_of(load: BrowserLoad, name: str, text: str) -> Plot:
    """Draw the waterfall of a load."""
    left = waterfall.left_out(load)
    return _plot(
        name,
        f"Waterfall of {text}. A thin line is the wait in the browser, a frame the making of a"
        " connection, the light bar the wait for the answer, the full one its body."
        f" FCP and LCP: first and largest contentful paint; DOM: the document was parsed. {left}",
        waterfall.draw(load),
    )


def _plot(name: str, caption: str, figure: VisibleFigure) -> Plot:
    return Plot(name, caption.strip(), caption.strip(), figure)
