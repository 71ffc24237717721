"""Scenes: treatments that differ only in what is compared, with their typical loads.

A campaign may have hundreds of scenes and thousands of loads. At most :data:`MAX_SCENES` are
shown, and at most so many loads read: the scenes with the smallest, the largest and the middle
ratio, and of each treatment the loads whose Speed Index is nearest to the median.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from httpbed.addons.pages import loads
from httpbed.addons.pages.loads import MEASURES, PageTrial
from httpbed.experiment.factorial import TreatmentKey, treatment_key
from httpbed.report.phrasing import level, number_format, title, treatment
from httpbed.results import attempts
from httpbed.results.findings import Condition, Findings, Row
from httpbed.results.sample import by_treatment, of_trials
from httpbed.store.results import Results

MAX_SCENES = 3
MAX_TREATMENTS = 4
"""Treatments of a scene."""
MAX_LOADS = 6
"""Of a treatment, whose pictures are read for the curves of progress."""

Values = Mapping[tuple[str, int], float]


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


def left_out(findings: Findings, shown: Sequence[Scene]) -> str:
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
    done = [one for one in loads if one["outcome"] == "completed"] or loads
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


def _read(results: Results, rows: Sequence[loads.Row]) -> Iterator[PageTrial]:
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
