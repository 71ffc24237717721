"""What a host sends beside its connections is its own failure, and the bed is not judged then."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest

from httpbed.experiment.check import FRAMES
from httpbed.experiment.trial import Check
from httpbed.trial.checks import bed, subject
from httpbed.trial.evidence import AttemptEvidence
from planted import broken, ending
from recorded import H2_LOSS, checks, judged_attempt, recorded_evidence

NOTHING = {
    "stray_frames": 0,
    "malformed_packets": 0,
    "other_packets": 0,
    "other_bytes": 0,
    "flows": 0,
    "untracked_packets": 0,
}
CLIENT, SERVER = 0, 1
LOST_BY_BED = {"socket_drops": 3, "stray_frames": 1}
"""Faults of the bed that a part can bring about."""
MISUSE: dict[str, dict[str, int]] = {
    "a frame for nobody": {"stray_frames": 1},
    "a malformed packet": {"malformed_packets": 1},
    "another protocol": {"other_bytes": 65_537},
    "too many connections": {"flows": 65_536, "untracked_packets": 1},
}


def sending(side: int, other: dict[str, int], **more: Any) -> AttemptEvidence:
    observed = recorded_evidence(H2_LOSS)
    link: Any = copy.deepcopy(dict(observed.link)) | more
    for one in link["directions"]:
        one |= {"sent": NOTHING, "receive_drops": 0}
    link["directions"][side]["sent"] = NOTHING | other
    return replace(observed, link=link)


@pytest.mark.parametrize("side", [CLIENT, SERVER])
@pytest.mark.parametrize("other", MISUSE.values(), ids=MISUSE)
def test_misuse_is_the_senders_failure(other: dict[str, int], side: int) -> None:
    """Also if it broke a check of the bed: no attempt more."""
    observed = sending(side, other, **LOST_BY_BED)
    host = ("client", "server")[side]
    assert broken(observed) == {f"packets sent, {host}"}
    assert ending(observed).kind == "failed"


def test_what_an_honest_kernel_sends_is_no_misuse() -> None:
    """An ICMP error now and then; the bed's own faults stay the bed's."""
    assert broken(sending(CLIENT, {"other_packets": 6, "other_bytes": 3000, "flows": 9})) == set()
    faulty = sending(CLIENT, {}, **LOST_BY_BED)
    assert ending(faulty).kind == "invalid"


def test_a_flood_is_the_senders_failure() -> None:
    """More than half of many packets did not fit."""
    observed = sending(CLIENT, {}, **LOST_BY_BED)
    observed.link["directions"][CLIENT]["receive_drops"] = 19_000
    assert ending(observed).kind == "invalid"
    observed.link["directions"][CLIENT]["receive_drops"] = 30_000
    assert broken(observed) == {"packets sent, client"}


def test_a_connection_outside_the_experiment_is_its_openers_failure() -> None:
    """A server that sends the body from another address has no part in the hop."""
    observed = sending(CLIENT, {})
    (hop,) = observed.link["connections"]
    reversed_ = hop | {"client": hop["server"], "server": hop["client"]}
    observed.link["connections"].append(reversed_)
    assert broken(observed) == {"packets sent, server"}


@pytest.mark.parametrize("field", subject.ASTRAY)
def test_a_frame_is_judged_once(field: str) -> None:
    """The bed answers for those alone that no host with programs sent."""
    observed = sending(CLIENT, {field: 2}, **{field: 2})
    assert frames(observed).measured == 0
    more = replace(observed, link={**observed.link, field: 3})
    assert (frames(more).passed, frames(more).measured) == (False, 1)


def frames(observed: AttemptEvidence) -> Check:
    """Return the bed's check of frames, also where a part's packets excuse the bed."""
    judged = judged_attempt(observed, H2_LOSS)
    (check,) = [
        one
        for one in bed.checks(judged.planned, judged.catalog, observed)
        if one.check == FRAMES.id
    ]
    return check


def test_a_result_without_these_counts_has_no_such_check() -> None:
    """Old campaigns stay readable."""
    assert not [
        check for check in checks(recorded_evidence(H2_LOSS)) if check.check == "packets sent"
    ]
