"""The verdict: each fault is caught by the check that is named for it, and by no other.

Every case plants one fault into the evidence of a real attempt that completed.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from httpbed.bed.machine import machine_load
from httpbed.experiment.check import SOCKET_DROPS
from httpbed.experiment.trial import Check, Outcome
from httpbed.trial import verdict
from httpbed.trial.evidence import AttemptEvidence, HostDatagrams
from planted import (
    Fault,
    broken,
    complained,
    echoed,
    ended,
    ending,
    logged,
    on_another_connection,
    on_link,
    other,
    relogged,
    reset,
    sent_by,
    stored,
)
from recorded import (
    ALL,
    H2_LOSS,
    H3_CLEAN,
    PROXIED,
    SERVED,
    checks,
    judged,
    observations,
    recorded_evidence,
    trial,
)

OK = replace(recorded_evidence(H2_LOSS).reports["server"].requests[0])
BODY = {"bytes": SERVED.size, "sha256": SERVED.sha256}
PACKETS = ("directions", 1, "packets")
LOST = ("directions", 1, "lost_numbers")

BED_FAULTS: dict[str, tuple[Fault, str]] = {
    "link too slow": (echoed(0.0801, 0.0802), "round-trip time"),
    "link too fast": (echoed(0.0251, 0.0802), "round-trip time"),
    "no echo": (echoed(), "round-trip time"),
    "oversize frames": (on_link("oversize_frames", to=1), "frames as on a wire"),
    "frames without a stamp": (on_link("unstamped_frames", to=1), "frames as on a wire"),
    "sends that failed": (on_link("send_failures", to=1), "frames as on a wire"),
    "frames that are not IP": (on_link("stray_frames", to=1), "frames as on a wire"),
    "malformed packets": (on_link("malformed_packets", to=1), "frames as on a wire"),
    "another backend": (on_link("backend", to="tun"), "link backend"),
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
    "bytes faster than the rate": (
        on_link("directions", 1, "last_ns", to=200_000_000),
        "possible for this link, bytes in any window",
    ),
    "a frame sent early": (on_link("early_ns", to=1), "possible for this link, times"),
    "more acknowledged than delivered": (
        on_link("connections", 0, "acknowledged_ahead", to=1),
        "possible for this link, bytes received",
    ),
    "a busy machine": (
        other(pressure={"source": "psi", "seconds": 3.0, "over_s": 4.0}),
        "CPU pressure",
    ),
    "wrong congestion control": (
        sent_by("reno"),
        "sender's congestion control",
    ),
    "two congestion controls": (
        sent_by("cubic", "reno"),
        "sender's congestion control",
    ),
}
SUBJECT_FAULTS: dict[str, tuple[Fault, str]] = {
    "wrong digest": (stored({**BODY, "sha256": "0" * 64}), "body as served"),
    "short body": (stored({**BODY, "bytes": 999_999}), "body as served"),
    "no body": (stored(None), "body as served"),
    "downgraded protocol": (relogged(http_version="1.1"), "protocol used"),
    "the client's own word": (relogged("client", http_version="1.1"), "protocol used"),
    "UDP on the wire": (on_link("connections", 0, "protocol", to="udp"), "protocol used"),
    "two connections": (on_another_connection, "connection count"),
    "older TLS": (relogged(tls_version="TLSv1.2"), "TLS version"),
    "resumed unasked": (relogged(resumed=True), "resumption"),
    "status 404": (relogged(status=404), "status of the one answer"),
    "asked twice": (logged(OK, OK), "status of the one answer"),
    "closed folder": (other(disorder={"client": "closed its folder"}), "parts' folders"),
    "server died": (other(survivors=frozenset()), "server ran"),
    "client failed": (ended(status=56), "client ended well"),
    "client killed": (ended(status=None, signal=11), "client ended well"),
    "client complained": (
        complained("transfer closed"),
        "client ended well",
    ),
}


@pytest.mark.parametrize("name", ALL)
def test_the_recorded_attempts_complete_again(name: str) -> None:
    """Judging depends only on the files."""
    record = judged(name)
    assert record.attempt.outcome == Outcome(kind="completed")
    assert broken(recorded_evidence(name), name) == set()
    assert {observation.metric for observation in record.observations} >= {
        "request_time",
        "rtt",
        "goodput",
    }
    assert judged(name) == record


@pytest.mark.parametrize(("fault", "check"), BED_FAULTS.values(), ids=BED_FAULTS)
def test_a_fault_of_the_bed_makes_the_attempt_invalid(fault: Fault, check: str) -> None:
    """The reason has the figure of the one broken check."""
    evidence = fault(recorded_evidence(H2_LOSS))
    assert broken(evidence) == {check}
    assert ending(evidence).kind == "invalid"
    (figure,) = [one.figure for one in checks(evidence) if one.name == check]
    assert figure in ending(evidence).reason


@pytest.mark.parametrize(("fault", "check"), SUBJECT_FAULTS.values(), ids=SUBJECT_FAULTS)
def test_a_fault_of_the_subject_makes_the_outcome_failed(fault: Fault, check: str) -> None:
    """The bed is not blamed."""
    evidence = fault(recorded_evidence(H2_LOSS))
    assert broken(evidence) == {check}
    assert ending(evidence).kind == "failed"
    assert check in ending(evidence).reason


def never_delivered(evidence: AttemptEvidence) -> AttemptEvidence:
    """Let the client store, and the server log, more than the link delivered."""
    body = {"bytes": 2 * 10**6, "sha256": "0" * 64}
    return stored(body)(relogged("server", body_bytes=2 * 10**6)(evidence))


def test_a_client_that_stores_more_than_was_delivered_has_failed() -> None:
    """The bed is not to blame, and the trial is not repeated."""
    evidence = never_delivered(recorded_evidence(H2_LOSS))
    assert "possible for this link, bodies stored" in broken(evidence)
    assert ending(evidence).kind == "failed"


faster_than_light = on_link("connections", 0, "client_close_ns", to=943_000_000)


def test_a_request_faster_than_light_is_the_clients_failure() -> None:
    """When it closes is the client's choice."""
    evidence = faster_than_light(recorded_evidence(H2_LOSS))
    assert broken(evidence) == {"possible for this link, requests"}
    assert ending(evidence).kind == "failed"


