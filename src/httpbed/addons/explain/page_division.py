"""Divides the responses on a load's critical path by the packets of their connections.

The time of a response begins a round trip after its request was sent, and ends with its last byte,
or where the path goes on. For that time its connection has a division (:mod:`.division`), as that
of a transfer has. What the link did counts one way later, when it reached the browser. Where the
connection is not known, the time is *unknown*. So the causes of a response add up to its time on
the path, to the nanosecond.

With the path's other steps, each as the cause that it has in a transfer, the whole path is divided,
and a limit of a page is lifted as that of a transfer is.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from httpbed.addons.explain import (
    evidence,
    explanation,
    page_connections,
    page_turns,
    page_windows,
    windows,
)
from httpbed.addons.explain.division import OTHER_RESPONSES, WINDOWS
from httpbed.addons.explain.evidence import NoTransferError
from httpbed.addons.explain.explanation import (
    Divided,
    Explained,
    Held,
    Place,
    Remains,
    Unexplained,
    duration_text,
)
from httpbed.addons.explain.page_connections import Carrier
from httpbed.addons.explain.page_turns import Behind, Turns
from httpbed.addons.explain.periods import Division, Period, joined, recast
from httpbed.addons.explain.transfer import NS, Transfer
from httpbed.addons.pages import loads
from httpbed.addons.pages.load import driver_output, timing
from httpbed.addons.pages.load.browser_load import BrowserLoad, PageRequest
from httpbed.addons.pages.load.critical_path import RESPONSE, Share, Step
from httpbed.addons.pages.load.driver_output import LoadError
from httpbed.addons.pages.loads import PageTrial
from httpbed.addons.pages.report import critical_path_report
from httpbed.addons.pages.report.critical_path_report import LoadPath
from httpbed.experiment.scenario import Scenario
from httpbed.programs.catalog import Catalog
from httpbed.store.results import Results

CAUSES: Mapping[Share, str] = {
    "network": "path",
    "waiting": "server",
    "browser": "client",
    "queueing": "client",
    "priorities": "link",
}
"""The cause of a step that is no response's, by its share."""
CAUSES_OF_STEPS = {"connection": "set-up"}


@dataclass(frozen=True)
class Response(Division):
    """A response on a critical path, in ns since the navigation."""

    request: PageRequest
    behind: Behind | None = None
    """What the link carried of other responses meanwhile."""

    def costs_of(self, causes: Collection[str]) -> int:
        """Return what some causes cost in it, in ns."""
        return sum(period.lasts for period in self.periods if period.cause in causes)


@dataclass(frozen=True)
class Responses(Divided):
    """The responses on a path one after the other, as one division."""

    subject: ClassVar[str] = "the responses on the path"
    behind: str = ""
    """What the link carried first, in words."""

    def _how(self, name: str) -> str:
        return self.behind if name == OTHER_RESPONSES and self.behind else super()._how(name)

    def opening(self, time: str) -> str:
        """Say how long they took."""
        return f"Responses on the path took {time}"


@dataclass(frozen=True, kw_only=True)
class ExplainedLoad(Explained):
    """A load with its critical path: responses are divided by packets, the rest by the browser."""

    path: LoadPath
    each: tuple[Response, ...]
    main: PageRequest
    """The response that a window held for longest; ``transfer`` is its connection."""

    @cached_property
    def responses(self) -> Responses:
        """Its responses alone."""
        divided = Division(
            tuple(_end_to_end(period for one in self.each for period in one.periods)),
            tuple(_end_to_end(period for one in self.each for period in one.in_force)),
            None,
        )
        place = (self.block, self.trial, self.levels, self.attempt)
        return Responses(*place, "completed", divided, self.held, self._behind())

    def _behind(self) -> str:
        """Say what the link carried before the response that waited longest for its turn."""
        waited = max(self.each, key=lambda one: one.costs_of({OTHER_RESPONSES}))
        return waited.behind.sentence(self.path.resource(waited.request)) if waited.behind else ""

    def _held_back(self, waited: int) -> str:
        # A connection lasts longer than the path, so a share of the path would say nothing.
        of = f"the connection of {self.path.resource(self.main)}"
        took = duration_text(waited)
        return f"Over {of}, data that had arrived waited for lost or late packets for {took}"

    def sentences(self) -> list[str]:
        """Say what is on the path, and what its responses waited for."""
        path = critical_path_report.sentences(self.path)
        return [*path, *self.responses.sentences(), *self.beside()]

    def values(self) -> dict[str, Any]:
        """Return it as JSON values, times in seconds."""
        return {**critical_path_report.values(self.path), "responses": self.values_of_responses()}

    def values_of_responses(self) -> dict[str, Any]:
        """Return the division of its responses as JSON values, times in seconds."""
        divided, held_back_ns = self.responses, self.transfer.held_back_ns
        each = [
            {
                "url": one.request.url,
                "begin_s": one.periods[0].begin / NS,
                "end_s": one.periods[-1].end / NS,
                "costs_s": {name: cost / NS for name, cost in one.costs().items()},
                "behind": one.behind.values() if one.behind else None,
            }
            for one in self.each
        ]
        return {
            "seconds": divided.seconds,
            "sentence": ". ".join(divided.sentences()) + ".",
            "each": each,
            "held_back_s": None if held_back_ns is None else held_back_ns / NS,
            **divided.division_values(),
        }


