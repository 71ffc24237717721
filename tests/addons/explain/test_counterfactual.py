from __future__ import annotations

from dataclasses import replace
from typing import Any

from httpbed.addons.explain import counterfactual
from httpbed.addons.explain.division import divide
from httpbed.addons.explain.explanation import Explained, Held, Unexplained
from httpbed.addons.explain.rounds import Plateau
from httpbed.addons.explain.rung import Lift, Rung
from httpbed.addons.explain.windows import NamedWindow
from httpbed.programs import catalog as catalogs
from window_sender import PAYLOAD, WindowSender

DOCUMENT: dict[str, Any] = {
    "topology": {
        "links": [
            {
                "between": ["client", "server"],
                "loss": "4 %",
                "down": {"loss": "1 %", "rate": "1 Mbit/s"},
                "queue": {"discipline": "droptail", "limit": "10 packets"},
            }
        ]
    },
    "roles": {"client": {"implementation": "curl"}, "server": {"implementation": "nginx"}},
}


def explained(window: int, held: Held | None = None) -> Explained:
    transfer = WindowSender(300, lambda _: window).transfer()
    return Explained(1, "a", 1, {}, "completed", transfer, divide(transfer), held)


def by_knob() -> Held:
    (window,) = catalogs.load().recipes["nginx"].windows
    named = NamedWindow("server", "nginx", 65536, "64k", window)
    return Held(Plateau(0, 1, 10 * PAYLOAD, 9), named, None)


def test_a_window_is_lifted_by_its_knob_and_nothing_else_changes() -> None:
    one = explained(10, by_knob())
    (lift,) = counterfactual.lifts(one, "fixed window", DOCUMENT)
    assert lift.document["roles"]["server"] == {
        "implementation": "nginx",
        "knobs": {"http3_stream_buffer_size": "16m"},
    }
    assert lift.document["topology"] == DOCUMENT["topology"]
    assert "knobs" not in DOCUMENT["roles"]["server"]


def test_a_window_of_no_knob_is_not_lifted() -> None:
    assert not [*counterfactual.lifts(explained(10), "fixed window", DOCUMENT)]


def test_losses_are_lifted_by_no_loss_and_then_by_a_queue_without_an_end() -> None:
    loss, queue = counterfactual.lifts(explained(10), "recovery", DOCUMENT)
    (link,) = loss.document["topology"]["links"]
    assert "loss" not in link
    assert link["down"] == {"rate": "1 Mbit/s"}
    (longer,) = queue.document["topology"]["links"]
    assert longer["queue"] == counterfactual.LONGER_QUEUE
    assert longer["loss"] == "4 %"
    assert DOCUMENT["topology"]["links"][0]["loss"] == "4 %"


def test_a_lift_that_changes_nothing_is_not_tried_again() -> None:
    queue = [*counterfactual.lifts(explained(10), "recovery", DOCUMENT)][1]
    again = [one.what for one in counterfactual.lifts(explained(10), "recovery", queue.document)]
    assert queue.what not in again


def test_a_cause_is_confirmed_only_if_it_goes_away() -> None:
    before, lift = explained(10), Lift("fixed window", "a larger window", DOCUMENT)
    gone = Rung(lift, before, explained(100))
    assert gone.confirmed
    assert gone.saved_s is not None
    assert gone.saved_s > 0
    still = Rung(lift, before, explained(11))
    assert not still.confirmed
    lost = Rung(lift, before, Unexplained(1, "a", {}, "its client sent nothing"))
    assert not lost.confirmed
    assert lost.saved_s is None
    assert "its client sent nothing" in lost.sentence()


def test_an_unfinished_trial_is_no_proof() -> None:
    before = explained(10)
    cut = replace(before, outcome="failed")
    assert not Rung(Lift("fixed window", "it", DOCUMENT), before, cut).confirmed
