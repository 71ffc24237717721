"""Parse an experiment file: text -> document -> experiment and treatments, with every mistake.

``Experiment`` checks the header, ``factorial_mistakes`` the choice of treatments, and ``Scenario``
the scenario of each treatment. A mistake in a value that a factor provides is reported at the
factor's level, where the author can correct it.
"""

from __future__ import annotations

import difflib
import functools
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from httpbed.base.errors import Mistake, did_you_mean
from httpbed.base.value import Value, is_form
from httpbed.experiment import document as documents
from httpbed.experiment import factorial_mistakes, validation_messages, workload_kinds
from httpbed.experiment.document import SCENARIO_PARTS, ExperimentDocument, KeyPath
from httpbed.experiment.experiment import Experiment, experiment_model
from httpbed.experiment.metric import DEFAULT_METRIC, is_unknown_metric
from httpbed.experiment.scenario import Scenario, ScenarioReader, of_campaign
from httpbed.experiment.schema import experiment_schema
from httpbed.experiment.stated_tables import STATED_TABLES, StatedTable, StatedTables
from httpbed.experiment.workload_kinds import UnreadWorkload

WHOLE_FILE = "experiment file"
"""Place of a mistake that lies in no table."""
RESERVED_FACTORS = frozenset(
    (
        *("block", "position", "trial", "attempt", "outcome", "reason", "time_limit_s", "started"),
        *("wall_s", "metric", "value", "unit", "source", "item", "name", "of", "passed", "figure"),
        *("limit", "machine", "check", "measured"),
    )
)
"""Columns of every exported table, which a factor of that name would collide with."""

_MAX_KIND = 40
"""Letters of an unknown kind of workload that a message shows."""
_SIMILAR = 0.75
"""Least similarity of an unknown key to the key that is proposed (difflib's ratio)."""


@dataclass(frozen=True)
class ParsedExperiment:
    """The readable part of an experiment file, and every mistake in it."""

    document: Mapping[str, Any]
    experiment: Experiment | None = None
    """None if the header has mistakes."""
    mistakes: tuple[Mistake, ...] = ()
    treatments: tuple[dict[str, str], ...] = ()
    """Every treatment, valid or not; empty if factors or groups cannot be read."""


def read(text: str) -> ParsedExperiment:
    """Parse and check the text of an experiment file."""
    return _read(text, _checked)


def read_valid(text: str) -> ParsedExperiment:
    """Parse a text in which :func:`read` found no mistake; returns no treatments.

    It may come from a campaign of unknown origin, so its size is checked again.
    """
    return _read(text, _of_valid)


def read_stored(text: str) -> ParsedExperiment:
    """Parse the file of a campaign, with the scenario of every treatment; returns no treatments."""

    def check(document: ExperimentDocument) -> ParsedExperiment:
        parsed = _of_valid(document)
        experiment = parsed.experiment
        treatments = experiment.treatments() if experiment else ()
        wrong = dict.fromkeys(_scenario_mistakes(document, None, treatments, stored=True))
        return ParsedExperiment(document, None, tuple(wrong)) if wrong else parsed

    return _read(text, check)


def _of_valid(document: ExperimentDocument) -> ParsedExperiment:
    experiment, mistakes = _header(_readable(document))
    if experiment:
        mistakes = (*factorial_mistakes.size_mistakes(experiment.factors, experiment.groups, 1),)
    return ParsedExperiment(document, None if mistakes else experiment, mistakes)


def _read(text: str, check: Callable[[ExperimentDocument], ParsedExperiment]) -> ParsedExperiment:
    try:
        document = ExperimentDocument(tomllib.loads(text))
    except (ValueError, RecursionError) as error:  # tomllib also refuses too many digits
        mistake = Mistake(
            WHOLE_FILE, f"is not valid TOML: {validation_messages.toml_error(error, text)}"
        )
        return ParsedExperiment({}, mistakes=(mistake,))
    try:
        return check(document)
    except RecursionError:
        mistake = Mistake(WHOLE_FILE, "tables are nested too deeply")
        return ParsedExperiment({}, mistakes=(mistake,))


