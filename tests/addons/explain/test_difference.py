from __future__ import annotations

from httpbed.addons.explain import difference
from httpbed.addons.explain.division import divide
from httpbed.addons.explain.explanation import Explained
from window_sender import MS, WindowSender


def explained(window: int, *, pause: int = 0, outcome: str = "completed") -> Explained:
    transfer = WindowSender(300, lambda _: window, available={150: pause * MS}).transfer()
    return Explained(1, f"{window}", {}, 1, outcome, divide(transfer), None, transfer)


def test_the_parts_add_up_to_the_difference() -> None:
    found = difference.of([explained(10), explained(100), explained(30, pause=4000)])
    assert found is not None
    assert (found.fast.trial, found.slow.trial) == ("100", "30")
    assert sum(ns for _, ns in found.causes) == found.whole
    assert found.causes[0][0] == "server"
    assert "server" in found.sentence("A", "B")


def test_a_trial_that_was_cut_off_is_compared_with_none() -> None:
    assert difference.of([explained(10, outcome="timed out"), explained(100)]) is None


def test_a_pair_without_a_difference_says_why() -> None:
    outcomes = {"HTTP/2": "timed out", "HTTP/3": "completed"}
    assert difference.absence(outcomes) == "Their times are not compared: HTTP/2 timed out"
    assert "same time" in difference.absence(dict.fromkeys(outcomes, "completed"))


def test_equal_trials_have_no_difference() -> None:
    assert difference.of([explained(10), explained(10)]) is None
    assert difference.of([]) is None
    assert difference.of([explained(10), explained(10, pause=1)]) is None
    assert difference.of([explained(10), explained(10, pause=1000)]) is not None
