"""Impossible times and bytes are detected, and no valid attempt is rejected."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest

from httpbed.trial.checks.link_bounds import IMPOSSIBLE
from httpbed.trial.evidence import AttemptEvidence
from planted import Fault, broken, ending, on_link
from recorded import ALL, H2_LOSS, H3_CLEAN, HANDED_OVER, checks, recorded_evidence

WINDOWS = "possible for this link, bytes in any window"
TIMES = "possible for this link, times"
RECEIVED = "possible for this link, bytes received"
STORED = "possible for this link, bodies stored"
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
    "all times divided by ten": (divided(10), {WINDOWS, TIMES}),
    "times of connections divided by ten": (divided(10, "connections"), {TIMES}),
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
    "a handshake below a round trip": (
        on_link("connections", 0, "handshake_ns", to=94_150_411 + 49_800_000),
        {TIMES},
    ),
}


@pytest.mark.parametrize(("fault", "expected"), FAULTS.values(), ids=FAULTS)
def test_an_impossible_figure_makes_the_attempt_invalid(fault: Fault, expected: set[str]) -> None:
    """The reason names the figure and its bound."""
    observed = fault(witnessed(recorded_evidence(H2_LOSS)))
    assert {name for name in broken(observed) if name.startswith("possible")} == expected
    outcome = ending(observed)
    assert outcome.kind == "invalid"
    assert IMPOSSIBLE in outcome.reason


@pytest.mark.parametrize("name", [*ALL, HANDED_OVER])
def test_recorded_attempts_are_possible(name: str) -> None:
    """With and without a witness."""
    observed = recorded_evidence(name)
    assert not {one for one in broken(observed, name) if one.startswith("possible")}


def test_the_attempt_without_planted_faults_is_possible() -> None:
    """The faults are planted into this attempt."""
    assert broken(witnessed(recorded_evidence(H2_LOSS))) == set()


def test_the_figure_nearest_to_its_bound_is_reported() -> None:
    """The check shows the figure and the bound."""
    told = {one.name: one.figure for one in checks(recorded_evidence(H2_LOSS))}
    assert told[TIMES] == "2.27386 s for 1 MB to the client; possible: at least 850 ms"
    assert told[STORED].startswith("1 MB of bodies at the client; possible: at most 1.04194 MB")
    assert "possible: at most 2.77512 MB" in told[WINDOWS]


def test_the_reason_begins_with_impossible() -> None:
    """It has the figure and the bound."""
    observed = on_link("connections", 0, "acknowledged_ahead", to=4000)
    reason = ending(observed(witnessed(recorded_evidence(H2_LOSS)))).reason
    assert reason.startswith("impossible for this link: 4 kB acknowledged beyond what")
    assert reason.endswith("possible: at most 0 B")


def test_a_body_without_a_log_is_not_judged() -> None:
    """The body may have been compressed in transit."""
    observed = recorded_evidence(H3_CLEAN)
    (request,) = observed.reports["server"].requests
    silent = replace(observed.reports["server"], requests=(replace(request, body_bytes=None),))
    told = replace(observed, reports={**observed.reports, "server": silent})
    (received,) = [one for one in checks(told, H3_CLEAN) if one.name == RECEIVED]
    assert received.passed is None


def test_a_decoded_body_counts_with_its_logged_size() -> None:
    """A client may decode what it stores."""
    observed = recorded_evidence(H3_CLEAN)
    (request,) = observed.reports["server"].requests
    coded = replace(observed.reports["server"], requests=(replace(request, body_bytes=100_000),))
    told = divided(2, "connections")(observed)
    told = replace(told, reports={**observed.reports, "server": coded})
    assert RECEIVED not in broken(told, H3_CLEAN)
