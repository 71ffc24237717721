from __future__ import annotations

from dataclasses import replace

from httpbed.addons.explain.again import causes_worth_lifting
from httpbed.addons.explain.division import divide
from httpbed.addons.explain.explanation import Explained, Unexplained
from httpbed.addons.explain.lifts import Lift, Rung
from httpbed.addons.explain.periods import Division
from window_sender import MS, WindowSender

LIFT = Lift("fixed window", "a larger window", {})


def explained(window: int, *, pause_ms: int = 0) -> Explained:
    transfer = WindowSender(300, lambda _: window, available={150: pause_ms * MS}).transfer()
    return Explained(1, "a", {}, 1, "completed", divide(transfer), None, transfer)


def test_a_cause_is_confirmed_only_if_it_goes_away() -> None:
    before = explained(10)
    gone = Rung(LIFT, before, explained(100))
    assert gone.confirmed
    assert gone.saved_s is not None
    assert gone.saved_s > 0
    still = Rung(LIFT, before, explained(11))
    assert not still.confirmed
    lost = Rung(LIFT, before, Unexplained(1, "a", {}, 1, "its client sent nothing"))
    assert not lost.confirmed
    assert lost.saved_s is None
    assert "its client sent nothing" in lost.sentence()


def test_an_unfinished_trial_is_no_proof() -> None:
    before = explained(10)
    cut = replace(before, outcome="failed")
    assert not Rung(LIFT, before, cut).confirmed


def test_a_lift_that_saves_nothing_confirms_nothing_and_is_not_kept() -> None:
    """The window is gone, and the server thinks for longer than it had cost."""
    slower = Rung(LIFT, explained(10), explained(100, pause_ms=9000))
    assert slower.after.division.costs().get("fixed window", 0) == 0  # type: ignore[union-attr]
    assert not slower.is_kept
    assert not slower.confirmed
    assert Rung(LIFT, explained(10), explained(100)).is_kept


def test_towards_a_faster_trial_only_what_the_slower_one_spends_more_on_is_lifted() -> None:
    fast, slow = explained(10), explained(10, pause_ms=9000)
    assert "fixed window" in causes_worth_lifting(slow, slow, None)
    assert list(causes_worth_lifting(slow, slow, fast)) == ["server"]
    assert not list(causes_worth_lifting(fast, slow, fast))


def test_competitors_are_named_and_lifted_if_the_link_carried_their_packets() -> None:
    one = explained(100)
    periods = tuple(
        replace(period, cause="others on the link") if period.cause == "link" else period
        for period in one.division.periods
    )
    shared = replace(one, division=Division(periods, periods, None))
    assert "others on the link" in causes_worth_lifting(shared, shared, None)
    assert "Others on the link cost most" in ". ".join(shared.sentences())
    assert "Only a faster link" not in ". ".join(shared.sentences())
    assert "link" not in causes_worth_lifting(one, one, None)