def _checked(document: ExperimentDocument) -> ParsedExperiment:
    experiment, header = _header(document)
    factors = readable_factors(document)
    mistakes = [*header, *_factor_mistakes(document, factors)]
    unreadable = _stated_factors(document).keys() - factors.keys()
    if factors or "factors" not in document:  # unreadable factors are reported on their own
        mistakes += factorial_mistakes.report_mistakes(document.get("report"), factors, unreadable)
    design = factorial_mistakes.readable_design(document, factors, unreadable)
    groups, blocks = [*design.groups.values()], experiment.blocks if experiment else 1
    mistakes += factorial_mistakes.size_mistakes(factors, groups, blocks)
    treatments: tuple[dict[str, str], ...] = ()
    if design.most() <= factorial_mistakes.MAX_TREATMENTS:
        treatments = design.treatments()
        mistakes += factorial_mistakes.treatment_mistakes(design, treatments)
        if design.whole:
            mistakes += _scenario_mistakes(document, experiment, treatments)
        else:
            mistakes += _certain_mistakes(document, factors)
        if experiment and treatments and not mistakes:
            scenarios = map(Scenario.model_validate, map(document.scenario, treatments))
            mistakes += factorial_mistakes.metric_mistakes(experiment.report.metric, scenarios)
        if treatments and not unreadable:  # tables select among treatments, which those would tell
            for table in STATED_TABLES.provided():
                mistakes += _table_mistakes(document, table, factors, treatments)
    return ParsedExperiment(document, experiment, tuple(dict.fromkeys(mistakes)), treatments)


def mistake_at(
    document: Mapping[str, Any],
    path: KeyPath,
    levels: Mapping[str, str],
    reason: str,
    remedy: str = "",
) -> Mistake:
    """Return a mistake in a value of a treatment's scenario, placed where the author wrote it."""
    written_at, used_at = _origin(document, path, levels)
    return Mistake(
        place=format_path(written_at),
        reason=reason,
        remedy=remedy,
        used_at=format_path(used_at) if used_at else "",
        path=tuple(key for key in written_at if not is_form(key)),
    )


def _origin(
    document: Mapping[str, Any], path: KeyPath, levels: Mapping[str, str]
) -> tuple[KeyPath, KeyPath]:
    """Follow references from a path in a treatment's scenario to where its value is written.

    Returns:
        The path of the value in the document, and the path of the first reference, if any.
    """
    if not isinstance(document, ExperimentDocument):
        document = ExperimentDocument(document)
    unused = dict(levels)
    first: KeyPath = ()
    while True:
        reference = document.reference_above(path)
        if reference is None or document.references[reference] not in unused:
            return path, first
        name = document.references[reference]
        key = document.key_of(name, unused.pop(name))
        path, first = ("factors", name, key, *path[len(reference) :]), first or reference


def _table_mistakes(
    document: Mapping[str, Any],
    stated: StatedTable,
    factors: Mapping[str, list[str]],
    treatments: Sequence[Mapping[str, str]],
) -> Iterator[Mistake]:
    """Check an addon's tables that can be read, whatever else is wrong with the file.

    ``_header`` has the mistakes of the others.
    """
    tables = _entries(document, stated)
    readable, unread = dict[int, Value](), list[str]()
    for index, table in enumerate(tables):
        try:
            readable[index] = stated.model.model_validate(table)
        except ValidationError:
            unread += [str(table.get("id"))] if isinstance(table, Mapping) else []
    if not readable:
        return
    for place, problem in stated.problems(StatedTables(readable, unread, factors, treatments)):
        path = (*place, *problem.at)
        yield Mistake(format_path(path), problem.reason, problem.remedy, path=path)


def unread_tables(document: Mapping[str, Any]) -> list[str]:
    """Name the tables of a valid experiment file that no installed addon reads, sorted."""
    known = {info.alias or name for name, info in experiment_model().model_fields.items()}
    others = document.keys() - known - set(SCENARIO_PARTS)
    return sorted(name for name in others if _is_table(document[name]))


def unread_entries(document: Mapping[str, Any]) -> dict[str, list[str]]:
    """Name the entries of addons' tables that are about metrics of no installed addon.

    Their ids, by the field of an experiment that has the others.
    """
    unread = {
        table.field: [
            str(entry.get("id")) for entry in _entries(document, table) if _is_unread(table, entry)
        ]
        for table in STATED_TABLES.provided()
    }
    return {field: ids for field, ids in unread.items() if ids}


def unread_workloads(document: Mapping[str, Any]) -> list[str]:
    """Name the kinds of workload of a valid experiment file that no installed addon reads."""
    stated = document.get("workload")
    factor = str(documents.table(stated).get("factor"))
    levels = documents.table(_stated_factors(document).get(factor))
    read = map(workload_kinds.of_campaign, levels.values() or [stated])
    return sorted({workload.kind for workload in read if isinstance(workload, UnreadWorkload)})


