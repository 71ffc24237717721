"""``httpbed recipes check`` on what the toolbox holds: every promise, with real programs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from httpbed.programs import catalog
from httpbed.programs.catalog import Catalog
from httpbed.studies.interop import pairings, refusals, session, table
from httpbed.studies.interop.pairings import Way
from httpbed.studies.interop.session import Outcome

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]


def tried(known: Catalog, wanted: list[Way], folder: Path) -> Outcome:
    """Check pairings with the installed programs."""
    found, absent = session.here(known)
    bed = session.make_bed(known, found, say=print)

    async def work() -> Outcome:
        members = await session.members(bed, found)
        done = await session.try_all(bed, wanted, folder, jobs=2, tell=lambda _: None)
        asked = refusals.wanted(found, pairings.few(found))
        refused = await session.refuse_all(bed, asked, folder, jobs=2)
        return Outcome(members, done, refused, (), absent)

    return asyncio.run(work())


def roles(way: Way) -> set[tuple[str, ...]]:
    """Say who is tried on a way in which role and HTTP version."""
    return {(one.name, one.role, one.http_version) for one in way.promises()}


def covering(several: list[Way]) -> list[Way]:
    """Choose few ways on which all take each role in each version that any way has."""
    chosen, left = list[Way](), set[tuple[str, ...]]().union(*map(roles, several))
    while left:
        best = max(several, key=lambda way: len(roles(way) & left))
        chosen.append(best)
        left -= roles(best)
    return chosen


def test_all_that_is_installed_does_as_its_recipe_promises(tmp_path: Path) -> None:
    """Each role and version is checked once: 1 kB and 1 MB by digest, and refusals."""
    known = catalog.load()
    found, _ = session.here(known)
    every = pairings.few(found)
    outcome = tried(known, covering(every), tmp_path)
    assert outcome.tried
    assert outcome.passed, "\n".join(table.lines(outcome))
    assert {one.client for one in outcome.refusals} == {way.client for way in every}


CARELESS = """
schema = 1
like = "h2load"
name = "careless"
verifies = true
"""
LIAR = """
schema = 1
like = "curl"
name = "liar"
run = { choose = { http_flag = { values = { "2" = "--http1.1" } } } }
"""


def test_a_program_that_speaks_another_version_fails(tmp_path: Path) -> None:
    """The recipe says HTTP/2 and the command HTTP/1.1: the file is right, and the pairing fails."""
    (tmp_path / "liar.toml").write_text(LIAR)
    known = catalog.load([tmp_path])
    server = next(
        way.server for way in pairings.few(session.here(known)[0]) if way.client == "liar"
    )
    outcome = tried(known, [Way("liar", "2", server)], tmp_path / "left")
    wrong = [reason for download in outcome.tried[0].downloads for reason in download.wrong]
    assert all(reason.startswith("protocol used") for reason in wrong)
    assert len(wrong) == 2


def test_a_client_that_verifies_no_certificate_fails(tmp_path: Path) -> None:
    """Its recipe says that it verifies certificates, and it accepts one that it must refuse."""
    (tmp_path / "careless.toml").write_text(CARELESS)
    known = catalog.load([tmp_path])
    found, _ = session.here(known, ["careless", "nginx"])
    bed = session.make_bed(known, found, say=print)
    asked = refusals.wanted(found, pairings.few(found))
    (refused,) = asyncio.run(session.refuse_all(bed, asked, tmp_path / "left", jobs=1))
    assert refused.wrong == ()
    assert not refused.passed
