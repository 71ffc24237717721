"""Senders behind a claim that did not pass, or never had, a conformance test."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from httpbed.analysis import sample
from httpbed.experiment.claims.quantity import TreatmentKey
from httpbed.report import senders
from httpbed.report.remark import few
from httpbed.store.results import Results

Sender = tuple[str, str, str]
"""Implementation, HTTP version and congestion control."""


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
        relevant = [one for one in self._verdicts if _matches(one["sender"], acting)]
        failed = [senders.named(one["sender"]) for one in relevant if one.get("passed") is False]
        if failed:
            yield f"did not pass their conformance test: {'; '.join(few(failed, 'senders'))}"
        untested = [senders.named(one["sender"]) for one in relevant if one.get("passed") is None]
        if untested:
            yield f"never tested for conformance: {'; '.join(few(untested, 'senders'))}"

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
            (role.implementation, hop.http_version, role.congestion_control or "")
            for hop in scenario.hops()
            for role in (roles[hop.server],)
        )


def _matches(sender: Mapping[str, Any], acting: frozenset[Sender]) -> bool:
    """Whether a sender acts; a role without a congestion control has its program's default."""
    program, version = sender["implementation"], sender.get("http_version", "")
    controls = (str(sender["congestion_control"]), "")
    return any((program, version, control) in acting for control in controls)