def test_a_kill_for_lack_of_memory_is_named() -> None:
    """If the sandbox did not kill the program itself."""
    evidence = other(killed_for_memory=1)(ended(status=None, signal=9)(recorded_evidence(H2_LOSS)))
    assert "signal 9, when the kernel killed 1 for lack of memory" in ending(evidence).reason
    evidence = ended(status=None, signal=9, ended_for="used too much")(evidence)
    assert "used too much, and was killed" in ending(evidence).reason
    assert "the kernel" not in ending(evidence).reason


PROXY_FAULTS: dict[str, tuple[Fault, str]] = {
    "downgraded hop": (
        relogged("server", http_version="1.1"),
        "protocol used, proxy->server",
    ),
    "another version upstream": (
        relogged("proxy", upstream_http_version="1.1"),
        "protocol used, proxy->server",
    ),
    "downgraded client": (relogged("proxy", http_version="2"), "protocol used, client->proxy"),
    "asked again": (relogged("proxy", attempts=2), "proxy passed on cleanly"),
    "reset upstream": (relogged("proxy", flags="UC"), "proxy passed on cleanly"),
    "a proxy that died": (other(survivors=frozenset({"server"})), "proxy ran"),
    "a status of the proxy's own": (relogged("proxy", status=503), "status of the answers"),
    "one file of another": (
        lambda evidence: stored(evidence.bodies["client"][1])(evidence),
        "bodies as served",
    ),
}


@pytest.mark.parametrize(("fault", "check"), PROXY_FAULTS.values(), ids=PROXY_FAULTS)
def test_a_fault_behind_a_proxy_makes_the_outcome_failed(fault: Fault, check: str) -> None:
    """Every hop is checked."""
    evidence = fault(recorded_evidence(PROXIED))
    assert broken(evidence, PROXIED) == {check}
    assert ending(evidence, PROXIED).kind == "failed"


def test_a_server_without_a_log_is_judged_by_the_client() -> None:
    """What neither reports is not observed."""
    evidence = replace(logged()(recorded_evidence(H2_LOSS)), silent=frozenset({"server"}))
    (protocol,) = (check for check in checks(evidence) if check.name == "protocol used")
    assert protocol.figure == "1 request(s) HTTP/2, by the client"
    assert ending(evidence).kind == "completed"
    evidence = logged(part="client")(evidence)
    (protocol,) = (check for check in checks(evidence) if check.name == "protocol used")
    assert (protocol.passed, protocol.figure) == (None, "tcp, by the packets; no log reports more")


