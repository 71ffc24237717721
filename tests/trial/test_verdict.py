"""The verdict: each fault is caught by the check that is named for it, and by no other.

Every case plants one fault into what was seen in a real attempt that completed.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from httpbed.implementations.protocol import Findings, Request
from httpbed.model.trial import Check, Outcome
from httpbed.process.spec import Exit
from httpbed.trial import bed_checks, observe, subject_checks, verdict
from httpbed.trial.seen import Seen
from recorded import H2_LOSS, H3_CLEAN, SERVED, judged, planned, trial, what_was_seen

Fault = Callable[[Seen], Seen]


def checks(found: Seen, name: str = H2_LOSS) -> list[Check]:
    """Return every check on what was seen."""
    bed = bed_checks.checks(trial(name), planned(name), found)
    return [*bed, *subject_checks.checks(trial(name), SERVED, found)]


def ending(found: Seen, name: str = H2_LOSS) -> Outcome:
    """Return the outcome of what was seen."""
    return verdict.outcome(checks(found, name), found)


def broken(found: Seen, name: str = H2_LOSS) -> set[str]:
    """Return the names of the checks that are broken."""
    return {check.name for check in checks(found, name) if check.passed is False}


def on_link(*path: str | int, to: object) -> Fault:
    """Return the fault that the emulator's result has another value at a path."""

    def plant(found: Seen) -> Seen:
        link: Any = copy.deepcopy(dict(found.link))
        inner = link
        for part in path[:-1]:
            inner = inner[part]
        inner[path[-1]] = to(inner[path[-1]]) if callable(to) else to
        return replace(found, link=link)

    return plant


def ended(**changes: Any) -> Fault:
    """Return the fault that the client ended in another way."""

    def plant(found: Seen) -> Seen:
        assert isinstance(found.client, Exit)
        return replace(found, client=replace(found.client, **changes))

    return plant


def logged(*requests: Request, complaint: str = "") -> Fault:
    """Return the fault that the server logged other requests."""
    return lambda found: replace(found, server_findings=Findings((), requests, complaint))


def other(**changes: Any) -> Fault:
    """Return the fault that something else was seen."""
    return lambda found: replace(found, **changes)


OK = Request("2", 200, 10**6)
BODY = {"bytes": SERVED.size, "sha256": SERVED.sha256}
PACKETS = ("directions", 1, "packets")
LOST = ("directions", 1, "lost_numbers")

BED_FAULTS: dict[str, tuple[Fault, str]] = {
    "link too slow": (other(pings_s=(0.0801, 0.0802)), "round-trip time"),
    "link too fast": (other(pings_s=(0.0251, 0.0802)), "round-trip time"),
    "no echo": (other(pings_s=()), "round-trip time"),
    "oversize frames": (on_link("oversize_frames", to=1), "frames as on a wire"),
    "frames without a stamp": (on_link("unstamped_frames", to=1), "frames as on a wire"),
    "sends that failed": (on_link("send_failures", to=1), "frames as on a wire"),
    "frames that are not IP": (on_link("stray_frames", to=1), "frames as on a wire"),
    "malformed packets": (on_link("malformed_packets", to=1), "frames as on a wire"),
    "socket drops": (on_link("socket_drops", to=1), "emulator receive drops"),
    "late emulator": (on_link("lateness_ns", "p99", to=5_000_001), "emulator lateness"),
    "packets that vanish": (
        on_link(*PACKETS, "delivered", to=lambda n: n - 1),
        "conservation of packets",
    ),
    "packets out of nowhere": (
        on_link(*PACKETS, "queue_dropped", to=lambda n: n + 1),
        "conservation of packets",
    ),
    "a loss too few": (
        on_link(*LOST, to=lambda lost: lost[:-1]),
        "losses as drawn, server->client",
    ),
    "a loss too many": (
        on_link(*LOST, to=lambda lost: sorted({*lost, 0, 1, 2})),
        "losses as drawn, server->client",
    ),
    "another packet lost": (
        on_link("directions", 0, "lost_numbers", 0, to=lambda number: number + 1),
        "losses as drawn, client->server",
    ),
    "a busy machine": (other(pressure={"source": "psi", "seconds": 3.0}), "CPU pressure"),
    "wrong congestion control": (
        other(algorithms=frozenset({"reno"})),
        "sender's congestion control",
    ),
    "two congestion controls": (
        other(algorithms=frozenset({"cubic", "reno"})),
        "sender's congestion control",
    ),
}
SUBJECT_FAULTS: dict[str, tuple[Fault, str]] = {
    "wrong digest": (other(body={**BODY, "sha256": "0" * 64}), "body as served"),
    "short body": (other(body={**BODY, "bytes": 999_999}), "body as served"),
    "no body": (other(body=None), "body as served"),
    "downgraded protocol": (logged(Request("1.1", 200, 10**6)), "protocol used"),
    "status 404": (logged(Request("2", 404, 153)), "status of the one answer"),
    "asked twice": (logged(OK, OK), "status of the one answer"),
    "reset": (on_link("connections", 0, "server_reset", to=True), "connections not reset"),
    "server died": (other(server_survived=False), "server ran"),
    "client failed": (ended(status=56), "client ended well"),
    "client killed": (ended(status=None, signal=11), "client ended well"),
    "client complained": (
        other(client_findings=Findings(complaint="transfer closed")),
        "client ended well",
    ),
}


