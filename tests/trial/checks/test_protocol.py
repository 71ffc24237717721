"""What was spoken on each hop, and who is believed of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from httpbed.trial.checks import protocol
from httpbed.trial.evidence import AttemptEvidence
from httpbed.trial.hops import Chain
from planted import Fault, broken, ended, ending, logged, on_link, other, reset, said, stored, told
from recorded import H2_LOSS, H3_CLEAN, PROXIED, SERVED, chains, checks, recorded_evidence


def test_a_reset_counts_where_something_is_missing() -> None:
    """Some answer a client's goodbye by a reset when all has arrived, which broke nothing off."""
    whole = reset(recorded_evidence(H2_LOSS))
    assert broken(whole) == set()
    (check,) = (one for one in checks(whole) if one.name == "connections not reset")
    assert check.figure.endswith("1 reset by the server, when all had arrived")
    for fault in (
        stored({"bytes": 999_999, "sha256": SERVED.sha256}),
        ended(status=56),
        told("reset"),
    ):
        assert "connections not reset" in broken(fault(whole))


def test_a_log_that_is_kept_has_every_request() -> None:
    """An empty one may have been lost, with the flags in it; whoever keeps none owes nothing."""
    assert broken(logged()(recorded_evidence(H2_LOSS))) == {"status of the one answer"}
    for part in ("proxy", "server"):
        lost = logged(part=part)(recorded_evidence(PROXIED))
        assert broken(lost, PROXIED) == {"status of the answers"}
        (check,) = (one for one in checks(lost, PROXIED) if one.name == "status of the answers")
        assert check.figure == f"none, by the {part}'s log"


@pytest.mark.parametrize(
    ("resumed", "early", "passed"),
    [
        (False, None, False),
        (False, True, False),
        (True, None, None),
        (True, False, False),
        (True, True, True),
    ],
)
def test_early_data_needs_resumption(
    *, resumed: bool, early: bool | None, passed: bool | None
) -> None:
    """Whatever is not told of early data, a connection that was not resumed had none."""
    name, found = H3_CLEAN, said(resumed=resumed, early_data=early)(recorded_evidence(H3_CLEAN))
    (chain,) = chains(name)
    wanted = chain.workload.model_copy(update={"resumption": "early data"})
    asked = protocol.checks(replace(chain, workload=wanted), found, "", whole=True)
    (check,) = (one for one in asked if one.name == "resumption")
    assert check.passed is passed


def over_http_1(count: int) -> tuple[Chain, AttemptEvidence]:
    """Ask over HTTP/1.1 and four connections at the most, and see so many."""
    found = recorded_evidence(H2_LOSS)
    (chain,) = chains(H2_LOSS)
    hop = replace(chain.hops[0], hop=chain.hops[0].hop.model_copy(update={"http_version": "1.1"}))
    workload = chain.workload.model_copy(update={"files": 8, "connections": 4})
    several = list(found.connections) * count
    seen = replace(found, link={**found.link, "connections": several})
    return replace(chain, workload=workload, hops=(hop,)), seen


@pytest.mark.parametrize(("count", "passed"), [(1, False), (3, False), (4, True), (5, False)])
def test_http_1_1_uses_all_connections_that_it_may(count: int, *, passed: bool) -> None:
    """Six that were asked for are not one: each carries one request at a time."""
    chain, found = over_http_1(count)
    (check,) = (
        one
        for one in protocol.checks(chain, found, "", whole=True)
        if one.name == "connection count"
    )
    assert (check.passed, check.limit) == (passed, "4")


@pytest.mark.parametrize(
    ("fault", "check"),
    [
        (other(survivors=frozenset()), "server ran"),
        (said(http_version="1.1"), "protocol used"),
        (on_link("connections", 0, "protocol", to="udp"), "protocol used"),
    ],
)
def test_a_client_that_waited_for_nobody_has_failed(fault: Fault, check: str) -> None:
    """Its server was dead, or it spoke another version: the network is not what it waited for."""
    late = ended(status=None, signal=9, timed_out=True)(recorded_evidence(H2_LOSS))
    found = fault(late)
    assert ending(found).kind == "failed"
    assert check in ending(found).reason


@pytest.mark.parametrize(
    "fault",
    [
        logged(complaint="the server wrote no access log"),
        on_link("connections", to=[]),
        said(http_version="<BADREQ>"),
    ],
)
def test_what_a_cut_off_left_undone_is_no_failure(fault: Fault) -> None:
    """Nobody may have logged, connected, or known the version of what was cut off."""
    late = ended(status=None, signal=9, timed_out=True)(recorded_evidence(H2_LOSS))
    late = stored(None)(late)
    assert ending(fault(late)).kind == "timed out"
    (body,) = (one for one in checks(fault(late)) if one.name == "body as served")
    assert (body.passed, body.figure) == (None, "the client stored nothing")
