"""The section on page loads: its figures, bounded in number, bytes and time.

Of at most three scenes (:mod:`~httpbed.addons.pages.report.scenes`) there are a film, a filmstrip,
curves of progress, the resources, waterfalls of two typical loads, and the critical paths. Pictures
are small JPEG files. A film has at most 1.2 MB, and all together stays below 10 MB, of however many
loads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import matplotlib as mpl

from httpbed.addons.pages import loads
from httpbed.addons.pages.load.browser_load import BrowserLoad
from httpbed.addons.pages.page_check_table import RECORDING
from httpbed.addons.pages.page_checks import SKELETON
from httpbed.addons.pages.page_metrics import bands_of
from httpbed.addons.pages.report import (
    critical_path_report,
    film,
    filmstrip,
    metrics_table,
    progress,
    resources,
    scenes,
    thumbnails,
    waterfall,
)
from httpbed.addons.pages.report.film import Film
from httpbed.addons.pages.report.filmstrip import PhotoPlot
from httpbed.addons.pages.report.scenes import Scene, SceneTreatment
from httpbed.report import templating
from httpbed.report.document import (
    Block,
    Drawn,
    Figure,
    Heading,
    NoteMaker,
    Paragraph,
    ReportInput,
    Section,
    SectionMaker,
)
from httpbed.report.figures import STYLE, Plot
from httpbed.report.sections import MAX_UNFOLDED
from httpbed.report.svg import VisibleFigure
from httpbed.results.findings import Findings
from httpbed.store.results import Results

MAX_WATERFALLS = 2  # of a scene


def _section(source: ReportInput) -> Section | None:
    findings, results = source.listed, source.results
    if not any(bands_of(row) is not None for _, row in findings.rows()):
        return None
    blocks: list[Block] = []
    if metrics := metrics_table.make(results, findings):
        count = len(metrics.names)
        fold = f"All metrics of {count} configurations" if count > MAX_UNFOLDED else ""
        blocks.append(replace(metrics, fold=fold))
        if any(metrics_table.bands(findings)):
            blocks.append(Paragraph(metrics_table.MEANING_OF_BANDS))
    files: dict[str, bytes] = {}
    if source.draws:
        with mpl.rc_context(STYLE):
            blocks += _scenes(source.findings, results, files)
    return Section("pages", "Page loads", tuple(blocks), files=files)


def _scenes(findings: Findings, results: Results, files: dict[str, bytes]) -> Iterator[Block]:
    """Yield what is shown of each scene; add its film to the files."""
    chosen = scenes.choose(findings, results)
    if left_out := scenes.left_out(findings, chosen):
        yield Paragraph(left_out)
    for number, scene in enumerate(chosen, start=1):
        shown = {one.name: one for one in scene.treatments}
        if scene.name:
            yield Heading(scene.name)
        if made := _film(scene, shown, number):
            files[f"{made.name}.webp"] = made.data
            yield Drawn(templating.part("film.html.j2", __package__, film=made))
        yield from map(Figure, _plots(shown, number))
        paths = [critical_path_report.of_trial(results, one.typical) for one in shown.values()]
        if known := [one for one in paths if one]:
            yield critical_path_report.shares_table(known)
            yield Paragraph(critical_path_report.READING, "httpbed explain DIR", "has every step.")
        if scene.left_out:
            yield Paragraph(scene.left_out)
    if example := next((s.typical.name for one in chosen for s in one.treatments), ""):
        yield Paragraph("One load alone:", f"httpbed report DIR --trial {example}")


def _film(scene: Scene, shown: dict[str, SceneTreatment], number: int) -> Film | None:
    where = f" {scene.name}:" if scene.name else ""
    return film.make(
        {name: one.typical.load for name, one in shown.items()},
        f"page-{number}-film",
        f"Film,{where} typical loads in real time, from the start of the navigation; the bar is the"
        " visual progress. A film begins again after its end.",
    )


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
    return [*shown[:1], *shown[1:][-(MAX_WATERFALLS - 1) :]]


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
    note = f" Of up to {most} loads the {scenes.MAX_LOADS} nearest to the median are drawn."
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


SECTION = SectionMaker("pages", 90, _section)


# The notes on replayed pages: what a skeleton cannot show, and how a replay differs.

MAX_CHANGES = 600
"""Characters of the sentences on one page."""
WITHOUT_MEANING = (
    "parsing, scripts and paints are not the page's, so there is no Speed Index and no paint"
)


def _notes(source: ReportInput) -> Iterator[str]:
    """Yield a note for each recorded page, with its deviations from the HAR file."""
    rows = [row for row in source.results.checks.to_pylist() if row["check"] == RECORDING.id]
    for figure, limit in dict.fromkeys((row["figure"], row["limit"]) for row in rows):
        name, _, changes = str(figure).partition("; ")
        if limit == SKELETON:
            yield f"{name}: {SKELETON} requests its resources; {WITHOUT_MEANING}"
        if changes:
            shown = changes if len(changes) <= MAX_CHANGES else f"{changes[: MAX_CHANGES - 1]}…"
            yield f"{name}: {shown}"


NOTES = NoteMaker("recordings", 85, _notes)