@pytest.mark.parametrize("name", [H2_LOSS, H3_CLEAN])
def test_the_recorded_attempts_complete_again(name: str) -> None:
    """Judging is a function of the files: what completed then completes now."""
    record = judged(name)
    assert record.attempt.outcome == Outcome(kind="completed")
    assert broken(what_was_seen(name), name) == set()
    assert {one.metric for one in record.observations} >= {"request_time", "rtt", "goodput"}
    assert judged(name) == record


@pytest.mark.parametrize(("fault", "check"), BED_FAULTS.values(), ids=BED_FAULTS)
def test_a_fault_of_the_bed_makes_the_attempt_invalid(fault: Fault, check: str) -> None:
    """By the one check that is named for it, and the reason carries that check's figure."""
    found = fault(what_was_seen(H2_LOSS))
    assert broken(found) == {check}
    assert ending(found).kind == "invalid"
    assert check in ending(found).reason


@pytest.mark.parametrize(("fault", "check"), SUBJECT_FAULTS.values(), ids=SUBJECT_FAULTS)
def test_a_fault_of_the_subject_makes_the_outcome_failed(fault: Fault, check: str) -> None:
    """It is data, with its reason; the bed is not blamed for it."""
    found = fault(what_was_seen(H2_LOSS))
    assert broken(found) == {check}
    assert ending(found).kind == "failed"
    assert check in ending(found).reason


def test_every_check_has_a_fault_that_it_catches() -> None:
    """A check that nothing here breaks might be one that nothing can break."""
    caught = {check for _, check in (*BED_FAULTS.values(), *SUBJECT_FAULTS.values())}
    assert {check.name for check in checks(what_was_seen(H2_LOSS))} == caught


def test_no_request_logged_breaks_all_that_the_log_is_evidence_of() -> None:
    """Neither protocol nor status is believed without the server's word; its complaint is told."""
    found = logged(complaint="the server wrote no access log")(what_was_seen(H2_LOSS))
    assert broken(found) == {"protocol used", "status of the one answer"}
    assert "wrote no access log" in ending(found).reason


def test_the_beds_fault_comes_before_the_subjects() -> None:
    """A client that failed over a broken link says nothing about the client."""
    found = ended(status=28)(on_link("socket_drops", to=3)(what_was_seen(H2_LOSS)))
    assert ending(found).kind == "invalid"


def test_a_timed_out_client_is_data() -> None:
    """Whatever else it left undone; it has no request time, for it has no end."""
    late = ended(status=None, signal=9, timed_out=True)(what_was_seen(H2_LOSS))
    late = logged()(replace(late, body=None))
    assert ending(late).kind == "timed out"
    metrics = {one.metric for one in observe.observations(trial(H2_LOSS).scenario(), SERVED, late)}
    assert not metrics & {"request_time", "goodput"}


def test_a_timed_out_client_over_a_broken_bed_is_invalid() -> None:
    """The bed's failure leaves nothing to judge."""
    late = ended(status=None, signal=9, timed_out=True)(what_was_seen(H2_LOSS))
    assert ending(on_link("socket_drops", to=1)(late)).kind == "invalid"


def test_a_server_that_did_not_start_has_failed() -> None:
    """The subject's fault, told in its own words; the link was never used."""
    found = replace(
        what_was_seen(H2_LOSS), server_failure="exit status 1: no such file", client=None, link={}
    )
    assert ending(found) == Outcome(kind="failed", reason="server ran: exit status 1: no such file")


@pytest.mark.parametrize(
    ("found", "name", "figure"),
    [
        (what_was_seen(H3_CLEAN), H3_CLEAN, "not visible to the kernel"),
        (replace(what_was_seen(H2_LOSS), algorithms=frozenset()), H2_LOSS, "not observed"),
    ],
)
def test_what_could_not_be_observed_is_told_and_rejects_nothing(
    found: Seen, name: str, figure: str
) -> None:
    """QUIC's congestion control is the program's; a flow may be over before it could be read."""
    (check,) = (one for one in checks(found, name) if one.name == "sender's congestion control")
    assert check.passed is None
    assert figure in check.figure
    assert ending(found, name).kind == "completed"


@pytest.mark.parametrize(
    ("least_ms", "passed"), [(49.8, False), (50.0, True), (50.2, True), (52.6, True), (52.7, False)]
)
def test_the_round_trip_time_has_a_limit_on_both_sides(least_ms: float, *, passed: bool) -> None:
    """50.13 ms are due: 0.2 ms early is the resolution of ping, 2.5 ms late another link."""
    found = replace(what_was_seen(H2_LOSS), pings_s=(least_ms / 1e3, 1.0))
    (check,) = (one for one in checks(found) if one.name == "round-trip time")
    assert check.passed is passed


def test_the_realised_share_of_losses_rejects_nothing() -> None:
    """It is reported with its binomial interval: luck is not a fault."""
    (check,) = (
        one
        for one in checks(what_was_seen(H2_LOSS))
        if one.name == "losses as drawn, server->client"
    )
    assert check.figure.startswith("13 of 715 lost, 1.82%, 95 % interval 0.97% .. 3.09%")


def test_a_broken_bed_is_recorded_as_an_invalid_attempt() -> None:
    """With what the bed said; there is nothing else to judge."""
    this = verdict.Try(trial(H2_LOSS), 2, datetime(2026, 11, 21, tzinfo=UTC))
    record = verdict.broken_bed(this, "the emulator ended: no reason given")
    assert record.attempt.outcome.kind == "invalid"
    assert record.attempt.number == 2
    assert [check.passed for check in record.attempt.checks] == [False]
    assert record.observations == []
