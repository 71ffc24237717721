"""What is to be found of a download that was tried again: several answers, the last of them whole.

A try that broke off is no fault of who answered: the client left, or was cut off. Whether what it
put together is the file is told by the body's digest, as always.
"""

from __future__ import annotations

from collections.abc import Iterable

from httpbed.implementations.protocol import Request
from httpbed.model.trial import Check
from httpbed.trial import accounts
from httpbed.trial.accounts import Account
from httpbed.trial.legs import Chain
from httpbed.trial.seen import Seen

STATUSES = {"restart": frozenset({200}), "resume": frozenset({200, 206, 416})}
"""What may be answered: a file, the rest of one, or that nothing is missing (RFC 9110 section
15.5.17), by what is done about a failure."""


def answers(chain: Chain, seen: Seen, where: str) -> Check:
    """Check the status of every answer, by whoever tells, and that there was one.

    Who answered may not have noticed by the end that its client left, and has not logged it then.
    """
    accepted = STATUSES[chain.roles.client.retry]
    told = [one for one in accounts.of_chain(chain, seen) if one.requests or one.is_owed]
    wrong = [account for account in told if not _is_right(account, accepted)]
    unreadable = accounts.complaints(chain.answering, seen)
    fullest = sorted(wrong or told, key=lambda one: len(one.requests), reverse=True)
    return Check(
        name=f"status of the answers{where}",
        of="subject",
        passed=bool(told) and not wrong and not unreadable,
        figure=fullest[0].statuses_told() if fullest else "none",
        limit=f"{', '.join(map(str, sorted(accepted)))}, of each try",
    )


def _is_right(account: Account, accepted: frozenset[int]) -> bool:
    answered = {one.status for one in not_left(account.requests)}
    return bool(answered) and answered <= accepted


def connections(count: int, where: str) -> Check:
    """Check that the client opened one connection, or a new one for a later try."""
    return Check(
        name=f"connection count{where}",
        of="subject",
        passed=count >= 1,
        figure=f"{count}, by the packets",
        limit="at least 1",
    )


def not_left(requests: Iterable[Request]) -> tuple[Request, ...]:
    """Leave out the requests whose client left: what became of them is no fault of a proxy."""
    return tuple(one for one in requests if not one.client_left)
