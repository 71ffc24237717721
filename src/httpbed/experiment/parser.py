"""Read an experiment's text; find every mistake in it, not only the first.

The header is checked by ``Experiment``, the choice of treatments by ``crossing_mistakes``, and
each treatment's scenario by ``Scenario``. A mistake at a place that a factor fills is reported
where its author wrote it: at the level.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from httpbed.experiment import changes, factorial_mistakes, handover
from httpbed.experiment import experiment as experiments
from httpbed.experiment.alternatives import is_form
from httpbed.experiment.errors import Mistake
from httpbed.experiment.experiment import SCENARIO_PARTS, Experiment, Path, Written
from httpbed.experiment.factorial import Exclusion, Group, Scale
from httpbed.experiment.factorial_mistakes import Crossing, listed
from httpbed.experiment.impairments import delay, loss, queue, rate
from httpbed.experiment.page import FolderPage, NamedPage, PageLoad, RecordedPage, SyntheticPage
from httpbed.experiment.roles import ClientRole, ProxyRole, Roles, ServerRole
from httpbed.experiment.scenario import Competitor, Scenario
from httpbed.experiment.scenario_parts import Scenarios
from httpbed.experiment.topology import Link, OneWay, Topology
from httpbed.experiment.value import Value
from httpbed.experiment.workload import NO_SUCH_KIND, Download

MOST_TRIALS = 1_000_000
RESERVED_FACTORS = frozenset(
    {"block", "position", "trial", "attempt", "outcome", "reason", "time_limit_s", "started"}
    | {
        "wall_s",
        "metric",
        "value",
        "unit",
        "source",
        "item",
        "name",
        "of",
        "passed",
        "figure",
        "limit",
    }
)
"""Columns that every exported table has: a factor of that name would collide."""

_MODELS: tuple[type[Value], ...] = (
    *(Experiment, Topology, Link, OneWay, Roles, ClientRole, ProxyRole, ServerRole),
    *(Download, PageLoad, SyntheticPage, FolderPage, RecordedPage, NamedPage),
    *(Competitor, Group, Exclusion, Scale),
    *(rate.TokenBucket, rate.Trace, rate.Steps, rate.Cellular, rate.CellularModel),
    *(loss.GilbertElliott, loss.Listed, loss.Replay),
    *(delay.Distributed, delay.Samples, delay.Reordering, queue.Queue),
    *(changes.ScheduleEntry, changes.Event, changes.Delivered),
    *(changes.FirstPacket, changes.Handshake),
    *(handover.Handover, handover.AfterBytes, handover.At, handover.Every),
)
_KNOWN_KEYS = sorted(
    {info.alias or name for model in _MODELS for name, info in model.model_fields.items()}
    | set(SCENARIO_PARTS)
)


@dataclass(frozen=True)
class Reading:
    """What could be read of an experiment, and what is wrong with it."""

    document: Mapping[str, Any]
    """The parsed TOML."""
    experiment: Experiment | None = None
    """None when its header has mistakes."""
    mistakes: tuple[Mistake, ...] = ()
    """All of them, in order of place."""
    treatments: tuple[dict[str, str], ...] = field(default=())
    """Every treatment, valid or not; empty when factors or groups cannot be read."""


def read(text: str) -> Reading:
    """Read the text of an experiment file."""
    return _read(text, _read_document)


def read_again(text: str) -> Reading:
    """Read the text of an experiment that was found to have no mistakes, without its treatments."""
    return _read(text, lambda document: Reading(document, *_header(document)))


def _read(text: str, how: Callable[[Written], Reading]) -> Reading:
    try:
        document = Written(tomllib.loads(text))
    except (ValueError, RecursionError) as error:  # an integer may also have too many digits
        return Reading({}, mistakes=(Mistake("experiment file", f"not TOML: {error}"),))
    try:
        return how(document)
    except RecursionError:
        return Reading({}, mistakes=(Mistake("experiment file", "is nested too deeply"),))


def _read_document(document: Written) -> Reading:
    experiment, header = _header(document)
    factors = _readable_factors(document)
    found = [*header, *_factor_mistakes(document, factors), *_base_mistakes(document, factors)]
    crossing = factorial_mistakes.readable(document, factors)
    found += _size_mistakes(experiment, crossing)
    treatments: tuple[dict[str, str], ...] = ()
    if crossing.most() <= MOST_TRIALS:
        treatments = crossing.treatments()
        found += factorial_mistakes.mistakes(crossing, treatments)
        found += _scenario_mistakes(document, experiment, treatments)
    return Reading(document, experiment, _unique(found), treatments)


def place_of(document: Mapping[str, Any], path: Path, levels: Mapping[str, str]) -> tuple[str, str]:
    """Name the place that its author can mend, and where it is used if that is elsewhere."""
    at, used_at = _followed(document, path, levels)
    return dotted(at), f" (used at {dotted(used_at)})" if used_at else ""


def _followed(
    document: Mapping[str, Any], path: Path, levels: Mapping[str, str]
) -> tuple[Path, Path]:
    """Follow a path of a treatment's scenario, from level to level, to where it was written.

    Returns that path of the document, and the first reference on the way to it.
    """
    written = _written(document)
    unmet = dict(levels)
    first: Path = ()
    while True:
        met = written.reference_above(path)
        if met is None or written.references[met] not in unmet:
            return path, first
        name = written.references[met]
        where = written.key_of(name, unmet.pop(name))
        path, first = ("factors", name, where, *path[len(met) :]), first or met


def _written(document: Mapping[str, Any]) -> Written:
    return document if isinstance(document, Written) else Written(document)


def dotted(path: Path) -> str:
    """Write a path as ``topology.links[0].rate``."""
    keys = (part for part in path if not is_form(part))
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in keys)
    return text.lstrip(".") or "experiment"


def _header(document: Mapping[str, Any]) -> tuple[Experiment | None, tuple[Mistake, ...]]:
    said = {key: value for key, value in document.items() if key not in SCENARIO_PARTS}
    try:
        return Experiment.model_validate(said), ()
    except ValidationError as error:
        return None, tuple(_mistake(document, detail, {}) for detail in error.errors())


def _readable_factors(document: Mapping[str, Any]) -> dict[str, list[str]]:
    factors = document.get("factors", {})
    if not isinstance(factors, Mapping):
        return {}
    return {
        name: list(levels)
        for name, levels in factors.items()
        if isinstance(levels, (list, dict))
        and levels
        and all(isinstance(one, str) for one in levels)
    }


def _factor_mistakes(document: Written, factors: Mapping[str, list[str]]) -> Iterator[Mistake]:
    references = document.references.items()
    used = set(
        experiments.reached(document, [name for path, name in references if path[0] != "factors"])
    )
    for path, name in references:
        if name not in factors:
            known = f"known: {listed(factors)}" if factors else "there is no [factors] table"
            yield Mistake(dotted(path), f"unknown factor {name!r}; {known}")
        elif path[0] == "factors" and path[1] in document.reached_from(name):
            yield Mistake(dotted(path), "stands for what it is a part of", "write its value")
    for name, levels in factors.items():
        if name not in used:
            yield Mistake(f"factors.{name}", "no place refers to it", "use it, or delete it")
        if name in RESERVED_FACTORS:
            yield Mistake(f"factors.{name}", "is a column of every table", "choose another name")
        if len(set(levels)) != len(levels):
            yield Mistake(f"factors.{name}", "a level stands twice", "keep one of them")
    raw = document.get("factors", {})
    for name in raw if isinstance(raw, Mapping) else ():
        if raw[name] in ([], {}):
            yield Mistake(f"factors.{name}", "has no level", "give it at least one")


def _base_mistakes(
    document: Mapping[str, Any], factors: Mapping[str, list[str]]
) -> Iterator[Mistake]:
    report = document.get("report")
    base = report.get("base") if isinstance(report, Mapping) else None
    for name, level in base.items() if isinstance(base, Mapping) else ():
        if name not in factors:
            yield Mistake(f"report.base.{name}", "is not a factor", f"known: {listed(factors)}")
        elif level not in factors[name]:
            known = listed(factors[name])
            yield Mistake(f"report.base.{name}", f"{level!r} is not a level of it; known: {known}")


def _size_mistakes(experiment: Experiment | None, crossing: Crossing) -> Iterator[Mistake]:
    trials = crossing.most() * (experiment.replicates if experiment else 1)
    if trials > MOST_TRIALS:
        reason = f"makes {trials} trials, more than {MOST_TRIALS}"
        yield Mistake("factors", reason, "vary less, or make several experiments")


def _scenario_mistakes(
    document: Written,
    experiment: Experiment | None,
    treatments: Iterable[Mapping[str, str]],
) -> Iterator[Mistake]:
    hosts = list(_host_mistakes(document))
    yield from hosts
    scenarios = Scenarios()
    for levels in treatments:
        said = document.scenario(levels)
        if not scenarios.is_news(said):
            continue
        try:
            scenario = scenarios.read(said)
        except ValidationError as error:
            for detail in error.errors(include_url=False):
                if not _told_already(document, detail["loc"], levels, hosts):
                    yield _mistake(document, detail, levels)
        else:
            if experiment:
                yield from _too_late(document, experiment, scenario, levels)


def _too_late(
    document: Mapping[str, Any],
    experiment: Experiment,
    scenario: Scenario,
    levels: Mapping[str, str],
) -> Iterator[Mistake]:
    """Find competitors and hand-overs that would come when the trial has timed out."""
    times: list[tuple[Path, float]] = [
        (("competitors", index, "after"), competitor.after)
        for index, competitor in enumerate(scenario.competitors)
    ]
    if scenario.handover:
        times += [(("handover", *at), s) for at, s in scenario.handover.durations_s().items()]
    limit = experiment.time_limit_s(scenario) if times else 0.0
    for path, seconds in times:
        if seconds >= limit:
            place, used_at = place_of(document, path, levels)
            reason = f"is not before the time limit of a trial, {limit:g} s{used_at}"
            yield Mistake(place, reason, "let it be earlier, or raise time_limit")


def _host_mistakes(document: Mapping[str, Any]) -> Iterator[Mistake]:
    """Check the links' hosts, which the models do only where all else of a topology is right."""
    topology = document.get("topology")
    hosts = topology.get("hosts") if isinstance(topology, Mapping) else None
    links = topology.get("links") if isinstance(topology, Mapping) else None
    if not isinstance(hosts, list) or not isinstance(links, list):
        return
    for index, link in enumerate(links):
        between = link.get("between") if isinstance(link, Mapping) else None
        for host in between if isinstance(between, list) else ():
            if host not in hosts:
                reason = f"{host!r} is not one of the hosts; known: {', '.join(map(str, hosts))}"
                yield Mistake(f"topology.links[{index}].between", reason)


