"""Checks of a download with retries."""

from __future__ import annotations

from dataclasses import replace

import pytest

from httpbed.bed.sandbox.sandbox_spec import Exit
from httpbed.experiment.roles import Retry
from httpbed.programs.part import LoggedRequest
from httpbed.trial.checks import protocol
from httpbed.trial.hops import Chain
from httpbed.trial.run.clients_and_servers import together
from planted import ended, logged, on_another_connection
from recorded import CATALOG, H2_LOSS, chains, judged_attempt, recorded_evidence

SEEN = recorded_evidence(H2_LOSS)
WHOLE, REST = LoggedRequest("2", 200, 10**6), LoggedRequest("2", 206, 4 * 10**5)
BROKEN = LoggedRequest("2", 200, 6 * 10**5)


def retried(retry: Retry) -> Chain:
    """Return the client of a recorded attempt with retries."""
    (chain,) = chains(H2_LOSS)
    client = chain.roles.client.model_copy(update={"retry": retry})
    return replace(chain, roles=chain.roles.model_copy(update={"client": client}))


@pytest.mark.parametrize(
    ("retry", "requests", "passed"),
    [
        ("restart", (BROKEN, WHOLE), True),
        ("restart", (WHOLE,), True),
        ("restart", (BROKEN, REST), False),
        ("resume", (BROKEN, REST), True),
        ("resume", (BROKEN, REST, LoggedRequest("2", 416, 0)), True),
        ("resume", (BROKEN, LoggedRequest("2", 503, 0), REST), False),
        ("resume", (LoggedRequest("2", 499, 0, client_left=True), WHOLE), True),
        ("resume", (LoggedRequest("2", 499, 0, client_left=True),), False),
        ("resume", (), False),
        ("resume", (WHOLE,), True),
        ("resume", (BROKEN, WHOLE), None),
        ("resume", (LoggedRequest("2", 416, 0),), False),
    ],
)
def test_statuses_of_each_attempt_are_accepted(
    retry: Retry, requests: tuple[LoggedRequest, ...], *, passed: bool | None
) -> None:
    """The file or its rest; requests whose client left do not count."""
    check = protocol.retry_statuses(retried(retry), logged(*requests)(SEEN), "")
    assert check.passed is passed


def test_a_rest_without_its_beginning_is_not_judged() -> None:
    """No log shows that it is the rest."""
    observed = logged(REST, part="client")(logged(REST)(SEEN))
    check = protocol.retry_statuses(retried("resume"), observed, "")
    assert check.passed is None
    assert check.figure.endswith("no log lists the response that it continues")


@pytest.mark.parametrize(("count", "passed"), [(1, True), (2, True), (3, False), (0, False)])
def test_each_attempt_may_have_one_connection(count: int, *, passed: bool) -> None:
    """Over HTTP/2 a client needs one at a time."""
    again = ended(runs=2)(logged(REST)(SEEN))
    check = protocol.retry_connections(retried("resume"), again, count, 1, "")
    assert (check.passed, check.limit) == (passed, "at most 2")


def test_a_download_without_a_retry_is_judged_as_any() -> None:
    """It is the control of others."""
    more = on_another_connection(SEEN)
    told = protocol.checks(retried("restart"), judged_attempt(more), "", whole=True)
    check = next(one for one in told if one.name == "connection count")
    assert (check.passed, check.limit) == (False, "at most 1")


def test_the_longest_log_is_quoted() -> None:
    """A server may not have noticed that its client left."""
    observed = logged(BROKEN, REST, part="client")(logged(REST)(SEEN))
    check = protocol.retry_statuses(retried("resume"), observed, "")
    assert check.passed
    assert check.figure == "200, 206, by the client"


@pytest.mark.parametrize(
    ("name", "request_", "left"),
    [
        ("envoy", LoggedRequest("2", 200, 5, flags="DC"), True),
        ("envoy", LoggedRequest("2", 503, 0, flags="UF,URX"), False),
        ("haproxy", LoggedRequest("2", 200, 5, flags="CD"), True),
        ("haproxy", LoggedRequest("2", 200, 5, flags="SD"), False),
        ("nginx", LoggedRequest("2", 499, 0), True),
        ("nginx-1.26", LoggedRequest("2", 200, 5, flags="incomplete"), True),
        ("caddy", LoggedRequest("2", 200, 5), False),
    ],
)
def test_a_recipe_knows_how_its_program_logs_a_client_that_left(
    name: str, request_: LoggedRequest, *, left: bool
) -> None:
    """An upstream that left is another thing."""
    assert CATALOG[name].client_left.matches(request_) is left


def test_several_runs_are_combined() -> None:
    """The end of the last one, and the resources of all."""
    failed = Exit(56, None, timed_out=False, wall_s=1.0, cpu_s=0.1, max_rss_kib=300)
    well = Exit(0, None, timed_out=False, wall_s=2.0, cpu_s=0.2, max_rss_kib=200)
    ended = together([failed, well], lasted_s=3.5, limit_s=10.0)
    assert (ended.clean, ended.runs, ended.max_rss_kib, ended.wall_s) == (True, 2, 300, 3.5)
    assert ended.cpu_s == pytest.approx(0.3)
    assert str(ended) == "exit status 0, after 2 runs"
    assert together([failed], lasted_s=1.0, limit_s=10.0) == failed


def test_a_time_limit_between_two_runs_is_a_time_out() -> None:
    """The client had not ended well by then."""
    failed = Exit(7, None, timed_out=False, wall_s=0.0, cpu_s=0.0, max_rss_kib=1)
    assert together([failed] * 20, lasted_s=2.01, limit_s=2.0).timed_out
    assert not together([failed] * 20, lasted_s=1.99, limit_s=2.0).timed_out