def test_every_check_has_a_fault_that_it_catches() -> None:
    """A check that no test breaks might be one that nothing can break."""
    caught = {check for _, check in (*BED_FAULTS.values(), *SUBJECT_FAULTS.values())}
    caught |= broken(reset(stored(None)(recorded_evidence(H2_LOSS))))
    caught |= broken(never_delivered(recorded_evidence(H2_LOSS)))
    caught |= broken(faster_than_light(recorded_evidence(H2_LOSS)))
    assert {check.name for check in checks(recorded_evidence(H2_LOSS))} == caught


def test_an_empty_server_log_breaks_protocol_and_status() -> None:
    """The reason has the log's complaint."""
    evidence = logged(complaint="the server wrote no access log")(recorded_evidence(H2_LOSS))
    assert broken(evidence) == {"protocol used", "status of the one answer"}
    assert "wrote no access log" in ending(evidence).reason


def test_the_beds_fault_comes_before_the_subjects() -> None:
    """A client that failed over a broken link says nothing about the client."""
    evidence = ended(status=28)(on_link("socket_drops", to=3)(recorded_evidence(H2_LOSS)))
    assert ending(evidence).kind == "invalid"


def test_a_timed_out_client_is_data() -> None:
    """It has no request time, because the request has no end."""
    late = ended(status=None, signal=9, timed_out=True)(recorded_evidence(H2_LOSS))
    late = logged()(stored(None)(late))
    assert ending(late).kind == "timed out"
    metrics = {observation.metric for observation in observations(late)}
    assert not metrics & {"request_time", "goodput"}


def test_a_server_that_did_not_start_has_failed() -> None:
    """The reason has the server's own message."""
    failures = {"server": "exit status 1: no such file"}
    evidence = replace(recorded_evidence(H2_LOSS), failures=failures, exits={}, link={})
    assert ending(evidence) == Outcome(
        kind="failed", reason="server ran: exit status 1: no such file"
    )


@pytest.mark.parametrize(
    ("evidence", "name", "figure"),
    [
        (recorded_evidence(H3_CLEAN), H3_CLEAN, "not visible to the kernel"),
        (sent_by()(recorded_evidence(H2_LOSS)), H2_LOSS, "not observed"),
    ],
)
def test_an_unobserved_congestion_control_rejects_nothing(
    evidence: AttemptEvidence, name: str, figure: str
) -> None:
    """QUIC's is in the program; a short TCP flow may end before it is read."""
    (check,) = (one for one in checks(evidence, name) if one.name == "sender's congestion control")
    assert check.passed is None
    assert figure in check.figure
    assert ending(evidence, name).kind == "completed"


@pytest.mark.parametrize(
    ("least_ms", "passed"), [(49.8, False), (50.0, True), (50.2, True), (52.6, True), (52.7, False)]
)
def test_the_round_trip_time_has_a_limit_on_both_sides(least_ms: float, *, passed: bool) -> None:
    """50.13 ms are expected; ping is exact to 0.2 ms, and 2.5 ms late is another link."""
    evidence = echoed(least_ms / 1e3, 1.0)(recorded_evidence(H2_LOSS))
    (check,) = (one for one in checks(evidence) if one.name == "round-trip time")
    assert check.passed is passed


def test_the_realised_share_of_losses_rejects_nothing() -> None:
    """The figure has its binomial interval."""
    (check,) = (
        one
        for one in checks(recorded_evidence(H2_LOSS))
        if one.name == "losses as drawn, server->client"
    )
    assert check.figure.startswith("13 of 714 lost, 1.82 %, 95 % interval 0.97 % .. 3.09 %")


def test_a_broken_bed_is_recorded_as_an_invalid_attempt() -> None:
    """The record has the bed's reason and no observations."""
    this = verdict.AttemptId(trial(H2_LOSS), 2, datetime(2026, 11, 21, tzinfo=UTC))
    record = verdict.broken_bed(this, "the emulator ended: no reason given")
    assert record.attempt.outcome.kind == "invalid"
    assert record.attempt.number == 2
    assert [check.passed for check in record.attempt.checks] == [False]
    assert record.observations == []


def pressure(waited_s: float, over_s: float, source: str = "psi") -> Check:
    """Check a client during which tasks waited so long."""
    told = {"source": source, "seconds": waited_s, "over_s": over_s}
    evidence = replace(recorded_evidence(H2_LOSS), pressure=told)
    return next(check for check in checks(evidence, H2_LOSS) if check.name == "CPU pressure")


