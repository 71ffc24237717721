"""The section on page loads: the table of their metrics, and pictures of a few scenes.

A scene has treatments that differ only in what is compared, with their typical loads: the loads
whose Speed Index is nearest to the median. A campaign may have hundreds of scenes and thousands of
loads, so at most :data:`MAX_SCENES` are shown, those with the smallest, the middle and the largest
ratio. Each has a filmstrip, curves of progress, waterfalls of two loads, and critical paths.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import matplotlib as mpl

from httpbed.addons.pages import loads
from httpbed.addons.pages.load.browser_load import BrowserLoad
from httpbed.addons.pages.loads import MEASURES, PageTrial, bands_of
from httpbed.addons.pages.page_check_table import RECORDING
from httpbed.addons.pages.replay_program import SKELETON
from httpbed.addons.pages.report import (
    critical_path_report,
    metrics_table,
    screens,
    waterfall,
)
from httpbed.addons.pages.report.screens import PhotoPlot
from httpbed.base.units import format_count
from httpbed.experiment.factorial import TreatmentKey, treatment_key
from httpbed.report.document import (
    Block,
    Figure,
    Heading,
    NoteMaker,
    Paragraph,
    ReportInput,
    Section,
    SectionMaker,
)
from httpbed.report.phrasing import level, listed, number_format, title, treatment
from httpbed.report.sections import MAX_UNFOLDED
from httpbed.report.svg import STYLE, Plot, VisibleFigure
from httpbed.results import attempts
from httpbed.results.findings import Condition, Findings, Row
from httpbed.results.sample import by_treatment, of_trials
from httpbed.store.results import Results

MAX_SCENES = 3
MAX_TREATMENTS = 4
MAX_LOADS = 6
"""Loads of a treatment, whose pictures are read for the curves of progress."""
MAX_WATERFALLS = 2
"""Loads of a scene whose waterfalls are drawn."""
MAX_CHANGES = 600
"""Characters of the sentences on one recorded page."""
WITHOUT_MEANING = (
    "parsing, scripts and paints are not the page's, so there is no Speed Index and no paint"
)

Values = Mapping[tuple[str, int], float]
"""A measure of loads, by trial and attempt."""


def _section(source: ReportInput) -> Section | None:
    findings, results = source.listed, source.results
    if not any(bands_of(row) is not None for _, row in findings.rows()):
        return None
    blocks: list[Block] = []
    if metrics := source.once("page metrics", lambda: metrics_table.make(results, findings)):
        count = len(metrics.names)
        fold = f"All metrics of {count} configurations" if count > MAX_UNFOLDED else ""
        blocks.append(replace(metrics, fold=fold))
        if any(metrics_table.bands(findings)):
            blocks.append(Paragraph(metrics_table.MEANING_OF_BANDS))
    if source.draws:
        with mpl.rc_context(STYLE):
            blocks += _scenes(source.findings, results)
    return Section("pages", "Page loads", tuple(blocks))


def _scenes(findings: Findings, results: Results) -> Iterator[Block]:
    """Yield what is shown of each scene."""
    chosen = choose(findings, results)
    if left_out := scenes_left_out(findings, chosen):
        yield Paragraph(left_out)
    for number, scene in enumerate(chosen, start=1):
        shown = {one.name: one for one in scene.treatments}
        if scene.name:
            yield Heading(scene.name)
        seen = {name: one for name, one in shown.items() if one.typical.load.frames}
        if unseen := [name for name in shown if name not in seen]:
            yield Paragraph(f"Without pictures: {listed(unseen)}.")
        yield from map(Figure, _plots(shown, seen, number))
        paths = (
            critical_path_report.of_trial(results, one.typical, name) for name, one in shown.items()
        )
        if known := [*filter(None, paths)]:
            yield critical_path_report.shares_table(known)
            yield Paragraph(critical_path_report.READING, "httpbed explain DIR", "has every step.")
        if scene.left_out:
            yield Paragraph(scene.left_out)
    if example := next((s.typical.name for one in chosen for s in one.treatments), ""):
        yield Paragraph("One load alone:", f"httpbed report DIR --trial {example}")


def _plots(
    shown: dict[str, SceneTreatment], seen: dict[str, SceneTreatment], number: int
) -> Iterator[Plot]:
    """Draw the typical loads; ``seen`` are those with pictures."""
    if seen:
        yield _strip(seen, number)
        yield from _progress(seen, number)
    for index, (name, one) in enumerate(_ends(list(shown.items())), start=1):
        yield waterfall_of(
            one.typical.load, f"page-{number}-waterfall-{index}", f"{name}: {one.text}"
        )


def _ends(shown: Sequence[tuple[str, SceneTreatment]]) -> list[tuple[str, SceneTreatment]]:
    """Choose the first and the last: the protocols that differ most stand there."""
    return [*shown[:1], *shown[1:][-(MAX_WATERFALLS - 1) :]]


def _strip(shown: dict[str, SceneTreatment], number: int) -> Plot:
    strips = {
        name: (one.typical.load, one.text + screens.end(one.typical.load))
        for name, one in shown.items()
    }
    texts = "; ".join(f"{name}: {text}" for name, (_, text) in strips.items())
    return PhotoPlot(
        f"page-{number}-filmstrip",
        "What was seen when, of each treatment's typical load: the one whose value, at the right,"
        " is nearest to the median. A strong frame is a picture that differs from the one before.",
        f"Filmstrips. {texts}.",
        screens.filmstrip(strips),
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
    note = f" Of up to {most} loads the {MAX_LOADS} nearest to the median are drawn."
    note *= bool(fewer)
    if unknown:
        note += f" Left out, because pictures are missing: {format_count(unknown, 'load')}."
    yield _plot(
        f"page-{number}-progress",
        "Visual progress, by colour histograms: the median of the loads of each treatment, and"
        f" behind it a thin line for each load.{note}",
        screens.progress(curves),
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


@dataclass(frozen=True)
class SceneTreatment:
    """A treatment of a scene."""

    name: str
    trials: tuple[PageTrial, ...]
    """The first is the typical one."""
    of: int
    """How many loads there are."""
    text: str
    """Which trial the typical load is, and by what value."""

    @property
    def typical(self) -> PageTrial:
        """The load that is nearest to the median."""
        return self.trials[0]


@dataclass(frozen=True)
class Scene:
    """Treatments side by side."""

    name: str
    """What is the same for all of them; empty where nothing else varies."""
    treatments: tuple[SceneTreatment, ...]
    left_out: str


def all_of(findings: Findings) -> dict[str, list[tuple[Condition, Row]]]:
    """Group treatments by all that is not compared."""
    found: dict[str, list[tuple[Condition, Row]]] = {}
    for condition, row in findings.rows():
        found.setdefault(_key(findings, row), []).append((condition, row))
    return found


def choose(findings: Findings, results: Results) -> list[Scene]:
    """Choose scenes, and read their loads; those without any loads are left out."""
    groups = {key: rows for key, rows in all_of(findings).items() if _values(rows)}
    measure = _measure(results)
    values = of_trials(results, measure)
    found = by_treatment(results, attempts.valid(results))
    made = [
        _scene(findings, results, groups[key], found, (measure, values)) for key in _few(groups)
    ]
    return [scene for scene in made if scene.treatments]


def scenes_left_out(findings: Findings, shown: Sequence[Scene]) -> str:
    """Say how the shown scenes were chosen; nothing where all are shown."""
    count = len(all_of(findings))
    if count <= len(shown):
        return ""
    if not shown:
        return (
            "No load is shown, because the campaign has none of the browser's records: an archive"
            " keeps only tables."
        )
    return (
        f"Shown are {len(shown)} of {count} scenes: those with the smallest, the middle and the"
        f" largest ratio of the {title(findings.metric)}."
    )


def _key(findings: Findings, row: Row) -> str:
    return repr([row.levels[name] for name in _apart(findings)])


def _apart(findings: Findings) -> list[str]:
    """Name the factors that tell scenes apart."""
    names = (*findings.others, *findings.network)
    return [name for name in names if name not in findings.base]


def _values(rows: Sequence[tuple[Condition, Row]]) -> bool:
    return any(row.tally.recorded for _, row in rows)


def _few(groups: Mapping[str, Sequence[tuple[Condition, Row]]]) -> list[str]:
    """Choose the extremes and the middle by the ratio that is farthest from 1."""
    keys = list(groups)
    if len(keys) <= MAX_SCENES:
        return keys
    ratios = {key: _ratio(rows) for key, rows in groups.items()}
    known = sorted((ratio, key) for key, ratio in ratios.items() if ratio is not None)
    order = [key for _, key in known] or keys
    chosen = {order[0], order[len(order) // 2], order[-1]}
    return [key for key in order if key in chosen]


def _ratio(rows: Sequence[tuple[Condition, Row]]) -> float | None:
    found = [row.ratio.value.value for _, row in rows if row.ratio]
    return max(found, key=lambda one: max(one, 1 / one if one else 0.0), default=None)


def _measure(results: Results) -> str:
    observed = set(results.observations["metric"].unique().to_pylist())
    return next((name for name in MEASURES if name in observed), MEASURES[0])


def _scene(
    findings: Findings,
    results: Results,
    rows: Sequence[tuple[Condition, Row]],
    loads: Mapping[TreatmentKey, list[dict[str, Any]]],
    by: tuple[str, Values],
) -> Scene:
    shown = [
        made
        for _, row in rows[:MAX_TREATMENTS]
        if (made := _treatment(findings, results, row, loads, by)) is not None
    ]
    rest = len(rows) - MAX_TREATMENTS
    more = f"{rest} further treatments are not shown." if rest > 0 else ""
    return Scene(_name(findings, rows[0][1]), tuple(shown), more)


def _name(findings: Findings, row: Row) -> str:
    """Say what is the same in a scene, as far as it differs between scenes."""
    every = [one.levels for _, one in findings.rows()]
    names = [name for name in _apart(findings) if len({levels[name] for levels in every}) > 1]
    return ", ".join(level(name, row.levels[name]) for name in names)


def _treatment(
    findings: Findings,
    results: Results,
    row: Row,
    found: Mapping[TreatmentKey, list[dict[str, Any]]],
    by: tuple[str, Values],
) -> SceneTreatment | None:
    measure, values = by
    key = treatment_key(row.levels, results.experiment.factors)
    loads = found.get(key, [])
    done = [load for load in loads if load["outcome"] == "completed"] or loads
    trials = tuple(_read(results, attempts.typical(done, values)))
    if not trials:
        return None
    names = [
        name for name in findings.base if len({r.levels[name] for _, r in findings.rows()}) > 1
    ]
    return SceneTreatment(
        name=treatment(row.levels, names or findings.others),
        trials=trials,
        of=len(loads),
        text=_caption(measure, values, trials[0]),
    )


def _read(results: Results, rows: Sequence[loads.TrialRow]) -> Iterator[PageTrial]:
    for row in rows[:MAX_LOADS]:
        trial = loads.read(results, row)
        if trial is not None:
            yield trial


def _caption(measure: str, values: Values, trial: PageTrial) -> str:
    value = values.get((trial.trial, trial.attempt))
    if value is None:
        return f"trial {trial.name}"
    fitting = number_format(measure, [value])
    return f"{title(measure)} {fitting.number(value)} {fitting.unit}, trial {trial.name}"


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


SECTION = SectionMaker("pages", 90, _section)
NOTES = NoteMaker("recordings", 85, _notes)
