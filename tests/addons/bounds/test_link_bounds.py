"""Impossible times and bytes are detected, and no valid attempt is rejected."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest

from httpbed.addons.bounds.link_bounds import IMPOSSIBLE
from httpbed.trial import client_requests
from httpbed.trial.evidence import AttemptEvidence
from planted import Fault, broken, ending, on_link
from recorded import ALL, H2_LOSS, HANDED_OVER, checks, planned, recorded_evidence

WINDOWS = "possible for this link, bytes in any window"
TIMES = "possible for this link, times"
REQUESTS = "possible for this link, requests"
RECEIVED = "possible for this link, bytes received"
STORED = "possible for this link, bodies stored"
HOP = planned(H2_LOSS).hops[0]
DOWN = 1
"""Direction towards the client, in attempts with one link."""


def witnessed(observed: AttemptEvidence) -> AttemptEvidence:
    """Add a witness's observations to an attempt recorded without one.

    For each direction it takes the first packet and the least time that the link allows.
    """
    link: Any = copy.deepcopy(dict(observed.link))
    link |= {"schema": 3, "early_ns": 0}
    for way in link["directions"]:
        first_ns = way["first_ns"]
        window = {"slack_ns": 0, "from_ns": first_ns, "to_ns": first_ns + 1_200_000, "bytes": 1500}
        way["witnessed"] = {
            "packets": way["packets"]["delivered"],
            "skipped": 0,
            "window": window,
            "delay_slack_ns": 0,
            "quickest": {"took_ns": 26_200_000, "bytes": 1500},
        }
    for connection in link["connections"]:
        connection["acknowledged_ahead"] = 0 if connection["protocol"] == "tcp" else None
    return replace(observed, link=link)


def divided(share: int, *where: str) -> Fault:
    """Return the fault that all times, or those of a part of the result, are divided."""

    def plant(observed: AttemptEvidence) -> AttemptEvidence:
        link: Any = copy.deepcopy(dict(observed.link))
        for part in where:
            link[part] = _divided(link[part], share)
        return replace(observed, link=link if where else _divided(link, share))

    return plant


def _divided(said: Any, share: int) -> Any:
    if isinstance(said, list):
        return [_divided(one, share) for one in said]
    if not isinstance(said, dict):
        return said
    return {
        key: value // share
        if key.endswith("_ns") and isinstance(value, int)
        else _divided(value, share)
        for key, value in said.items()
    }


def in_direction(*path: str, to: object) -> Fault:
    """Return the fault that the direction to the client reports something else."""
    return on_link("directions", DOWN, *path, to=to)


FAULTS: dict[str, tuple[Fault, set[str]]] = {
    "all times divided by ten": (divided(10), {WINDOWS, TIMES, REQUESTS}),
    "times of directions divided by ten": (divided(10, "directions"), {WINDOWS, TIMES}),
    "a rate exceeded": (in_direction("witnessed", "window", "slack_ns", to=-1), {WINDOWS}),
    "a window of another rate": (in_direction("witnessed", "window", "bytes", to=1502), {WINDOWS}),
    "a packet unwitnessed": (in_direction("witnessed", "packets", to=lambda n: n - 1), {WINDOWS}),
    "no witness": (in_direction("witnessed", to=None), {WINDOWS}),
    "a delay not kept": (in_direction("witnessed", "delay_slack_ns", to=-1), {TIMES}),
    "a delay of another link": (
        in_direction("witnessed", "quickest", "took_ns", to=26_199_990),
        {TIMES},
    ),
    "a frame sent early": (on_link("early_ns", to=1), {TIMES}),
    "a packet before the start": (in_direction("first_ns", to=81_117_081), {TIMES}),
    "acknowledged, not delivered": (
        on_link("connections", 0, "acknowledged_ahead", to=1),
        {RECEIVED},
    ),
}
OF_PROGRAMS: dict[str, Fault] = {
    "times of connections divided by ten": divided(10, "connections"),
    "a handshake below a round trip": on_link(
        "connections", 0, "handshake_ns", to=94_150_411 + 49_800_000
    ),
}
"""What a client may bring about by its own packets."""


@pytest.mark.parametrize(("fault", "expected"), FAULTS.values(), ids=FAULTS)
def test_an_impossible_figure_makes_the_attempt_invalid(fault: Fault, expected: set[str]) -> None:
    """The reason names the figure and its bound."""
    observed = fault(witnessed(recorded_evidence(H2_LOSS)))
    assert {name for name in broken(observed) if name.startswith("possible")} == expected
    outcome = ending(observed)
    assert outcome.kind == "invalid"
    assert IMPOSSIBLE in outcome.reason


@pytest.mark.parametrize("fault", OF_PROGRAMS.values(), ids=OF_PROGRAMS)
def test_an_impossible_time_of_a_connection_is_the_programs_failure(fault: Fault) -> None:
    """It is never repeated: a client could make each attempt invalid that it dislikes."""
    observed = fault(witnessed(recorded_evidence(H2_LOSS)))
    assert {name for name in broken(observed) if name.startswith("possible")} == {REQUESTS}
    assert ending(observed).kind == "failed"


@pytest.mark.parametrize("name", [*ALL, HANDED_OVER])
def test_recorded_attempts_are_possible(name: str) -> None:
    """With and without a witness."""
    observed = recorded_evidence(name)
    assert not {one for one in broken(observed, name) if one.startswith("possible")}


def test_the_figure_nearest_to_its_bound_is_reported() -> None:
    """The check shows the figure and the bound."""
    told = {check.name: check.figure for check in checks(recorded_evidence(H2_LOSS))}
    assert told[REQUESTS] == "2.27386 s for 1 MB to the client; possible: at least 850 ms"
    assert told[STORED].startswith("1 MB of bodies at the client; possible: at most 1.04194 MB")
    assert "possible: at most 2.77512 MB" in told[WINDOWS]


def answered(**changes: object) -> Fault:
    """Return the result of an emulator that reports when the answer ended, and its bytes."""

    def plant(observed: AttemptEvidence) -> AttemptEvidence:
        link: Any = copy.deepcopy(dict(observed.link))
        for one in link["connections"]:
            told = {"answer_last_ns": one["client_close_ns"], "answer_bytes": 1_020_000}
            one.update({**told, **changes})
        return replace(observed, link=link)

    return plant


def test_a_request_lasts_until_the_answer_has_arrived() -> None:
    """The client's close counts only if it is later."""
    observed = answered()(recorded_evidence(H2_LOSS))
    before = client_requests.request_s(HOP, observed, 10**6)
    (connection,) = observed.link["connections"]
    later = connection["client_close_ns"] + 10**9
    late = answered(answer_last_ns=later)(recorded_evidence(H2_LOSS))
    earlier = answered(answer_last_ns=later - 2 * 10**9)(recorded_evidence(H2_LOSS))
    assert before is not None
    assert before == pytest.approx(2.27386)
    assert client_requests.request_s(HOP, earlier, 10**6) == before
    assert client_requests.request_s(HOP, late, 10**6) == pytest.approx(before + 1)


def test_bodies_that_were_not_delivered_before_the_end_are_the_programs_failure() -> None:
    """The server's log may say what it likes."""
    observed = answered(answer_bytes=999_999)(recorded_evidence(H2_LOSS))
    assert broken(observed) == {STORED}
    assert ending(observed).kind == "failed"
    assert broken(answered(answer_bytes=10**6)(recorded_evidence(H2_LOSS))) == set()