def drops(dropped: int, share: float, source: str = machine_load.BY_TASK) -> Check:
    """Check a QUIC client whose socket dropped so many datagrams under such a pressure."""
    told = {"source": source, "seconds": 2 * share, "over_s": 2.0}
    datagrams = {"client": HostDatagrams(8000, dropped), "server": HostDatagrams(4000, 0)}
    evidence = replace(recorded_evidence(H3_CLEAN), pressure=told, datagrams=datagrams)
    found = checks(evidence, H3_CLEAN)
    (other,) = (check for check in found if check.name == SOCKET_DROPS.title(where="server"))
    assert other.passed
    return next(check for check in found if check.name == SOCKET_DROPS.title(where="client"))


def test_a_dropped_datagram_is_the_beds_fault_only_where_others_had_the_cpus() -> None:
    """Up to the pressure of a machine that a trial has for itself, the drops are data."""
    assert drops(269, 0.2).passed is False
    assert drops(1, 0.09).passed is False
    assert drops(0, 0.2).passed
    data = drops(269, 0.08)
    assert (data.passed, data.measured) == (True, 269)
    assert drops(269, 0.3, "psi").passed, "PSI counts the waits of the trial's own programs, too"
    assert drops(269, 0.4, "psi").passed is False


def test_an_attempt_of_before_the_counters_is_valid() -> None:
    """What no file tells is not observed."""
    found = [
        check for check in checks(recorded_evidence(H3_CLEAN), H3_CLEAN) if "UDP" in check.name
    ]
    assert [check.passed for check in found] == [None, None]


def test_a_short_transfer_is_not_invalid_for_its_own_start() -> None:
    """In tens of ms the programs' own start is most of the time."""
    assert pressure(0.09, 0.08).passed
    assert pressure(0.09, 0.08).figure.startswith("45 % of 0.20 s")


def test_waits_of_the_trials_own_tasks_have_a_stricter_limit() -> None:
    """Where the kernel counts all waits together, those of unconcerned processes are in it."""
    assert pressure(0.4, 1.0).passed
    assert not pressure(0.4, 1.0, "schedstat").passed
    assert pressure(0.2, 1.0, "schedstat").passed


def test_pressure_is_at_most_all_of_the_time() -> None:
    """Steal time is summed over CPUs, and the counter is read after the clock."""
    check = pressure(3.0, 1.0)
    assert check.passed is False
    assert check.figure.startswith("100 % of 1.00 s")


@pytest.mark.parametrize(
    ("polled_s", "emulator_s", "needed"),
    [(0.4, 0.6, 0.3), (0.0, 0.6, 0.5), (3.0, 0.6, 0.2), (3.0, 3.0, 0.0)],
)
def test_what_an_attempt_needs_of_the_cpus_leaves_out_polling(
    polled_s: float, emulator_s: float, needed: float
) -> None:
    """Polling cannot have taken more than the emulator's CPU time."""
    recorded_one = recorded_evidence(H2_LOSS)
    link = {**recorded_one.link, "polled_ns": polled_s * 1e9, "cpu_ns": emulator_s * 1e9}
    observed = replace(recorded_one, link=link, pressure={"ran_s": 1.0, "over_s": 2.0})
    assert verdict.cpus_needed(observed) == pytest.approx(needed)


def test_a_kernel_without_times_of_tasks_leaves_the_need_unknown() -> None:
    """Older recordings, and machines without schedstat."""
    observed = replace(recorded_evidence(H2_LOSS), pressure={"seconds": 0.1, "over_s": 2.0})
    assert verdict.cpus_needed(observed) is None


def test_a_client_that_failed_without_a_request_is_quoted() -> None:
    """Its last words name the cause; those of a program with a log of requests do not count."""
    words = "curl: option --parallel-max-host: is unknown"
    evidence = ended(status=2)(recorded_evidence(H2_LOSS))
    logged_before = evidence.reports["client"]
    silent = replace(logged_before, requests=(), complaint="curl printed nothing", last_words=words)
    for report, expected in ((silent, True), (replace(silent, requests=(OK,)), False)):
        found = replace(evidence, reports={**evidence.reports, "client": report})
        judged = verdict.outcome(checks(found), found)
        assert judged.kind == "failed"
        assert (f"; it printed: {words}" in judged.reason) == expected
