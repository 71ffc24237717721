"""Whether a load began in the state that its trial names."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from httpbed.addons.pages import page_checks
from httpbed.addons.pages.page import PageLoad
from httpbed.experiment.trial import Check
from httpbed.experiment.workload import PageVisit
from httpbed.programs.part import LoggedRequest, ProgramReport
from httpbed.trial import evidence
from httpbed.trial.hops import Chain
from recorded import H3_CLEAN, chains, recorded_evidence

LISTED = 3
PRIOR, DOCUMENT, IMAGE, STYLE = "/.httpbed/prior.txt", "/index.html", "/0.jpeg", "/a.css"


def asked(path: str, connection: str, **more: Any) -> LoggedRequest:
    """Make a request that both logs list."""
    said = {"http_version": "3", "status": 200, "body_bytes": 1, "resumed": False}
    return LoggedRequest(
        **{**said, "early_data": False, "path": path, "connection": connection, **more}
    )


PAGE = tuple(asked(path, "b") for path in (DOCUMENT, IMAGE, STYLE))
RIGHT: dict[PageVisit, tuple[tuple[LoggedRequest, ...], tuple[LoggedRequest, ...]]] = {
    "cold": ((), PAGE),
    "warm connection": ((asked(PRIOR, "b"),), PAGE),
    "repeat view": (tuple(replace(request, connection="a") for request in PAGE), PAGE[:1]),
    "resumed": ((asked(PRIOR, "a"),), tuple(replace(request, resumed=True) for request in PAGE)),
    "early data": (
        (asked(PRIOR, "a"),),
        (replace(PAGE[0], resumed=True, early_data=True), *PAGE[1:]),
    ),
    "discovery": ((asked(PRIOR, "a", http_version="2"),), PAGE),
}
"""What was asked before and measured, in each visit."""


def load(visit: PageVisit) -> PageLoad:
    return PageLoad.model_validate(
        {"kind": "page", "page": {"objects": 2, "size": "1 kB"}, "visit": visit}
    )


def judged(
    visit: PageVisit, before: tuple[LoggedRequest, ...], measured: tuple[LoggedRequest, ...]
) -> set[str]:
    """Return the names of the checks that do not pass."""
    return {check.name for check in checks(visit, before, measured) if check.passed is not True}


def checks(
    visit: PageVisit, before: tuple[LoggedRequest, ...], measured: tuple[LoggedRequest, ...]
) -> list[Check]:
    """Check a visit that browser and server report alike."""
    (chain,) = chains(H3_CLEAN)
    chain = Chain(load(visit), chain.roles, chain.hops)
    told = ProgramReport(requests=measured, before=before)
    found = replace(recorded_evidence(H3_CLEAN), reports={"client": told, "server": told})
    return list(page_checks.visit_checks(chain, load(visit), LISTED, found))


@pytest.mark.parametrize("visit", RIGHT)
def test_every_visit_passes_as_itself_only(visit: PageVisit) -> None:
    """Each kind of visit fails the checks of all others."""
    told = RIGHT[visit]
    assert judged(visit, *told) == set()
    for other in RIGHT:
        assert other == visit or judged(other, *told), f"{visit} passed as {other}"


@pytest.mark.parametrize(
    ("visit", "measured", "broken"),
    [
        ("resumed", PAGE, {"resumption"}),
        ("early data", RIGHT["resumed"][1], {"resumption"}),
        ("resumed", RIGHT["early data"][1], {"resumption"}),
        ("warm connection", (asked(DOCUMENT, "c"),), {"connection of the document"}),
        ("cold", RIGHT["resumed"][1], {"resumption"}),
        ("discovery", (asked(DOCUMENT, "a"),), {"connection of the document"}),
        ("repeat view", PAGE, {"from the browser's cache"}),
    ],
)
def test_each_deviation_of_a_visit_breaks_one_check(
    visit: PageVisit, measured: tuple[LoggedRequest, ...], broken: set[str]
) -> None:
    """One difference breaks one check."""
    assert judged(visit, RIGHT[visit][0], measured) == broken


def test_over_http_1_only_the_documents_connection_counts() -> None:
    """Further connections resume with tickets of the first one."""
    later = (PAGE[0], *(replace(request, connection="c", resumed=True) for request in PAGE[1:]))
    assert judged("cold", (), later) == set()


def test_a_connection_that_no_log_reports_is_not_observed() -> None:
    """A server without a log reports no connections."""
    (chain,) = chains(H3_CLEAN)
    chain = Chain(load("resumed"), chain.roles, chain.hops)
    told = ProgramReport(requests=PAGE, before=RIGHT["resumed"][0])
    found = replace(
        recorded_evidence(H3_CLEAN), reports={"client": told, "server": ProgramReport()}
    )
    silent = replace(found, silent=frozenset({"server"}))
    before, *others = page_checks.visit_checks(chain, load("resumed"), LISTED, silent)
    assert before.passed is True
    assert [check.passed for check in others] == [None, None]
    owed = page_checks.visit_checks(chain, load("resumed"), LISTED, found)
    assert [check.name for check in owed if check.passed is False] == ["document in the log"]


def test_the_first_log_entries_of_a_resource_are_of_the_prior_visit() -> None:
    """A log lists both visits in order."""
    log = ProgramReport(requests=(asked(IMAGE, "a"), asked(DOCUMENT, "a"), asked(DOCUMENT, "b")))
    divided = evidence.divided(log, (asked(DOCUMENT, "1"), asked(IMAGE, "1")))
    assert [request.connection for request in divided.before] == ["a", "a"]
    assert [request.connection for request in divided.requests] == ["b"]


def test_the_file_of_the_prior_visit_is_never_the_pages() -> None:
    """This holds even if the browser reported nothing."""
    divided = evidence.divided(ProgramReport(requests=(asked(PRIOR, "a"), PAGE[0])), ())
    assert [request.path for request in divided.requests] == [DOCUMENT]
