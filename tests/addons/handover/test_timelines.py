"""Curves of what was delivered: read as trials write them, and thinned without being missed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handover_campaigns import TrialCourse, handover_campaign, usual
from httpbed.addons.handover import handover_samples as handovers
from httpbed.addons.handover.handover_samples import of_attempt
from httpbed.addons.handover.handover_timelines import Curve, deliveries, thinned
from httpbed.experiment.trial import HandoverEvent
from httpbed.results import attempts
from httpbed.store import campaign as campaigns

HEAD = "# origin_ms: 100.5\nbin\tlink\tbytes\n"


def corners(curve: Curve) -> list[tuple[float, float]]:
    """List a curve's corners, rounded to microseconds."""
    pairs = zip(curve.times_s.tolist(), curve.total_bytes.tolist(), strict=True)
    return [(round(at_s, 6), total) for at_s, total in pairs]


def test_a_curve_rises_during_each_millisecond_with_packets() -> None:
    """It begins at the client's first packet; what came before is not the client's."""
    text = (
        HEAD + "40\twifi\t84\n100\twifi\t60\n151\twifi\t1500\n153\tcellular\t500\n153\twifi\t40\n"
    )
    curve, by_link = deliveries(text)
    assert by_link == {"wifi": 1600, "cellular": 500}
    rises = [(0.0, 0.0), (0.0005, 60), (0.0505, 60), (0.0515, 1560), (0.0525, 1560), (0.0535, 2100)]
    assert corners(curve) == [(0.0, 0.0), *rises]
    assert curve.at(0.052) == 1560
    assert curve.end_s == pytest.approx(0.0535)
    assert curve.end_bytes == 2100


@pytest.mark.parametrize(
    "text",
    [
        "",
        "bin\tlink\tbytes\n",
        HEAD,
        HEAD.replace("100.5", "x"),
        "no table",
        "# origin_ms: x\nbin\tlink\tbytes\n1\ta\t2\n",
    ],
)
def test_nothing_and_damage_are_no_curve(text: str) -> None:
    """The report is made without the curve."""
    curve, by_link = deliveries(text)
    assert (curve.end_s, curve.end_bytes, by_link) == (0.0, 0.0, {})
    assert curve.at(1.0) == 0.0


@given(
    st.lists(st.tuples(st.integers(1, 500), st.integers(0, 10**6)), min_size=1, max_size=60),
    st.integers(2, 40),
    st.floats(0, 1e5),
)
def test_thinning_keeps_what_can_be_seen(
    steps: list[tuple[int, int]], most: int, tolerance: float
) -> None:
    """Ends stay, corners are the curve's own, and none is missed unless there are too many."""
    times = np.cumsum([step for step, _ in steps]) / 1e3
    total = np.cumsum([size for _, size in steps]).astype(float)
    curve = Curve(times, total)
    drawn = thinned(curve, tolerance, most)
    assert set(corners(drawn)) <= set(corners(curve))
    assert (drawn.times_s[0], drawn.end_s) == (times[0], times[-1])
    assert drawn.times_s.size <= max(most, 2)
    assert np.all(np.diff(drawn.times_s) > 0)
    if drawn.times_s.size < most:
        missed = np.abs(np.interp(times, drawn.times_s, drawn.total_bytes) - total)
        assert missed.max() <= tolerance + 1e-6 * total[-1]


def test_a_stall_keeps_both_its_ends() -> None:
    """Of ten thousand corners a handful is left, and the stall's are among them."""
    bins = [*range(2000), *range(2500, 9000)]
    text = "bin\tlink\tbytes\n" + "".join(f"{one}\twifi\t1200\n" for one in bins)
    curve, _ = deliveries(text)
    drawn = thinned(curve, 0.003 * curve.end_bytes, 300)
    assert drawn.times_s.size < 8
    assert {2.0, 2.5} <= set(drawn.times_s.round(3).tolist())


def test_what_came_to_an_address_that_was_gone_is_not_drawn() -> None:
    """The trial's files keep it; the client never had it."""
    text = HEAD + "151\twifi\t1500\n153\twifi\t1500\n153\tcellular\t40\n180\twifi\t60\n"
    gone = HandoverEvent(number=1, left="wifi", at_s=0.052, gone_s=0.052, back_s=0.0777)
    curve, by_link = deliveries(text, [gone])
    assert by_link == {"wifi": 1560, "cellular": 40}
    assert curve.end_bytes == 1600


def test_hand_overs_are_read_as_far_as_they_can_be(tmp_path: Path) -> None:
    """What is absent, null or of another kind is not known."""
    results = handover_campaign(lambda *_: TrialCourse(), tmp_path)
    row = attempts.valid(results)[0]
    path = campaigns.artifacts(tmp_path, row["block"], row["trial"], row["attempt"]).parent
    text = [
        {"number": 1, "from": "wifi", "to": "cellular", "at_s": 1.5, "first_sent_s": None},
        {"number": 2, "at_s": 2, "validated_s": "soon", "verdict": "migrated", "more": 1},
        {"number": 3, "at_s": None},
        "not a table",
    ]
    (path / "handovers.json").write_text(json.dumps(text))
    first, second = of_attempt(results, row)
    assert (first.left, first.entered, first.at_s, first.verdict) == ("wifi", "cellular", 1.5, "")
    assert list(first.milestones()) == []
    assert (second.at_s, second.validated_s, second.verdict) == (2.0, None, "migrated")
    for damaged in ("{", "{}", "[1]", "\x00"):
        (path / "handovers.json").write_text(damaged)
        assert of_attempt(results, row) == ()


def test_what_hand_overs_cost_is_gathered_by_treatment(tmp_path: Path) -> None:
    """Medians of what completed, sums of what was tried, and what the wire shows."""
    results = handover_campaign(usual, tmp_path)
    moves = handovers.of_campaign(results)
    changed = {
        client: moves[(client, "0 %", "changed")] for client in ("quiche", "wget", "curl-h3")
    }
    assert changed["quiche"].median("delivery_stall") == pytest.approx(0.12)
    assert changed["quiche"].counts == {"migrations": 3, "migrations_failed": 0}
    assert changed["quiche"].verdicts == {"migrated": 3}
    assert changed["wget"].median("bytes_fetched_twice") == 2e6
    assert changed["wget"].counts["migrations"] is None
    assert changed["curl-h3"].median("delivery_stall") == pytest.approx(3)
    assert changed["curl-h3"].verdicts == {"nothing": 1, "new connection": 2}
    stable = moves[("quiche", "0 %", "stable")]
    assert stable.rtt_s == pytest.approx(0.05)
    assert (stable.happens, stable.before_any) == (False, 0)


def test_what_nobody_completed_has_no_median(tmp_path: Path) -> None:
    """A stall that ended with the client's failure says nothing of its length."""
    results = handover_campaign(
        lambda *_: TrialCourse(verdict="nothing", outcome="failed"), tmp_path
    )
    failed = handovers.of_campaign(results)[("quiche", "0 %", "changed")]
    assert failed.median("delivery_stall") is None
    assert failed.verdicts == {"nothing": 3}


def test_a_trial_that_was_over_before_is_counted(tmp_path: Path) -> None:
    """It completed, and nothing had changed."""
    results = handover_campaign(lambda *_: TrialCourse(), tmp_path)
    assert handovers.of_campaign(results)[("wget", "2 %", "changed")].before_any == 3