def _end_to_end(periods: Iterable[Period]) -> Iterator[Period]:
    """Yield periods without the gaps between them."""
    at = 0
    for period in periods:
        yield replace(period, begin=at, end=at + period.lasts)
        at += period.lasts


def of_attempt(left: Remains, *, metric: str) -> ExplainedLoad | Unexplained:
    """Explain the load that an attempt left, up to the moment that a metric is about."""
    place, described = left.place, left.described
    try:
        load = driver_output.read(left.artifacts / loads.CLIENT)
    except LoadError as error:
        return place.unexplained(str(error))
    words = (place.block, place.trial, place.attempt, place.levels, left.outcome)
    path = critical_path_report.of_load(PageTrial(*words, load), described, metric)
    return of_path(left, path) if path else place.unexplained("it fetched nothing")


def of_path(left: Remains, path: LoadPath) -> ExplainedLoad | Unexplained:
    """Divide a critical path by the packets that its attempt left."""
    described, load = left.described, path.trial.load
    try:
        recorded = evidence.recorded(left.artifacts, described, left.clock)
        zero = page_windows.navigation_ns(recorded.result, load, recorded.origin)
        transfers = page_connections.carriers(recorded, load, zero)
        return PagePackets(transfers, zero, described, left.catalog).explained(left.place, path)
    except NoTransferError as error:
        return left.place.unexplained(error)


def of_row(
    results: Results, row: Mapping[str, Any], catalog: Catalog
) -> ExplainedLoad | Unexplained:
    """Explain an attempt of a campaign."""
    left = explanation.remains(results, row, catalog, loads.CLIENT)
    if isinstance(left, Unexplained):
        return left
    return of_attempt(left, metric=results.experiment.report.metric)


