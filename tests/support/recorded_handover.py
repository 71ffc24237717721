"""The recorded hand-over and variations of it."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from httpbed.addons.handover import handover_checks as handover
from httpbed.addons.handover import handover_metrics as metrics
from httpbed.addons.handover import handover_outcome as outcome
from httpbed.addons.handover.handover_deliveries import Bins
from httpbed.addons.handover.handover_evidence import HandoverEvidence
from httpbed.addons.handover.handover_model import Handover
from httpbed.addons.handover.handover_outcome import HandoverVerdict
from httpbed.experiment.trial import Check
from httpbed.trial.evidence import AttemptEvidence
from planted import Fault
from recorded import HANDED_OVER, chains, recorded_evidence, trial

MS = 10**6
S = 10**9
(CHAIN,) = chains(HANDED_OVER)
QUIET = {"source": "psi", "seconds": 0.0, "over_s": 1.0}


def described(**changes: Any) -> Handover:
    """Describe the recorded hand-over with changes."""
    said = {**trial(HANDED_OVER).document["handover"], **changes}
    return Handover.model_validate({name: value for name, value in said.items() if value})


def observed() -> AttemptEvidence:
    """Return the recorded attempt's evidence, on a quiet machine."""
    return replace(recorded_evidence(HANDED_OVER), pressure=QUIET)


def own(evidence: AttemptEvidence) -> HandoverEvidence:
    """Return the evidence of hand-overs."""
    found = evidence.of(HandoverEvidence)
    assert found is not None
    return found


def with_own(evidence: AttemptEvidence, changed: HandoverEvidence) -> AttemptEvidence:
    """Return the evidence with other evidence of hand-overs."""
    return replace(evidence, added={**evidence.added, HandoverEvidence: changed})


def delivered(evidence: AttemptEvidence, bins: Mapping[str, Bins]) -> AttemptEvidence:
    """Replace what the links delivered."""
    return with_own(evidence, replace(own(evidence), deliveries=bins))


def verdicts(evidence: AttemptEvidence, **changes: Any) -> list[HandoverVerdict]:
    """Return how the client reacted to each hand-over."""
    course = metrics.observed(described(**changes), CHAIN, evidence)
    assert course is not None
    return outcome.verdicts(course)


def of_subject(evidence: AttemptEvidence, **changes: Any) -> Check:
    """Check how the client reacted."""
    course = metrics.observed(described(**changes), CHAIN, evidence)
    assert course is not None
    (check,) = handover.of_subject(course, verdicts(evidence, **changes))
    return check


def on_handover(**changes: Any) -> Fault:
    """Return the fault that the evidence of hand-overs differs."""

    def plant(evidence: AttemptEvidence) -> AttemptEvidence:
        return with_own(evidence, replace(own(evidence), **changes))

    return plant


def changed(evidence: AttemptEvidence, **changes: Any) -> AttemptEvidence:
    """Change the one hand-over."""
    (change,) = own(evidence).changes
    return on_handover(changes=(replace(change, **changes),))(evidence)


def connections(evidence: AttemptEvidence, *told: dict[str, Any]) -> AttemptEvidence:
    """Replace all connections."""
    return replace(evidence, link={**evidence.link, "connections": list(told)})


def on(evidence: AttemptEvidence, link: str, **changes: Any) -> dict[str, Any]:
    """Return the recorded connection on a link, with changes."""
    one = next(connection for connection in evidence.connections if connection["link"] == link)
    return {**copy.deepcopy(dict(one)), **changes}
