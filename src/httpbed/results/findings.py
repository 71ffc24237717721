"""Findings: everything that a campaign says about one metric, before it is put into words.

A **condition** is one combination of the levels of the factors that the topology refers to.
Within it each treatment is compared with its base: the treatment that has the base's levels
and otherwise the same ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from httpbed.base.addon import Seam
from httpbed.base.clock import Clock
from httpbed.base.errors import Mistake, require_none
from httpbed.experiment import bodies_path, factorial_mistakes
from httpbed.experiment.bodies_path import BucketLoad
from httpbed.experiment.document import network_factors, words
from httpbed.experiment.experiment import Experiment
from httpbed.experiment.factorial import TreatmentKey, treatment_key
from httpbed.experiment.metric import METRICS
from httpbed.results import comparison, selection
from httpbed.results.attempts import CheckSummary, InvalidAttempt, check_summaries, invalid_attempts
from httpbed.results.comparison import FactorEffect, Ratio, compare
from httpbed.results.estimate import Estimate, estimate
from httpbed.results.sample import Bounded, Sample, Tally, samples, scenario
from httpbed.results.selection import SelectedArm
from httpbed.store.results import Results

DEFAULT_BASE = ("http_version", "2")
FAIRNESS = ("share", "jain_index")
"""Metrics that are reported beside any other if clients compete."""


@dataclass(frozen=True)
class Row:
    """One treatment."""

    levels: Mapping[str, str]
    sample: Sample
    estimate: Estimate | None
    """None without any value."""
    ratio: Ratio | None
    """Against its base; None for the base itself, and where no block has both, or no group."""
    is_base: bool
    lacks_base: bool
    """Whether the design has no such base: it is left out, or in no group."""
    fairness: Mapping[str, Estimate]
    """How competing clients shared, by the names of :data:`FAIRNESS`; empty where none competed."""
    goodput: Bounded | None
    """Median in bit/s."""
    ceiling_bit_s: int | None
    """Rate of the narrowest link on the way to the client, the highest if it changes; None when
    unlimited."""
    ceiling_changes: bool
    """Whether the link has that rate for a part of the time only."""
    limit_s: float
    """Its trials' time limit."""
    buckets: tuple[BucketLoad, ...] = ()
    """Token buckets on the way of its answers, beside what passes them."""
    extensions: Mapping[str, Any] = field(default_factory=dict)
    """What addons found, by the name of their :class:`Extension`."""

    @property
    def tally(self) -> Tally:
        """How its trials ended."""
        return self.sample.tally


@dataclass(frozen=True)
class Condition:
    """The treatments that share one network."""

    levels: Mapping[str, str]
    """Levels of the network factors; empty when the network is not varied."""
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Findings:
    """What a campaign says about one metric."""

    metric: str
    base: Mapping[str, str]
    """The levels that a base has."""
    network: tuple[str, ...]
    others: tuple[str, ...]
    conditions: tuple[Condition, ...]
    tally: Tally
    """Over all treatments."""
    checks: tuple[CheckSummary, ...]
    invalid: tuple[InvalidAttempt, ...]
    selected: tuple[SelectedArm, ...]
    """Programs whose invalid attempts exceed those of the others."""
    clock: Clock
    """The trials' clock; in virtual time a difference is never the machine's."""
    asks_identity: bool
    """Whether each treatment is compared with the same one, or with another build of its program,
    in virtual time: then the question is whether there is any difference at all."""

    @cached_property
    def effects(self) -> tuple[FactorEffect, ...]:
        """What each factor with several levels did."""
        return comparison.of_factors([row.sample for _, row in self.rows()], self.base)

    def first(self, most: int) -> Findings:
        """Return the same findings of the first treatments only."""
        conditions, left = list[Condition](), most
        for condition in self.conditions:
            rows = condition.rows[: max(0, left)]
            conditions += [Condition(condition.levels, rows)] if rows else []
            left -= len(rows)
        return replace(self, conditions=tuple(conditions))

    def rows(self) -> Iterator[tuple[Condition, Row]]:
        """Yield every treatment with its condition."""
        for condition in self.conditions:
            for row in condition.rows:
                yield condition, row


@dataclass(frozen=True)
class Extension:
    """What an addon adds to the findings of treatments, and to their JSON values."""

    name: str
    """The word of its addon, if it has one: its columns are asked for where it found something."""
    of_treatments: Callable[[Results], Mapping[TreatmentKey, Any]]
    """Returns its finding of each treatment that it applies to."""
    values: Callable[[Results, Findings], Iterable[Mapping[str, Any]]]
    """Yields further JSON values of each treatment, in the order of the findings."""
    default_metric: Callable[[Results], str | None] = lambda _results: None
    """Returns the metric of an experiment that names none, where this addon knows a better one."""


EXTENSIONS = Seam("findings", Extension)


