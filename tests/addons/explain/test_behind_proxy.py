"""The time of a proxy that has nothing to send, by what its connections to servers did."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from httpbed.addons.explain.division import divide
from httpbed.addons.explain.periods import Division, Period
from httpbed.addons.explain.transfer import Span, Transfer
from window_sender import DELAY, MS, REQUEST, WindowSender


def details(division: Division) -> Counter[str]:
    """Return the ns of the server's turn by what the proxy's connections did."""
    costs = Counter[str]()
    for period in division.periods:
        if period.cause == "server":
            costs[period.detail] += period.lasts
    return costs


def starved() -> tuple[Transfer, Period]:
    """Return a transfer whose sender waits for its second half, and that wait."""
    transfer = WindowSender(100, lambda _: 100, available={50: 500 * MS}).transfer()
    (wait,) = (
        one for one in divide(transfer).periods if one.cause == "server" and one.lasts > 300 * MS
    )
    return transfer, wait


def with_holes(transfer: Transfer, *holes: Span) -> Transfer:
    return replace(transfer, behind_proxy={"held back": holes})


def test_only_a_time_with_nothing_to_send_is_told_apart() -> None:
    transfer, wait = starved()
    inside = wait.begin + 10 * MS, wait.end - 10 * MS
    found = details(divide(with_holes(transfer, (0, 10 * MS), inside)))
    assert found["held back"] == inside[1] - inside[0]
    assert found.total() == details(divide(transfer)).total()


def test_a_hole_explains_more_than_data_that_is_under_way() -> None:
    transfer, _ = starved()
    always = [(0, transfer.ended)]
    both = replace(transfer, behind_proxy={"under way": always, "held back": always})
    assert set(details(divide(both))) == {"held back"}


def farther(transfer: Transfer, way: int) -> Transfer:
    """Return a transfer whose data enters the link some time after it is sent."""
    data, answers = transfer.data, transfer.answers
    after = np.where(answers.sent > REQUEST, way, 0)
    names = ("entered", "begun", "done", "arrived")
    return replace(
        transfer,
        data=replace(data, **{name: getattr(data, name) + way for name in names}),
        answers=replace(answers, sent=answers.sent + after, arrived=answers.arrived + after),
        ended=transfer.ended + way,
    )


def test_what_a_proxy_waits_for_counts_one_way_later_at_a_farther_link() -> None:
    near, wait = starved()
    way = 5 * MS
    hole = wait.begin + 50 * MS, wait.end - 50 * MS
    periods = divide(with_holes(farther(near, way), hole)).periods
    assert [(one.begin - way, one.end - way) for one in periods if one.detail] == [hole]


def test_what_a_proxy_waits_for_before_it_sends_anything_counts_at_the_proxy() -> None:
    transfer = WindowSender(50, lambda _: 100, available={0: 500 * MS}).transfer()
    heard = REQUEST + DELAY
    hole = heard + 1 * MS, heard + 500 * MS
    periods = divide(with_holes(farther(transfer, 100 * MS), hole)).periods
    assert [(one.begin, one.end) for one in periods if one.detail] == [hole]
