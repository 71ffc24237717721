"""The conditions that a campaign measured, each with its treatments.

Treatments belong together if their paths and workloads have the same values, whatever their
programs are. So a treatment with proxies and one without are compared if their delays add up to the
same sum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from httpbed.addons.advise.question import AdviceConditions, PageFacts
from httpbed.addons.dataset import network_columns, workload_columns
from httpbed.addons.pages.page import PageLoad
from httpbed.base import units
from httpbed.experiment.impairments import loss, rate
from httpbed.experiment.impairments.registry import ALL
from httpbed.experiment.scenario import Scenario
from httpbed.experiment.topology import Direction
from httpbed.experiment.treatment import TreatmentKey, treatment_key
from httpbed.results import sample
from httpbed.store.results import Results

ORDINARY = frozenset({"rate", "delay", "loss", "queue", "counted"})
"""Impairments that conditions may have; a question names three of them."""
_DIGITS = 9


@dataclass(frozen=True)
class MeasuredConditions:
    """One network and workload of a campaign, with the treatments that were measured in it."""

    results: Results
    conditions: AdviceConditions
    beside: tuple[str, ...]
    """Properties of the network that a question does not name, in words."""
    treatments: tuple[TreatmentKey, ...]
    scenarios: tuple[Scenario, ...]
    """Of these treatments."""

    def scenario(self, key: TreatmentKey) -> Scenario:
        """Return the scenario of one of the treatments."""
        return self.scenarios[self.treatments.index(key)]


@dataclass(frozen=True)
class CampaignConditions:
    """Everything that a campaign measured, as far as a question can name it."""

    measured: tuple[MeasuredConditions, ...]
    left_out: Counter[str]
    """Number of treatments that no question can name, by the property that prevents it."""


def of_campaign(results: Results) -> CampaignConditions:
    """Group the treatments of a campaign that have a trial by their conditions."""
    groups: dict[Hashable, list[tuple[TreatmentKey, Scenario]]] = {}
    left_out, run = Counter[str](), set(sample.by_treatment(results, results.trials.to_pylist()))
    for levels in results.experiment.treatments():
        if treatment_key(levels) not in run:
            continue
        scenario = sample.scenario(results, levels)
        if property_ := next(_unusual(scenario), None):
            left_out[property_] += 1
        else:
            groups.setdefault(_identity(scenario), []).append((treatment_key(levels), scenario))
    measured = tuple(_measured(results, group) for group in groups.values())
    return CampaignConditions(measured, left_out)


def _measured(results: Results, group: list[tuple[TreatmentKey, Scenario]]) -> MeasuredConditions:
    treatments, scenarios = zip(*group, strict=True)
    return MeasuredConditions(
        results=results,
        conditions=_conditions(scenarios[0]),
        beside=tuple(_beside(scenarios[0])),
        treatments=treatments,
        scenarios=scenarios,
    )


def _conditions(scenario: Scenario) -> AdviceConditions:
    values = network_columns.path_values(scenario)
    workload = scenario.workload
    return AdviceConditions(
        rate_bit_s=int(values["path_to_client_rate_bit_s"] or 0),
        delay_s=round(float(values["path_rtt_s"] or 0) / 2, _DIGITS),
        loss=float(values["path_to_client_loss"] or 0),
        fetched=_page(workload) if isinstance(workload, PageLoad) else workload.size,
    )


def _page(load: PageLoad) -> PageFacts:
    return PageFacts(workload_columns.page_name(load.page), load.body_bytes(), load.requests())


def _identity(scenario: Scenario) -> Hashable:
    """Return what treatments of the same conditions share."""
    path = {
        name: round(value, _DIGITS) if isinstance(value, float) else value
        for name, value in network_columns.path_values(scenario).items()
    }
    workload = scenario.workload.model_dump_json()
    return (*path.items(), workload, scenario.topology.ip_version)


def _unusual(scenario: Scenario) -> Iterator[str]:
    """Yield the properties of a scenario that no question can name."""
    workload = scenario.workload
    if scenario.competitors:
        yield "competing clients"
    if scenario.handover:
        yield "hand-overs"
    if scenario.roles.server.also_on:
        yield "several servers"
    if isinstance(workload, PageLoad):
        if workload.visit != "cold":
            yield f"visit: {workload.visit}"
    else:
        if workload.files > 1 or workload.rounds > 1:
            yield "several files"
        if workload.resumption != "none":
            yield f"resumption: {workload.resumption}"
    yield from _unusual_network(scenario)


def _unusual_network(scenario: Scenario) -> Iterator[str]:
    links = [scenario.topology.links[index] for index, _ in network_columns.path(scenario)]
    ways = [way for link in links for way in link.directions()]
    if any(link.schedule or link.events for link in links):
        yield "a network that changes"
    if all(rate.mean_bit_s(way.rate) is None for way in ways):
        yield "no rate limit"
    for way in ways:
        if rate.model(way.rate) not in {"constant", "token bucket", "unlimited"}:
            yield f"rate: {rate.model(way.rate)}"
        if loss.model(way.loss) not in {"none", "independent"}:
            yield f"loss: {loss.model(way.loss)}"
        if way.queue.discipline != "droptail":
            yield f"queue: {way.queue.discipline}"
        for impairment in ALL:
            default = Direction.model_fields[impairment.field].default
            if impairment.field not in ORDINARY and getattr(way, impairment.field) != default:
                yield impairment.field


def _beside(scenario: Scenario) -> Iterator[str]:
    values = network_columns.path_values(scenario)
    if burst := values["path_to_client_burst_bytes"]:
        yield f"token bucket of {units.format_size(float(burst))}"
    if queue := values["path_to_client_queue_bytes"]:
        yield f"queue of {float(queue) / rate.MTU_BYTES:.0f} packets"
    for name, title in (("rate_bit_s", "rate"), ("loss", "loss"), ("delay_s", "delay")):
        if values[f"path_to_server_{name}"] != values[f"path_to_client_{name}"]:
            yield f"another {title} towards the server"
