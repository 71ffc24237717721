"""When a request ends and what its client received, if the client loses an address meanwhile."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest

from httpbed.trial import client_requests
from httpbed.trial.evidence import AttemptEvidence
from recorded import H2_LOSS, HANDED_OVER, planned, recorded_evidence
from recorded_handover import own, with_own

(HOP,) = planned(HANDED_OVER).hops
LEFT = "wifi"
MS = 10**6


def lost(at_ms: int, gone_ms: int, answer_bytes: int = 0) -> AttemptEvidence:
    """Return the recorded hand-over with an answer on the link whose address is lost for good.

    Both times are since the emulator's start.
    """
    observed = recorded_evidence(HANDED_OVER)
    link: Any = copy.deepcopy(dict(observed.link))
    for one in link["connections"]:
        left = one["link"] == LEFT
        one |= {
            "client_close_ns": one["client_first_ns"] + 30 * MS if left else None,
            "client_last_ns": one["client_first_ns"] + 30 * MS,
            "answer_last_ns": link["started_ns"] + at_ms * MS if left else None,
            "answer_bytes": answer_bytes if left else 0,
            "protocol": "tcp",
        }
    absences = {LEFT: [(gone_ms * MS, 10**18)]}
    lacking = replace(own(observed), absences=absences)
    return with_own(replace(observed, link=link), lacking)


def ended_ms(observed: AttemptEvidence) -> float:
    """Return when the request ended, since the emulator's start."""
    ended_ns = client_requests.request_ended_ns(HOP, observed, 0)
    return (ended_ns - int(observed.link["started_ns"])) / MS


def test_an_answer_lasts_until_the_address_is_gone() -> None:
    """What is delivered after that is to nobody, but what came before is not forgotten."""
    assert ended_ms(lost(at_ms=700, gone_ms=900)) == pytest.approx(700)
    assert ended_ms(lost(at_ms=950, gone_ms=900)) == pytest.approx(900)


def test_what_comes_after_the_address_is_gone_is_no_body() -> None:
    """The link's deliveries until then bound what the client received."""
    taken = sum(own(lost(900, 900)).deliveries[LEFT].values())
    assert client_requests.received_bytes([HOP], lost(900, 900, 10**7)) == taken
    assert client_requests.received_bytes([HOP], lost(900, 900, 1000)) == 1000


@pytest.mark.parametrize(
    ("whole_ms", "answered_ms", "ended_ms"), [(900, 850, 900), (900, 950, 950), (1300, 850, 1000)]
)
def test_a_browsers_download_ends_when_it_has_the_file(
    whole_ms: int, answered_ms: int, ended_ms: int
) -> None:
    """Its driver closes it after a second; no answer that arrives later is left out."""
    observed = recorded_evidence(H2_LOSS)
    (hop,) = planned(H2_LOSS).hops
    link: Any = copy.deepcopy(dict(observed.link))
    for one in link["connections"]:
        one |= {"client_close_ns": 1000 * MS, "answer_last_ns": answered_ms * MS}
    link["origin_ns"] = 10**12
    whole_ns = link["origin_ns"] + whole_ms * MS
    report = replace(observed.reports[hop.client], whole_ns=whole_ns)
    of_browser = replace(observed, link=link, reports={**observed.reports, hop.client: report})
    assert client_requests.request_ended_ns(hop, of_browser, 0) == ended_ms * MS
