"""Which attempts show what their senders did, by the checks that they left."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from httpbed.experiment.trial import Attempt, Check, Outcome
from httpbed.host.sandbox.spec import STOPPED_IN_TIME
from httpbed.studies.conformance import usable_attempts

RECORDED = Path(__file__).parents[2] / "recorded/attempts/h3-clean/trial.json"
KINDS = Literal["completed", "failed", "timed out", "unsupported", "invalid"]


def broken(name: str, figure: str = "", of: Literal["bed", "subject"] = "subject") -> Check:
    """Break a check."""
    return Check(name=name, of=of, passed=False, figure=figure)


STOPPED = broken("client ended well", f"{STOPPED_IN_TIME}: curl printed nothing")
CUT_OFF = (STOPPED, broken("status of the one answer"), broken("body as served"))
BUSY = broken("CPU pressure", of="bed")


def blindness(kind: KINDS, *checks: Check) -> str:
    """Judge a recorded attempt that ended so, with these checks broken."""
    attempt = Attempt.model_validate_json(RECORDED.read_text())
    ended = Outcome(kind=kind, reason="" if kind == "completed" else "why")
    passed = [check for check in attempt.checks if check.passed]
    return usable_attempts.blindness(
        attempt.model_copy(update={"outcome": ended, "checks": [*passed, *checks]})
    )


@pytest.mark.parametrize("kind", ["timed out", "failed"])
def test_what_the_time_limit_cut_off_can_be_read(kind: KINDS) -> None:
    """It is how these trials end."""
    assert blindness(kind, *CUT_OFF) == ""
    assert blindness("invalid", *CUT_OFF, BUSY) == ""


@pytest.mark.parametrize(
    "check",
    [
        broken("competitor-1-client ended well", "exit status 7"),
        broken("server ran", "ended before the client did"),
        broken("protocol used", "1 request(s) HTTP/2"),
    ],
    ids=lambda check: check.name,
)
def test_whoever_did_something_else_cannot(check: Check) -> None:
    """A competitor that is dead has no share, however the client ended; a busy machine or not."""
    assert check.name in blindness("timed out", *CUT_OFF, check)
    assert check.figure in blindness("invalid", *CUT_OFF, check, BUSY)


@pytest.mark.parametrize("kind", ["failed", "invalid"])
def test_an_answer_without_a_body_cannot(kind: KINDS) -> None:
    """A client that ended by itself has got another answer than the one that was asked for."""
    refused = broken("status of the one answer", "404")
    assert "404" in blindness(kind, refused, *([BUSY] if kind == "invalid" else ()))


def test_a_bed_that_failed_cannot_be_read() -> None:
    """Whatever else it was than busy."""
    assert blindness("invalid", BUSY, broken("conservation of packets", of="bed")) == "invalid: why"
    assert blindness("unsupported") == "unsupported: why"
    assert blindness("completed") == ""