def find(
    results: Results, metric: str | None = None, base: Mapping[str, str] | None = None
) -> Findings:
    """Analyse a campaign; by default with the metric and the base that its experiment names.

    Raises:
        ConfigError: The metric, or a factor or level of the base, does not exist.
    """
    metric = metric or default_metric(results)
    _demand_known(results.experiment, metric, base or {})
    chosen = dict(base or results.experiment.report.base) or default_base(results)
    by_treatment = samples(results, metric)
    names = tuple(results.experiment.factors)
    of_topology = network_factors(results.document)
    network = tuple(name for name in names if name in of_topology)
    beside = {name: samples(results, name) for name in ("goodput", *FAIRNESS)}
    extensions = {
        extension.name: extension.of_treatments(results)
        for extension in EXTENSIONS.provided(words(results.document))
    }
    rows = []
    for key in by_treatment:
        own = {name: found[key] for name, found in extensions.items() if key in found}
        row = _row(results, chosen, key, by_treatment, beside)
        rows.append(replace(row, extensions=own))
    return Findings(
        metric=metric,
        base=chosen,
        network=network,
        others=tuple(name for name in names if name not in network),
        conditions=tuple(_conditions(results.experiment.factors, network, rows)),
        tally=_total(results, [row.tally for row in rows]),
        checks=check_summaries(results),
        invalid=invalid_attempts(results),
        selected=selection.selected_arms(results),
        clock=results.manifest.get("clock", "real"),
        asks_identity=_asks_identity(results, chosen, rows),
    )


def _asks_identity(results: Results, base: Mapping[str, str], rows: Sequence[Row]) -> bool:
    if results.manifest.get("clock") != "virtual":
        return False
    return bool(results.manifest.get("second_builds")) or all(
        scenario(results, row.levels) == scenario(results, {**row.levels, **base})
        for row in rows
        if row.ratio
    )


def default_metric(results: Results) -> str:
    """Return the experiment's metric; by default that of an addon, else the request time."""
    options = results.experiment.report
    if "metric" in options.model_fields_set:
        return str(options.metric)
    extensions = EXTENSIONS.provided(words(results.document))
    proposed = (extension.default_metric(results) for extension in extensions)
    return next(filter(None, proposed), str(options.metric))


def default_base(results: Results) -> dict[str, str]:
    """Return the default base: HTTP/2, else the treatment that occurs most often.

    The first of equals; groups and exclusions may lack it in some conditions.
    """
    name, level = DEFAULT_BASE
    treatments = list(results.experiment.treatments())
    if any(levels.get(name) == level for levels in treatments):
        return {name: level}
    network = network_factors(results.document)
    without_network = [
        tuple(pair for pair in treatment.items() if pair[0] not in network)
        for treatment in treatments
    ]
    ((commonest, _),) = Counter(without_network).most_common(1)
    return dict(commonest)


def _demand_known(experiment: Experiment, metric: str, base: Mapping[str, str]) -> None:
    mistakes = []
    if metric not in METRICS:
        known = f"known: {', '.join(METRICS)}"
        mistakes.append(Mistake("--metric", f"unknown metric {metric!r}", known))
    factors = experiment.factors
    for name, level in base.items():
        if name not in factors:
            mistakes.append(factorial_mistakes.unknown_factor_at("--base", name, factors))
        elif level not in factors[name]:
            reason = factorial_mistakes.unknown_level(name, level, factors)
            mistakes.append(Mistake("--base", reason))
    require_none(mistakes)


def _row(
    results: Results,
    base: Mapping[str, str],
    key: TreatmentKey,
    by_treatment: Mapping[TreatmentKey, Sample],
    beside: Mapping[str, Mapping[TreatmentKey, Sample]],
) -> Row:
    sample = by_treatment[key]
    base_key = treatment_key({**sample.levels, **base})
    is_base = base_key == key
    other = None if is_base else by_treatment.get(base_key)  # groups may lack it
    known = {name: found for name in beside if (found := estimate(beside[name][key]))}
    goodput = known.pop("goodput", None)
    built = scenario(results, sample.levels)
    rates = built.ceiling_bit_s()
    return Row(
        levels=sample.levels,
        sample=sample,
        estimate=estimate(sample),
        ratio=compare(sample, other) if other else None,
        is_base=is_base,
        lacks_base=base_key not in by_treatment,
        fairness=known,
        goodput=goodput.median if goodput else None,
        ceiling_bit_s=max(rates, default=None),
        ceiling_changes=len(rates) > 1,
        limit_s=results.experiment.time_limit_s(built),
        buckets=bodies_path.bucket_loads(built),
    )


def _conditions(
    factors: Mapping[str, Sequence[str]], network: tuple[str, ...], rows: list[Row]
) -> Iterator[Condition]:
    """Yield the conditions in the order of the factors' levels; the first row may lack some."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row.levels[name] for name in network), []).append(row)
    ranks = [{level: rank for rank, level in enumerate(factors[name])} for name in network]
    for at in sorted(
        groups, key=lambda at: [rank[one] for rank, one in zip(ranks, at, strict=True)]
    ):
        yield Condition(dict(zip(network, at, strict=True)), tuple(groups[at]))


def _total(results: Results, tallies: list[Tally]) -> Tally:
    outcomes: Counter[str] = Counter()
    reasons: Counter[tuple[str, str]] = Counter()
    for tally in tallies:
        outcomes.update(tally.outcomes)
        reasons.update(tally.reasons)
    return Tally(results.planned or results.experiment.blocks, outcomes, reasons)
