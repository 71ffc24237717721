"""Checks of hand-overs: the bed's changes and the client's reaction."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from httpbed.addons.handover import handover_checks as handover
from httpbed.addons.handover import handover_metrics as metrics
from httpbed.addons.handover.handover_check_table import (
    HANDOVER_COUNT,
    HANDOVER_PACE,
    HANDOVER_PROMPT,
)
from httpbed.addons.handover.handover_evidence import COMMANDS_END, CompletedStep, HandoverEvidence
from httpbed.experiment.trial import Check, Outcome
from httpbed.trial import verdict
from httpbed.trial.attempt_plan import CampaignSetup
from httpbed.trial.evidence import AttemptEvidence
from planted import Fault, ended
from recorded import (
    CATALOG,
    HANDED_OVER,
    artifacts,
    checks,
    contents,
    nothing_built,
    planned,
    trial,
)
from recorded_handover import (
    CHAIN,
    MS,
    QUIET,
    S,
    changed,
    connections,
    delivered,
    described,
    observed,
    of_subject,
    on,
    on_handover,
    own,
    verdicts,
    with_own,
)


def of_bed(evidence: AttemptEvidence, **changes: Any) -> dict[str, Check]:
    told = handover.of_bed(described(**changes), CHAIN.hops[0], evidence)
    return {check.name: check for check in told}


def first_link(evidence: AttemptEvidence, **changes: Any) -> Check:
    """Check which links the client used before the first hand-over."""
    course = metrics.observed(described(**changes), CHAIN, evidence)
    assert course is not None
    (check,) = handover.first_link(course)
    return check


def test_a_recorded_hand_over_passes(tmp_path: Path) -> None:
    """Its events are reported, and judging adds no file."""
    folder = Path(shutil.copytree(artifacts(HANDED_OVER), tmp_path / "artifacts"))
    evidence = json.loads((folder / "evidence.json").read_text())
    (folder / "evidence.json").write_text(json.dumps({**evidence, "pressure": QUIET}))
    this = verdict.AttemptId(trial(HANDED_OVER), 1, datetime(2026, 11, 21, 12, tzinfo=UTC))
    before = sorted(file.name for file in folder.iterdir())
    record = verdict.judge(this, planned(HANDED_OVER), prepared(), folder, {})
    assert sorted(file.name for file in folder.iterdir()) == before
    assert record.attempt.outcome == Outcome(kind="completed")
    names = [check.name for check in record.attempt.checks]
    assert len(names) == len(set(names))
    assert record.handovers is not None
    (moment,) = record.handovers
    assert (moment.number, moment.left, moment.entered) == (1, "wifi", "cellular")
    assert moment.verdict == "migrated"
    times = [moment.at_s, moment.first_sent_s, moment.first_byte_s, moment.validated_s]
    assert times == sorted(one for one in times if one is not None)
    assert moment.gone_s == pytest.approx(moment.at_s, abs=0.005)
    assert moment.back_s is None


def prepared() -> CampaignSetup:
    return CampaignSetup(CATALOG, nothing_built(), Path(), contents(HANDED_OVER))


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        (on_handover(changes=()), "hand-over took place"),
        (lambda evidence: changed(evidence, at_ns=10 * S), HANDOVER_PROMPT.name),
        (lambda evidence: changed(evidence, by=COMMANDS_END), HANDOVER_PROMPT.name),
        (on_handover(destroyed_after_ns={1: 60 * MS}), HANDOVER_PROMPT.name),
        (on_handover(sockets_left={1: 2}), "sockets of a deleted address"),
    ],
)
def test_each_fault_of_a_hand_over_breaks_its_check(fault: Fault, name: str) -> None:
    """No other check fails."""
    told = of_bed(fault(observed()))
    assert {one for one, check in told.items() if check.passed is False} == {name}
    assert {check.of for check in told.values()} == {"bed"}


def test_a_client_that_ends_before_the_hand_over_completes() -> None:
    """Repeating the trial until a transfer takes longer would select the slow ones."""
    evidence, late = on_handover(changes=())(observed()), {"at": "60 s"}
    check = of_bed(evidence, when=late)["hand-over took place"]
    told = of_subject(evidence, when=late)
    assert (check.passed, told.passed) == (None, None)
    assert told.figure == "over before it: the client was done after 495 ms"
    assert handover.unfollowed(verdicts(evidence, when=late)) == ""
    assert verdict.outcome([check, told], evidence) == Outcome(kind="completed")
    assert check.figure.startswith("the client was done after ")
    assert check.figure.endswith("before the change at 60 s: make the hand-over earlier")


@pytest.mark.parametrize("how", [{"status": 7}, {"status": None, "timed_out": True}])
def test_a_client_that_fails_before_the_hand_over_is_not_the_beds_fault(
    how: dict[str, Any],
) -> None:
    """There was nothing to hand over."""
    evidence = ended(**how)(on_handover(changes=(), done=())(observed()))
    evidence = delivered(connections(evidence, on(evidence, "wifi")), {})
    told = of_bed(evidence)
    assert told["hand-over took place"].passed is None
    assert all(check.passed is not False for check in told.values())


def test_late_destruction_of_tcp_sockets_is_reported() -> None:
    """QUIC sees a deleted address itself; TCP only when its sockets are destroyed."""
    evidence = observed()
    (_, destroy), (change,) = own(evidence).done, own(evidence).changes
    after_ms = (destroy.ended_ns - change.at_ns) / MS
    assert 0 < after_ms < 50
    figure = of_bed(evidence)[HANDOVER_PROMPT.name].figure
    assert figure.endswith(f"TCP sockets destroyed {after_ms:.1f} ms after their address at most")


def test_missing_kernel_messages_are_reported() -> None:
    """One in ten may be missing; beyond that the times are of another kind."""
    evidence = observed()
    (change,) = own(evidence).changes
    for count, passed in ((10, True), (9, False)):
        changes = (replace(change, by=COMMANDS_END), *[change] * (count - 1))
        check = of_bed(on_handover(changes=changes)(evidence))[HANDOVER_PROMPT.name]
        assert check.passed is passed
        assert COMMANDS_END in check.figure


def test_sockets_are_not_judged_where_the_address_was_back_too_soon() -> None:
    """Its sockets are then new ones."""
    check = of_bed(on_handover(sockets_left={})(observed()))["sockets of a deleted address"]
    assert check.passed is None


def test_only_late_hand_overs_count_as_strain() -> None:
    """A busy machine causes them, and the campaign waits until it is quiet."""
    assert HANDOVER_PROMPT.by_strain
    assert not HANDOVER_PACE.by_strain


def steps(count: int, period_ms: int, takes_ms: int) -> tuple[CompletedStep, ...]:
    """Return as many hand-overs of one step each."""
    return tuple(
        CompletedStep(number, "prefer", "wifi", at, at, at + takes_ms * MS)
        for number in range(1, count + 1)
        for at in [number * period_ms * MS]
    )


@pytest.mark.parametrize(("takes_ms", "keeps"), [(5, True), (15, False)])
def test_steps_longer_than_their_period_are_reported(takes_ms: int, keeps: bool) -> None:
    """The figures count the hand-overs due and made."""
    evidence = with_own(observed(), HandoverEvidence(0, S, steps(40, 20, takes_ms), (), {}, {}))
    check = of_bed(evidence, kind="route", when={"every": "10 ms"}, sockets="")[HANDOVER_PACE.name]
    assert check.passed is keeps
    assert ("use a longer period" in check.figure) is not keeps


@pytest.mark.parametrize(("made", "passed"), [(55, False), (89, False), (90, True), (100, True)])
def test_missing_hand_overs_are_counted(made: int, *, passed: bool) -> None:
    """Each waits for the one before, and none may be left out."""
    evidence = observed()
    (first,) = own(evidence).changes
    end_ns = metrics.done_ns(CHAIN.hops[0], evidence, own(evidence))
    began_ns = end_ns - 100 * 10 * MS
    changes = tuple(
        replace(first, number=number, due_ns=at, ordered_ns=at, at_ns=at)
        for number in range(1, made + 1)
        for at in [began_ns + number * 10 * MS - MS]
    )
    planted = on_handover(began_ns=began_ns, changes=changes, done=steps(made, 10, 5))(evidence)
    told = of_bed(planted, kind="route", when={"every": "10 ms"}, sockets="")
    assert told[HANDOVER_PACE.name].passed is True
    assert (told[HANDOVER_COUNT.name].passed, told[HANDOVER_COUNT.name].figure) == (
        passed,
        f"{made} of 100 due",
    )
    assert HANDOVER_COUNT.by_strain


def test_a_connection_on_another_link_before_the_hand_over_is_caught() -> None:
    """The client must stay on its first link until the first order."""
    evidence = observed()
    early = own(evidence).done[0].began_ns + evidence.link["started_ns"] - 1
    planted = connections(
        evidence, on(evidence, "wifi"), on(evidence, "cellular", client_first_ns=early)
    )
    assert first_link(planted).passed is False
    assert first_link(evidence).passed is True
    assert first_link(planted, kind="none", when=None, sockets="").passed is False


def test_a_client_that_does_not_follow_is_named_in_the_outcome() -> None:
    """Not following explains a failure, and is not a failure by itself."""
    evidence = ended(status=56)(
        connections(observed(), on(observed(), "wifi"), on(observed(), "router-server"))
    )
    check = of_subject(evidence)
    assert check.passed is None
    assert check.figure == "no hand-over was followed: nothing was sent over cellular"
    why = handover.unfollowed(verdicts(evidence))
    assert why == check.figure
    outcome = verdict.outcome([*checks(evidence, HANDED_OVER), check], evidence, why)
    assert outcome.kind == "failed"
    assert outcome.reason.endswith(f"; {check.figure}")
    stuck = ended(status=None, timed_out=True)(evidence)
    late = next(one for one in checks(stuck, HANDED_OVER) if one.name == "client ended well")
    assert verdict.outcome([late, check], stuck, why) == Outcome(
        kind="timed out", reason=f"the client was still busy at the time limit; {check.figure}"
    )


def test_several_hand_overs_are_counted_in_one_sentence() -> None:
    """The figure has the number of each outcome."""
    evidence = observed()
    (first,) = own(evidence).changes
    second = replace(first, number=2, left="cellular", entered="wifi", ordered_ns=20 * S)
    check = of_subject(on_handover(changes=(first, second), ended_ns=30 * S)(evidence))
    assert check.figure == "2 hand-overs: 1 migrated, 1 when the client was done"
    assert check.passed is True


@pytest.mark.parametrize("later_ms", [-30, 0, 500])
def test_a_hand_over_at_the_clients_end_is_not_judged(later_ms: int) -> None:
    """No response can arrive within less than a round trip."""
    evidence = observed()
    (first,) = own(evidence).changes
    end_ns = metrics.done_ns(CHAIN.hops[0], evidence, own(evidence))
    at_ns = end_ns + later_ms * MS
    alone = on_handover(changes=(replace(first, ordered_ns=at_ns, at_ns=at_ns),))(
        connections(
            evidence, on(evidence, "wifi", client_last_ns=end_ns + evidence.link["started_ns"])
        )
    )
    check = of_subject(alone)
    assert check.figure.startswith("over before it: the client was done after ")
    made = of_bed(alone, when={"at": "480 ms"})["hand-over took place"].passed
    assert made is (True if later_ms < 0 else None)
    course = metrics.observed(described(), CHAIN, alone)
    assert course is not None
    assert list(metrics.observations(course)) == []
    blamed = of_subject(ended(status=56)(alone))
    assert blamed.figure.endswith("nothing was sent over cellular")


def test_a_migrated_connection_counts_once() -> None:
    """The limit on connections does not apply where the client must reconnect."""
    evidence = observed()
    check = next(one for one in checks(evidence, HANDED_OVER) if one.name == "connection count")
    assert (check.passed, check.figure, check.limit) == (True, "1, by the packets", "at most 2")


@pytest.mark.parametrize(
    ("count", "fault", "passed"),
    [
        (2, lambda evidence: evidence, True),
        (3, lambda evidence: evidence, False),
        (2, on_handover(changes=()), False),
    ],
)
def test_connections_are_bounded_by_the_hand_overs(
    count: int, fault: Fault, *, passed: bool
) -> None:
    first = on(observed(), "wifi")
    many = ({**first, "client": f"10.77.0.1:{1024 + number}"} for number in range(count))
    evidence = connections(fault(observed()), *many)
    check = next(one for one in checks(evidence, HANDED_OVER) if one.name == "connection count")
    assert check.passed is passed


def test_every_access_link_is_pinged_and_judged() -> None:
    """One of them may be slow."""
    evidence = observed()
    slow = {
        title: (0.2,) if "cellular" in title else pings for title, pings in evidence.pings_s.items()
    }
    told = {
        check.name: check.passed for check in checks(replace(evidence, pings_s=slow), HANDED_OVER)
    }
    assert told["round-trip time, client->server over wifi"] is True
    assert told["round-trip time, client->server over cellular"] is False
    ways = [probe.path.names[0] for group in planned(HANDED_OVER).attempt.pings for probe in group]
    assert ways == ["wifi", "cellular"]
