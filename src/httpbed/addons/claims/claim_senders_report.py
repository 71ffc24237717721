"""Senders behind a claim that did not pass, or never had, a conformance test."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from httpbed.addons.conformance import senders_report as senders
from httpbed.experiment.treatment import TreatmentKey
from httpbed.report.remark import few
from httpbed.results import sample
from httpbed.store.results import Results

Sender = tuple[str, str, str, frozenset[tuple[str, str]]]
"""Implementation, HTTP version, congestion control and the knobs that the experiment sets."""


class ClaimSenders:
    """Finds the senders of treatments in the manifest's conformance verdicts."""

    def __init__(self, results: Results) -> None:
        self._results = results
        self._verdicts = tuple(results.manifest.get("senders", ()))
        self._known: dict[TreatmentKey, frozenset[Sender]] = {}

    def warnings(self, treatments: Iterable[TreatmentKey]) -> Iterator[str]:
        """Name the senders of treatments that did not pass, and those that were never tested."""
        if not self._verdicts:
            return
        acting = frozenset[Sender]().union(*map(self._senders, treatments))
        indices = sorted({index for one in acting for index in self._tested(one)})
        relevant = [self._verdicts[index] for index in indices]
        failed = _names(one for one in relevant if one.get("passed") is False)
        if failed:
            yield f"did not pass their conformance test: {'; '.join(few(failed, 'senders'))}"
        untested = _names(one for one in relevant if one.get("passed") is None)
        if untested:
            yield f"never tested for conformance: {'; '.join(few(untested, 'senders'))}"

    def _tested(self, sender: Sender) -> list[int]:
        """Return the indices of a sender's verdicts: those with its knobs, if there are any."""
        program, version, control, knobs = sender
        same = [
            index
            for index, one in enumerate(self._verdicts)
            if _matches(one["sender"], program, version, control)
        ]
        exact = [i for i in same if {*self._verdicts[i].get("set", {}).items()} == knobs]
        return exact or same

    def _senders(self, treatment: TreatmentKey) -> frozenset[Sender]:
        if treatment not in self._known:
            self._known[treatment] = self._of_scenario(treatment)
        return self._known[treatment]

    def _of_scenario(self, treatment: TreatmentKey) -> frozenset[Sender]:
        levels = dict(zip(self._results.experiment.factors, treatment, strict=True))
        try:
            scenario = sample.scenario(self._results, levels)
        except KeyError:  # a level that the campaign's scale leaves out
            return frozenset()
        roles = {name: role for name, role, _ in scenario.parts()}
        return frozenset(
            (
                role.implementation,
                hop.http_version,
                role.congestion_control or "",
                frozenset(role.knobs.items()),
            )
            for hop in scenario.hops()
            for role in (roles[hop.server],)
        )


def _names(verdicts: Iterable[Mapping[str, Any]]) -> list[str]:
    return [*dict.fromkeys(senders.named(one["sender"]) for one in verdicts)]


def _matches(sender: Mapping[str, Any], program: str, version: str, control: str) -> bool:
    """Whether a sender acts so; a role without a congestion control has its program's default."""
    same = (sender["implementation"], sender.get("http_version", "")) == (program, version)
    return same and control in {str(sender["congestion_control"]), ""}
