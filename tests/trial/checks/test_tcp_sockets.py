"""What is stated for TCP sockets: what hosts get, which sockets are read, how they are judged."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from httpbed.experiment.roles import TcpBuffers
from httpbed.experiment.trial import Check
from httpbed.trial import evidence, plan
from httpbed.trial.attempt_plan import TrialPlan
from httpbed.trial.checks import bed
from httpbed.trial.evidence import InitialWindow
from planted import other
from recorded import CATALOG, H2_LOSS, H3_CLEAN, recorded_evidence, trial

SMALL = {"tcp_receive_buffer": "64 kB"}
WINDOW = {"tcp_initial_window": 32}
SS = """\
ESTAB 0      1504   10.77.0.1:34236 10.77.0.2:443
\t skmem:(r0,rb64000,t0,tb46080,f1760,w2336,o0,bl0,d0) cubic wscale:8,7 rto:301 mss:1448
FIN-WAIT-1 0      73     10.77.0.1:34236 10.77.0.2:443
\t skmem:(r0,rb64000,t0,tb87040,f1528,w2568,o0,bl0,d0) htcp wscale:8,7 rto:306 ato:40 mss:1448
"""
"""Output of iproute2's ss 6.15."""


def stated(name: str = H2_LOSS, **roles: Mapping[str, object]) -> TrialPlan:
    """Plan a recorded trial with further keys of its roles."""
    recorded = trial(name)
    known = recorded.document["roles"]
    changed = {**known, **{role: {**known[role], **keys} for role, keys in roles.items()}}
    document = {**recorded.document, "roles": changed}
    return plan.plan(recorded.model_copy(update={"document": document}), CATALOG)


def judged(planned: TrialPlan, name: str, **sockets: frozenset[TcpBuffers]) -> list[Check]:
    """Judge the buffers of a recorded attempt's sockets as if the kernel had reported these."""
    seen = other(buffers=sockets)(recorded_evidence(name))
    return [check for check in bed.checks(planned, CATALOG, seen) if check.check == "TCP buffers"]


def judged_window(*readings: InitialWindow) -> Check:
    """Judge a client's initial window of 32 packets by these readings of its sockets."""
    seen = other(initial_windows={"client": frozenset(readings)})(recorded_evidence(H2_LOSS))
    checks = bed.checks(stated(client=WINDOW), CATALOG, seen)
    (check,) = (one for one in checks if one.check == "TCP initial window")
    return check


def test_the_kernel_gets_one_size_which_it_cannot_adapt() -> None:
    """Other hosts keep the kernel's own."""
    sysctls = stated(client=SMALL, server={"tcp_send_buffer": "1 MB"}).network.sysctls
    assert sysctls["client"]["net.ipv4.tcp_rmem"] == "64000 64000 64000"
    assert "net.ipv4.tcp_wmem" not in sysctls["client"]
    assert sysctls["server"]["net.ipv4.tcp_wmem"] == "1000000 1000000 1000000"
    assert "net.ipv4.tcp_rmem" not in sysctls["server"]


def test_a_receivers_sockets_are_read_where_its_buffers_are_stated() -> None:
    """A sender's always are, for its congestion control."""
    assert list(stated().attempt.sockets) == ["server"]
    sockets = stated(client=SMALL).attempt.sockets
    assert {part: spec.host for part, spec in sockets.items()} == {
        "client": "client",
        "server": "server",
    }


def test_buffers_and_congestion_control_are_read_from_the_same_lines() -> None:
    """``rb`` and ``tb`` of ``skmem``; the algorithm follows them."""
    assert evidence.buffers(SS) == {TcpBuffers(64_000, 46_080), TcpBuffers(64_000, 87_040)}
    assert evidence.algorithms(SS) == {"cubic", "htcp"}


@pytest.mark.parametrize(
    ("observed", "passed"),
    [
        ({TcpBuffers(64_000, 46_080), TcpBuffers(64_000, 87_040)}, True),
        ({TcpBuffers(64_000, 46_080), TcpBuffers(131_072, 46_080)}, False),
        (set(), None),
    ],
)
def test_every_socket_has_the_stated_buffer(
    observed: set[TcpBuffers], *, passed: bool | None
) -> None:
    """A program may have chosen another by SO_RCVBUF. What is not stated may differ."""
    (check,) = judged(stated(client=SMALL), H2_LOSS, client=frozenset(observed))
    assert check.name == "TCP buffers, client"
    assert check.passed is passed


def test_sockets_that_were_not_read_reject_nothing() -> None:
    """Over HTTP/3 there are none; without a stated buffer the check does not exist."""
    (check,) = judged(stated(H3_CLEAN, client=SMALL), H3_CLEAN)
    assert check.passed is None
    assert not judged(stated(), H2_LOSS)


def test_the_routes_of_a_host_have_its_initial_window() -> None:
    """Those of the other host keep the kernel's."""
    commands = stated(client=WINDOW).network.processes.hosts
    having = {spec.host for spec in commands if " initcwnd 32\n" in (spec.input or "")}
    assert having == {"client"}


@pytest.mark.parametrize(
    ("socket", "found"),
    [
        ("ESTAB 0 1885\n\t cubic cwnd:32 bytes_sent:1885 delivered:1 rcv_ssthresh:6", {(31, 32)}),
        ("ESTAB 0 73\n\t cubic mss:1448 cwnd:10 bytes_sent:73", {(10, 10)}),
        ("SYN-SENT 0 1\n\t cubic rto:1000 mss:524 cwnd:10 segs_out:1 unacked:1", set()),
        ("ESTAB 0 9\n\t cubic cwnd:4 bytes_sent:2040 delivered:5 unacked:2 retrans:0/4", set()),
        ("ESTAB 0 0\n\t cubic cwnd:22 ssthresh:22 bytes_retrans:196 delivered:5", set()),
    ],
    ids=["early", "nothing delivered", "connecting", "sent again", "after slow start"],
)
def test_a_window_is_read_between_the_handshake_and_the_first_loss(
    socket: str, found: set[InitialWindow]
) -> None:
    """Linux has another window before, and a smaller one afterwards. Output of ss 6.15, cut."""
    assert evidence.initial_windows(f"{socket}\n") == found


@pytest.mark.parametrize(
    ("readings", "passed"),
    [
        ([InitialWindow(31, 32), InitialWindow(-12, 64)], True),
        ([InitialWindow(9, 10), InitialWindow(-12, 64)], False),
        ([], None),
    ],
)
def test_the_reading_that_says_most_has_the_stated_window(
    readings: list[InitialWindow], *, passed: bool | None
) -> None:
    """A window that has grown may have begun with any."""
    assert judged_window(*readings).passed is passed
