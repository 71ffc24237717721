from __future__ import annotations

from httpbed.addons.explain import explain_report
from httpbed.addons.explain.causes import BY_NAME
from httpbed.addons.explain.division import divide
from httpbed.addons.explain.explanation import Explained
from window_sender import WindowSender


def test_a_section_counts_the_treatments_that_it_does_not_divide() -> None:
    """Such as those of a link without a constant rate, beside those that have one."""
    transfer = WindowSender(300, lambda sent: 10 + sent // 10).transfer()
    one = Explained(1, "a", {}, 1, "completed", divide(transfer), None, transfer)
    assert not [*explain_report._remarks([one], 1)]
    (remark,) = explain_report._remarks([one], 3)
    assert remark.text == "Not divided here: 2 of 3 treatments."


def test_a_report_says_once_what_each_cause_means() -> None:
    """A list of treatments repeats costs, not definitions."""
    transfer = WindowSender(300, lambda sent: 10 + sent // 10).transfer()
    one = Explained(1, "a", {}, 1, "completed", divide(transfer), None, transfer)
    first, second = (str(text) for text in explain_report._summaries([one, one], str))
    meanings = [cause.meaning for cause in BY_NAME.values() if cause.meaning in first]
    assert meanings
    assert not any(meaning in second for meaning in meanings)
    for meaning in meanings:
        first = first.replace(f": {meaning}", "")
    assert first == second