def _told_already(
    document: Written, path: Path, levels: Mapping[str, str], hosts: list[Mistake]
) -> bool:
    """Tell whether a mistake only follows from one that is reported anyway."""
    if hosts and path == ("topology",):
        return True
    at, _ = _followed(document, path, levels)
    return document.reference_above(at) is not None


def _mistake(
    document: Mapping[str, Any], detail: ErrorDetails, levels: Mapping[str, str]
) -> Mistake:
    at = detail["loc"][:-1] if detail["loc"][-1:] == ("[key]",) else detail["loc"]
    if detail["type"] == NO_SUCH_KIND:  # which is told of the whole table
        at = (*at, "kind")
    place, used_at = place_of(document, at, levels)
    reason = detail["msg"].removeprefix("Value error, ")
    remedy = ""
    if detail["type"] == "extra_forbidden":
        said = str(detail["loc"][-1])
        # One that is known elsewhere is misplaced, not misspelled.
        known = said in _KNOWN_KEYS
        reason = "unknown key here" if known else "unknown key"
        close = [] if known else difflib.get_close_matches(said, _KNOWN_KEYS, n=1)
        remedy = f"did you mean {close[0]!r}?" if close else "delete it"
    elif detail["type"] == "missing":
        reason = "is missing"
    elif detail["type"] == "literal_error":
        close = difflib.get_close_matches(str(detail["input"]), _quoted(detail), n=1)
        remedy = f"did you mean {close[0]!r}?" if close else ""
    return Mistake(place, reason + used_at, remedy)


def _quoted(detail: ErrorDetails) -> list[str]:
    """List what would be right, of a place that takes some words only."""
    return re.findall(r"'([^']*)'", str(detail.get("ctx", {}).get("expected", "")))


def _unique(mistakes: Iterable[Mistake]) -> tuple[Mistake, ...]:
    return tuple(dict.fromkeys(mistakes))