@dataclass(frozen=True)
class PagePackets:
    """What packets show of a load."""

    transfers: Mapping[str, Transfer]
    """The connections that are known, by the browser's names."""
    zero: int
    """The navigation, in ns since the client's first packet."""
    described: Scenario
    catalog: Catalog

    def explained(self, place: Place, path: LoadPath) -> ExplainedLoad:
        """Divide the path of the load.

        :raises NoTransferError: when no response on it came over a connection that is known.
        """
        carriers = {
            name: self._carrier(name, one, path.trial.load) for name, one in self.transfers.items()
        }
        every = [*self._divided(path, carriers)]
        responses = [*_by_request(one for one in every if isinstance(one, Response))]
        known = [one for one in responses if one.request.connection in carriers]
        if not known:
            raise NoTransferError("its packets show no connection of a response on the path")
        main = max(known, key=lambda one: (one.costs_of(WINDOWS), one.whole))
        carrier = carriers[main.request.connection]
        costs, forces = (
            tuple(joined(itertools.chain.from_iterable(some)))
            for some in ((one.periods for one in every), (one.in_force for one in every))
        )
        return ExplainedLoad(
            **vars(place),
            outcome=path.trial.outcome,
            division=Division(costs, forces, carrier.division.rounds),
            held=self._held(main, carrier),
            transfer=carrier.transfer,
            origin=self.zero,
            path=path,
            each=tuple(responses),
            main=main.request,
        )

    def _carrier(self, name: str, transfer: Transfer, load: BrowserLoad) -> Carrier:
        bodies = [
            (round(one.headers_end_s * NS), round(one.ended_s * NS))
            for one in timing.fetched(load)
            if one.connection == name and one.headers_end_s is not None and one.ended_s is not None
        ]
        version = self.described.hops()[0].http_version
        of_streams = (*page_windows.of_streams(self.described, self.catalog),)
        return Carrier(transfer, self.zero, bodies, of_streams, version)

    def _divided(
        self, path: LoadPath, carriers: Mapping[str, Carrier]
    ) -> Iterator[Response | Division]:
        """Yield the path's parts in order: parts of responses, and what lies between them."""
        version = self.described.hops()[0].http_version
        turns = page_turns.of_load(self.transfers, path.trial.load, self.zero, version)
        for (_, is_response), group in itertools.groupby(path.path.steps, _kind):
            steps = [*group]
            request = steps[0].request
            if not is_response or request is None:
                periods = tuple(_as_causes(steps))
                yield Division(periods, periods, None)
                continue
            begin, end = (round(at * NS) for at in (steps[0].begin_s, steps[-1].end_s))
            carrier = carriers.get(request.connection)
            if carrier is None:
                periods = (Period(begin, end, "unknown", "inferred"),)
                yield Response(periods, periods, None, request)
                continue
            behind = self._behind(request, path, carrier, turns)
            spans = [
                replace(one, begin=one.begin - carrier.shift, end=one.end - carrier.shift)
                for one in (behind.spans if behind else ())
            ]
            costs, forces = (
                tuple(joined(recast(_cut(some, begin, end, carrier.shift), "link", spans)))
                for some in (carrier.division.periods, carrier.division.in_force)
            )
            yield Response(costs, forces, None, request, behind)

    def _behind(
        self, request: PageRequest, path: LoadPath, carrier: Carrier, turns: Turns
    ) -> Behind | None:
        """Return what the link carried before a response on the path that the page waited for."""
        of_request = [
            step for step in path.path.steps if step.request == request and step.what in RESPONSE
        ]
        begin, end = (
            round(at * NS) + carrier.shift for at in (of_request[0].begin_s, of_request[-1].end_s)
        )
        # The page's moment waits for the bytes of what it needs, in any order.
        spared = path.path.needed if request == path.path.requests[-1] else frozenset[str]()
        way = page_turns.way_to_server_ns(carrier.transfer)
        heard = page_turns.heard_ns(request, way, self.zero)
        return turns.behind(request, heard, (begin, end), spared)

    def _held(self, one: Response, carrier: Carrier) -> Held | None:
        """Return the window that held a response for longest; None without any."""
        begin, end = (at + carrier.shift for at in (one.periods[0].begin, one.periods[-1].end))
        plateau = carrier.plateau(begin, end)
        if plateau is None or not one.costs_of(WINDOWS):
            return None
        bodies = carrier.under_way(plateau.begin, plateau.end)
        version, full = self.described.hops()[0].http_version, carrier.transfer.full
        of_all = page_windows.of_connections(self.described, self.catalog)
        of = carrier.of_streams(plateau.payload, bodies)
        of = of or windows.named(plateau.payload, full, version, of_all)
        return Held(plateau, of, carrier.transfer.path.product_bytes, bodies)


def _by_request(parts: Iterable[Response]) -> Iterator[Response]:
    """Yield each response once, though other steps may lie between two parts of it."""
    groups = defaultdict[str, list[Response]](list)
    for part in parts:
        groups[part.request.id].append(part)
    for some in groups.values():
        yield Response(
            tuple(period for part in some for period in part.periods),
            tuple(period for part in some for period in part.in_force),
            None,
            some[0].request,
            some[0].behind,
        )


def _kind(step: Step) -> tuple[str, bool]:
    return step.request.id if step.request else "", step.what in RESPONSE


def _as_causes(steps: Iterable[Step]) -> Iterator[Period]:
    for step in steps:
        cause = CAUSES_OF_STEPS.get(step.what, CAUSES[step.share])
        yield Period(round(step.begin_s * NS), round(step.end_s * NS), cause, "inferred")


def _cut(periods: Sequence[Period], begin: int, end: int, shift: int) -> Iterator[Period]:
    """Yield the parts of periods between two times, once ``shift`` is taken from each period."""
    at = begin
    for period in periods:
        first, last = max(period.begin - shift, begin), min(period.end - shift, end)
        if last <= first:
            continue
        if first > at:
            yield Period(at, first, "unknown", "inferred")
        yield replace(period, begin=first, end=last)
        at = last
    if at < end:
        yield Period(at, end, "unknown", "inferred")