def _readable(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a valid experiment file without what only addons read that are not installed."""
    unread = unread_tables(document)
    known = {name: value for name, value in document.items() if name not in unread}
    for table in STATED_TABLES.provided():
        entries = _entries(document, table)
        if any(_is_unread(table, entry) for entry in entries):
            known[table.name] = [entry for entry in entries if not _is_unread(table, entry)]
    report = document.get("report")
    if isinstance(report, Mapping) and is_unknown_metric(report.get("metric")):
        known["report"] = {key: value for key, value in report.items() if key != "metric"}
    return known


def _entries(document: Mapping[str, Any], table: StatedTable) -> list[Any]:
    entries = document.get(table.name)
    return [*entries] if isinstance(entries, list) else []


def _is_unread(table: StatedTable, entry: Any) -> bool:
    """Whether nothing is wrong with an entry but that it names unknown metrics."""
    try:
        table.model.model_validate(entry)
    except ValidationError as error:
        return all(
            detail["type"] == "literal_error"
            and f"'{DEFAULT_METRIC}'" in detail["ctx"]["expected"]
            and is_unknown_metric(detail["input"])
            for detail in error.errors()
        )
    return False


def _is_table(value: Any) -> bool:
    tables = value if isinstance(value, list) else [value]
    return bool(tables) and all(isinstance(table, Mapping) for table in tables)


def format_path(path: KeyPath) -> str:
    """Write a path as ``topology.links[0].rate``."""
    keys = (key for key in path if not is_form(key))
    text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)
    return text.lstrip(".") or "experiment"


def _header(document: Mapping[str, Any]) -> tuple[Experiment | None, tuple[Mistake, ...]]:
    header = {key: value for key, value in document.items() if key not in SCENARIO_PARTS}
    try:
        return experiment_model().model_validate(header), ()
    except ValidationError as error:
        return None, tuple(_mistake(document, detail, {}) for detail in error.errors())


def _stated_factors(document: Mapping[str, Any]) -> Mapping[str, Any]:
    return documents.table(document.get("factors"))


def readable_factors(document: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the levels of each factor of a document that has no mistake of its own."""
    return {
        name: list(levels)
        for name, levels in _stated_factors(document).items()
        if isinstance(levels, (list, dict))
        and levels
        and all(isinstance(level, str) for level in levels)
    }


def _factor_mistakes(
    document: ExperimentDocument, factors: Mapping[str, list[str]]
) -> Iterator[Mistake]:
    references = document.references.items()
    used = set(
        documents.with_nested(document, [name for path, name in references if path[0] != "factors"])
    )
    stated = _stated_factors(document)
    for path, name in references:
        if name not in stated:
            yield factorial_mistakes.unknown_factor_at(format_path(path), name, stated)
        elif path[0] == "factors" and path[1] in document.reached_from(name):
            reason = f"refers to factor {name!r}, whose levels refer back to this one"
            yield Mistake(format_path(path), reason, "write the value itself")
    for name, levels in factors.items():
        if name not in used:
            reason = "no place refers to this factor"
            remedy = f'write {{ factor = "{name}" }} where it applies, or delete the factor'
            yield Mistake(f"factors.{name}", reason, remedy)
        if name in RESERVED_FACTORS:
            reason, path = "is the name of a column in every exported table", ("factors", name)
            yield Mistake(format_path(path), reason, "choose another name", path=path)
        yield from factorial_mistakes.named_twice(f"factors.{name}", levels)
    for name in stated:
        if stated[name] in ([], {}):
            yield Mistake(f"factors.{name}", "has no level", "list at least one")


def _scenario_mistakes(
    document: ExperimentDocument,
    experiment: Experiment | None,
    treatments: Iterable[Mapping[str, str]],
    *,
    stored: bool = False,
) -> Iterator[Mistake]:
    hosts = list(_host_mistakes(document))
    yield from hosts
    scenarios = ScenarioReader()
    for levels in treatments:
        tables = document.scenario(levels)
        if stored:
            tables = of_campaign(tables)
        if not scenarios.may_have_new_mistake(tables):
            continue
        try:
            scenario = scenarios.read(tables)
        except ValidationError as error:
            yield from _invalid(document, error, levels, hosts)
        else:
            if experiment:
                yield from _too_late(document, experiment, scenario, levels)


def _certain_mistakes(
    document: ExperimentDocument, factors: Mapping[str, list[str]]
) -> Iterator[Mistake]:
    """Find mistakes that scenarios have whatever an unreadable group or exclusion chooses."""
    hosts = list(_host_mistakes(document))
    yield from hosts
    scenarios = ScenarioReader()

    def find(levels: Mapping[str, str]) -> Iterator[Mistake]:
        try:
            scenarios.read(document.scenario(levels))
        except ValidationError as error:
            yield from _invalid(document, error, levels, hosts)

    yield from factorial_mistakes.certain(factors, find)


def _invalid(
    document: ExperimentDocument,
    error: ValidationError,
    levels: Mapping[str, str],
    hosts: list[Mistake],
) -> Iterator[Mistake]:
    for detail in error.errors(include_url=False):
        if not _is_consequence(document, detail["loc"], levels, hosts):
            yield _mistake(document, detail, levels)


def _too_late(
    document: Mapping[str, Any],
    experiment: Experiment,
    scenario: Scenario,
    levels: Mapping[str, str],
) -> Iterator[Mistake]:
    """Find requests, competitors and hand-overs that would begin after the trial's time limit."""
    times: list[tuple[KeyPath, float]] = [
        (("competitors", index, "after"), competitor.after)
        for index, competitor in enumerate(scenario.competitors)
    ]
    if last_s := scenario.workload.last_request_s:
        times.append((("workload", "interval"), last_s))
    if scenario.handover:
        times += [(("handover", *at), s) for at, s in scenario.handover.durations_s().items()]
    limit = experiment.time_limit_s(scenario) if times else 0.0
    for path, seconds in times:
        if seconds >= limit:
            reason = f"{seconds:g} s is not below the time limit of a trial, {limit:g} s"
            remedy = "choose an earlier time, or raise time_limit"
            yield mistake_at(document, path, levels, reason, remedy)


def _host_mistakes(document: Mapping[str, Any]) -> Iterator[Mistake]:
    """Check the links' hosts, which the models check only if the rest of the topology is valid."""
    topology = documents.table(document.get("topology"))
    hosts, links = topology.get("hosts"), topology.get("links")
    if not isinstance(hosts, list) or not hosts or not isinstance(links, list):
        return
    names = [host for host in hosts if isinstance(host, str)]
    yield from factorial_mistakes.named_twice("topology.hosts", names)
    for index, link in enumerate(links):
        between = documents.table(link).get("between")
        for host in between if isinstance(between, list) else ():
            if host not in hosts:
                known = ", ".join(dict.fromkeys(map(str, hosts)))
                reason = f"{host!r} is not in topology.hosts; known: {known}"
                yield Mistake(f"topology.links[{index}].between", reason)


def _is_consequence(
    document: ExperimentDocument, path: KeyPath, levels: Mapping[str, str], hosts: list[Mistake]
) -> bool:
    """Whether a mistake only follows from another mistake that is reported."""
    if hosts and path == ("topology",):
        return True
    written_at, _ = _origin(document, path, levels)
    return document.reference_above(written_at) is not None


def _mistake(
    document: Mapping[str, Any], detail: ErrorDetails, levels: Mapping[str, str]
) -> Mistake:
    place = detail["loc"][:-1] if detail["loc"][-1:] == ("[key]",) else detail["loc"]
    reason, remedy = validation_messages.reason_and_remedy(detail)
    match detail["type"]:
        case workload_kinds.NO_SUCH_KIND:  # pydantic reports it for the whole table
            place = (*place, "kind")
            stated = detail["input"]
            kind = str(stated.get("kind") if isinstance(stated, Mapping) else stated)[:_MAX_KIND]
            reason = f"{kind!r} {reason}"
            remedy = did_you_mean(kind, workload_kinds.KINDS)
        case "extra_forbidden":
            reason, remedy = _unknown_key(place, detail["input"])
        case "missing":
            reason, remedy = "is missing", "add it"
    return mistake_at(document, place, levels, reason, remedy)


def _unknown_key(place: KeyPath, value: object) -> tuple[str, str]:
    """Return what is wrong with a key that its table does not have, and what to do."""
    key = str(place[-1])
    if kinds := workload_kinds.others_with(key, place):
        reason = f"belongs to a workload of kind {kinds}, not of this one"
        return reason, f"delete it, or say kind = {kinds}"
    if key in _known_keys():
        return "is not a key of this table", "delete it"
    if close := difflib.get_close_matches(key, _known_keys(), n=1, cutoff=_SIMILAR):
        return "unknown key", f"did you mean {close[0]!r}?"
    if len(place) == 1 and _is_table(value):
        return "no installed addon reads this table", "delete it, or add the addon"
    return "unknown key", "delete it"


@functools.cache
def _known_keys() -> list[str]:
    """Return every key that an experiment file may contain, sorted."""
    keys: set[str] = set()
    waiting: list[Any] = [experiment_schema()]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            keys |= node.get("properties", {}).keys()
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node
    return sorted(keys)
