"""The protocols of each hop, and which evidence counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from httpbed.trial.checks import protocol
from httpbed.trial.evidence import AttemptEvidence
from httpbed.trial.hops import Chain
from planted import (
    Fault,
    broken,
    complained,
    ended,
    ending,
    logged,
    on_link,
    other,
    relogged,
    reset,
    stored,
)
from recorded import (
    H2_LOSS,
    H3_CLEAN,
    PROXIED,
    SERVED,
    chains,
    checks,
    judged_attempt,
    recorded_evidence,
)


def test_a_reset_counts_only_where_data_is_missing() -> None:
    """Some servers answer the client's close with a reset after all data."""
    whole = reset(recorded_evidence(H2_LOSS))
    assert broken(whole) == set()
    (check,) = (one for one in checks(whole) if one.name == "connections not reset")
    assert check.figure.endswith("1 reset by the server, when all had arrived")
    for fault in (
        stored({"bytes": 999_999, "sha256": SERVED.sha256}),
        ended(status=56),
        complained("reset"),
    ):
        assert "connections not reset" in broken(fault(whole))


def test_an_empty_log_of_a_logging_program_breaks_its_check() -> None:
    """The log may have been lost with its flags; a program that keeps no log owes nothing."""
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
    """A connection that was not resumed has no early data."""
    name, observed = (
        H3_CLEAN,
        relogged(resumed=resumed, early_data=early)(recorded_evidence(H3_CLEAN)),
    )
    (chain,) = chains(name)
    wanted = chain.workload.model_copy(update={"resumption": "early data"})
    asked = protocol.checks(
        replace(chain, workload=wanted), judged_attempt(observed, name), "", whole=True
    )
    (check,) = (one for one in asked if one.name == "resumption")
    assert check.passed is passed


def over_http_1(count: int) -> tuple[Chain, AttemptEvidence]:
    """Return a client over HTTP/1.1 with at most four connections."""
    observed = recorded_evidence(H2_LOSS)
    (chain,) = chains(H2_LOSS)
    hop = replace(chain.hops[0], http_version="1.1", transport="tcp")
    workload = chain.workload.model_copy(update={"files": 8, "connections": 4})
    several = list(observed.connections) * count
    seen = replace(observed, link={**observed.link, "connections": several})
    return replace(chain, workload=workload, hops=(hop,)), seen


@pytest.mark.parametrize(("count", "passed"), [(1, False), (3, False), (4, True), (5, False)])
def test_http_1_1_uses_all_its_connections(count: int, *, passed: bool) -> None:
    """Each connection carries one request at a time."""
    chain, observed = over_http_1(count)
    (check,) = (
        one
        for one in protocol.checks(chain, judged_attempt(observed), "", whole=True)
        if one.name == "connection count"
    )
    assert (check.passed, check.limit) == (passed, "4")


@pytest.mark.parametrize(
    ("fault", "check"),
    [
        (other(survivors=frozenset()), "server ran"),
        (relogged(http_version="1.1"), "protocol used"),
        (on_link("connections", 0, "protocol", to="udp"), "protocol used"),
    ],
)
def test_a_client_of_a_dead_server_has_failed(fault: Fault, check: str) -> None:
    """It did not wait for the network."""
    late = ended(status=None, signal=9, timed_out=True)(recorded_evidence(H2_LOSS))
    observed = fault(late)
    assert ending(observed).kind == "failed"
    assert check in ending(observed).reason


@pytest.mark.parametrize(
    "fault",
    [
        logged(complaint="the server wrote no access log"),
        on_link("connections", to=[]),
        relogged(http_version="<BADREQ>"),
    ],
)
def test_unfinished_work_of_a_cut_off_client_is_no_failure(fault: Fault) -> None:
    """Its requests may be in no log, without connection or version."""
    late = ended(status=None, signal=9, timed_out=True)(recorded_evidence(H2_LOSS))
    late = stored(None)(late)
    assert ending(fault(late)).kind == "timed out"
    (body,) = (check for check in checks(fault(late)) if check.name == "body as served")
    assert (body.passed, body.figure) == (None, "the client stored nothing")
