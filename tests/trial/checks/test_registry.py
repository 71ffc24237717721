"""The registry of checks: descriptors and observers agree."""

from __future__ import annotations

import importlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from httpbed.experiment.check import LATENESS, PRESSURE, CheckDescriptor, all_checks
from httpbed.experiment.trial import Check
from httpbed.programs.catalog import Catalog
from httpbed.trial import verdict
from httpbed.trial.attempt_plan import CampaignSetup
from recorded import (
    ALL,
    CATALOG,
    H2_LOSS,
    HANDED_OVER,
    UPLOADED,
    checks,
    contents,
    nothing_built,
    planned,
    recorded_evidence,
    trial,
    with_additions,
)


@pytest.mark.parametrize("name", [*ALL, HANDED_OVER, UPLOADED])
def test_every_check_of_an_attempt_has_a_descriptor(name: str) -> None:
    """The descriptor decides whom a broken check is blamed on; no two checks share a name."""
    made = checks(recorded_evidence(name), name)
    assert len({check.name for check in made}) == len(made)
    for check in made:
        descriptor = all_checks()[check.check]
        assert descriptor.of == check.of
        assert check.name.startswith(descriptor.title(item=check.item))


def test_every_descriptor_is_observed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check that nothing observes would stand in the documentation only."""
    observed: set[str] = set()
    result = CheckDescriptor.result

    def recorded(self: CheckDescriptor, **values: Any) -> Check:
        observed.add(self.id)
        return result(self, **values)

    monkeypatch.setattr(CheckDescriptor, "result", recorded)
    for name in (*ALL, HANDED_OVER, UPLOADED):
        checks(recorded_evidence(name), name)
    _judge_planted()
    assert observed == set(all_checks())


def _judge_planted() -> None:
    link, page, replay, sent, sockets, arrivals, visit, handover = (
        importlib.import_module(f"tests.{name}")
        for name in (
            "trial.checks.test_link",
            *("addons.pages.test_page_checks", "addons.pages.test_replay_program"),
            *("trial.checks.test_sent", "trial.checks.test_tcp_sockets"),
            "trial.checks.test_intervals",
            "addons.pages.test_visit_checks",
            "addons.handover.test_checks",
        )
    )
    arrivals.judged("1 ms")
    sockets.judged(sockets.stated(client=sockets.SMALL), H2_LOSS)
    sockets.judged_window()
    everything = link.configured({"between": ["client", "server"], **link.EVERYTHING})
    link.found(everything, link.happened(everything))
    link.test_changes_by_events_are_listed()
    page.judged(page.PAGE, page.PAGE)
    page.test_missing_pictures_of_a_load_are_a_note()
    page.test_an_origin_that_never_announces_http3_is_a_note()
    page.test_a_device_is_what_a_script_sees(page.SEEN, passed=True)
    page.test_a_load_at_its_time_limit_timed_out_and_did_not_fail()
    replay.passed()
    checks(sent.sending(sent.CLIENT, {}))
    for of, requests in visit.RIGHT.items():
        visit.checks(of, *requests)
    visit.test_a_connection_that_no_log_reports_is_not_observed()
    handover.test_missing_hand_overs_are_counted(90, passed=True)
    evidence = recorded_evidence(H2_LOSS)
    names = planned(H2_LOSS).scenario.implementations
    recipes = {
        name: CATALOG[name].model_copy(update={"stores_bodies": False}) for name in names.values()
    }
    prepared = CampaignSetup(Catalog(recipes), nothing_built(), Path(), contents(H2_LOSS))
    verdict.every_check(with_additions(planned(H2_LOSS), prepared, evidence))
    verdict.broken_bed(verdict.AttemptId(trial(H2_LOSS), 1, datetime.now(UTC)), "why")


def test_every_check_has_an_id_of_its_own() -> None:
    """Files name a check by it, so it has no placeholder."""
    assert not any("{" in one for one in all_checks())
    assert all_checks()["part ran"].title(item="proxy-1") == "proxy-1 ran"


def test_the_meaning_contains_the_limit_that_the_check_asks() -> None:
    """Every limit stands in the sentence, with its unit."""
    limited = [check for check in all_checks().values() if check.limit]
    assert {check.id for check in all_checks().values() if "{limit}" in check.requirement} == {
        descriptor.id for descriptor in limited
    }
    assert " at most 5 ms " in LATENESS.meaning
    assert " at most 25 % " in PRESSURE.meaning
    assert not any("{" in check.meaning for check in all_checks().values())


def test_only_checks_of_the_bed_are_broken_by_strain() -> None:
    """Another attempt on a quiet machine cannot mend what a program did."""
    assert {check.of for check in all_checks().values() if check.by_strain} == {"bed"}
