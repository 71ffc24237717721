"""Which attempts show what their senders did; pure.

These trials end when the client is stopped at the time limit, with an answer that is cut off: what
follows from that alone is as it should be. Whatever else is broken (a program that died, another
HTTP version, a client that gave up) leaves a log of something that was not asked for.

A busy machine does not make a sender that misbehaves pass, so what passes counts, and what fails
is not judged. The log is true even then: its times are the kernel's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from httpbed.experiment.trial import Attempt, Check
from httpbed.host.sandbox.spec import STOPPED_IN_TIME
from httpbed.trial import verdict

CUT_OFF = ("status of the ", "length of the answers", "body as served", "bodies as served")
"""Beginnings of the checks that an answer breaks of which the rest was not waited for."""
ENDED = "client ended well"
ENDS = frozenset({"completed", "timed out", "failed"})
"""Outcomes of which the checks of the subject tell all."""


def blindness(attempt: Attempt) -> str:
    """Say why an attempt does not show what its senders did; empty when it does."""
    told = "; ".join(f"{check.name}: {check.figure}" for check in _against(attempt.checks))
    if told or attempt.outcome.kind in ENDS or verdict.is_strained(attempt):
        return told
    return f"{attempt.outcome.kind}: {attempt.outcome.reason}"


def _against(checks: Iterable[Check]) -> Iterator[Check]:
    """Yield what the subject did that a time limit does not explain."""
    broken = [check for check in checks if check.of == "subject" and check.passed is False]
    limits = [one for one in broken if one.name.endswith(ENDED) and _is_of_the_limit(one)]
    for check in broken:
        if check not in limits and not (limits and check.name.startswith(CUT_OFF)):
            yield check


def _is_of_the_limit(check: Check) -> bool:
    return check.figure.startswith(STOPPED_IN_TIME)
