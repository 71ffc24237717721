"""Which attempts show what their senders do, by their checks."""

from __future__ import annotations

from typing import Literal

import pytest

from httpbed.addons.conformance import conformance_session
from httpbed.experiment import check as checks
from httpbed.experiment.check import CheckDescriptor
from httpbed.experiment.trial import Check, Outcome
from recorded import H3_CLEAN, judged

KINDS = Literal["completed", "failed", "timed out", "unsupported", "invalid"]


def broken(descriptor: CheckDescriptor, figure: str = "", item: str = "") -> Check:
    """Return a failed check."""
    return descriptor.result(passed=False, figure=figure, item=item)


STOPPED = broken(checks.ENDED_WELL, "was stopped at its time limit", "client").model_copy(
    update={"by_time_limit": True}
)
CUT_OFF = (STOPPED, broken(checks.STATUS_OF_ONE), broken(checks.BODY))
BUSY = broken(checks.PRESSURE)


def why_unusable(kind: KINDS, *failed: Check) -> str:
    """Say why a recorded attempt is unusable, with another outcome and these failed checks."""
    attempt = judged(H3_CLEAN).attempt
    ended = Outcome(kind=kind, reason="" if kind == "completed" else "why")
    passed = [check for check in attempt.checks if check.passed]
    return conformance_session.why_unusable(
        attempt.model_copy(update={"outcome": ended, "checks": [*passed, *failed]})
    )


@pytest.mark.parametrize("kind", ["timed out", "failed"])
def test_an_attempt_that_the_time_limit_ended_is_usable(kind: KINDS) -> None:
    """All trials of these tests end so; a busy machine changes nothing."""
    assert why_unusable(kind, *CUT_OFF) == ""
    assert why_unusable("invalid", *CUT_OFF, BUSY) == ""


@pytest.mark.parametrize(
    "check",
    [
        broken(checks.ENDED_WELL, "exit status 7", "competitor-1-client"),
        broken(checks.RAN, "ended before the client did", "server"),
        broken(checks.PROTOCOL, "1 request(s) HTTP/2"),
    ],
    ids=lambda check: check.name,
)
def test_an_attempt_in_which_another_check_failed_is_unusable(check: Check) -> None:
    """A dead competitor has no share, whether the machine was busy or not."""
    assert check.name in why_unusable("timed out", *CUT_OFF, check)
    assert check.figure in why_unusable("invalid", *CUT_OFF, check, BUSY)


@pytest.mark.parametrize("kind", ["failed", "invalid"])
def test_a_response_with_an_error_status_is_unusable(kind: KINDS) -> None:
    """A client that ended by itself received another response than the one it requested."""
    refused = broken(checks.STATUS_OF_ONE, "404")
    assert "404" in why_unusable(kind, refused, *([BUSY] if kind == "invalid" else ()))


def test_an_invalid_attempt_is_unusable() -> None:
    """Unless the only reason is a busy machine."""
    assert why_unusable("invalid", BUSY, broken(checks.CONSERVATION)) == "invalid: why"
    assert why_unusable("unsupported") == "unsupported: why"
    assert why_unusable("completed") == ""
