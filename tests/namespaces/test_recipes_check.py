"""``httpbed toolbox check`` on what the toolbox holds: every promise, with real programs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from httpbed.addons.interop import check_verb, interop_session, pairings
from httpbed.addons.interop.interop_session import InteropResult
from httpbed.addons.interop.pairings import Pairing
from httpbed.programs import catalog
from httpbed.programs.catalog import Catalog
from httpbed.trial import program_roots

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]


def checked(known: Catalog, wanted: list[Pairing], folder: Path) -> InteropResult:
    """Run pairings of installed programs."""
    found, absent = interop_session.here(known)
    setup = interop_session.make_setup(known, found, say=print)

    async def work() -> InteropResult:
        programs = await interop_session.programs(setup, found)
        done = await interop_session.run_pairings(
            setup, wanted, folder, jobs=2, tell=lambda _: None
        )
        tests = interop_session.refusal_tests(found, pairings.covering(found))
        refused = await interop_session.run_refusals(setup, tests, folder, jobs=2)
        return InteropResult(programs, done, refused, (), absent)

    return asyncio.run(work())


def roles(pairing: Pairing) -> set[tuple[str, ...]]:
    """Return each program of a pairing with its role and HTTP version."""
    return {(promise.name, promise.role, promise.http_version) for promise in pairing.promises()}


def covering(several: list[Pairing]) -> list[Pairing]:
    """Choose few pairings that together have each role and version of all."""
    chosen, left = list[Pairing](), set[tuple[str, ...]]().union(*map(roles, several))
    while left:
        best = max(several, key=lambda pairing: len(roles(pairing) & left))
        chosen.append(best)
        left -= roles(best)
    return chosen


@pytest.mark.slow
@pytest.mark.alone  # a busy machine answers Chromium so late that it opens a second connection
def test_every_installed_program_does_what_its_recipe_declares(tmp_path: Path) -> None:
    """Each role and HTTP version once, 1 kB and 1 MB by digest, versions and refusals."""
    known = catalog.load()
    found, _ = interop_session.here(known)
    every = pairings.covering(found)
    result = checked(known, covering(every), tmp_path)
    assert result.pairings
    assert result.passed, "\n".join(check_verb.lines(result))
    assert {refusal.client for refusal in result.refusals} == {pairing.client for pairing in every}


ON_DEMAND = sorted(
    recipe.name for recipe in catalog.load().recipes.values() if recipe.install.on_demand
)

WITH_OTHER_CLIENT = {Pairing("curl", "3", "bun"): Pairing("aioquic", "3", "bun")}
"""Bun refuses four of ten handshakes of curl over HTTP/3: docs/measurements/programs.md."""


@pytest.mark.slow
@pytest.mark.parametrize("name", ON_DEMAND)
def test_a_program_that_is_installed_on_demand_does_what_its_recipe_declares(
    name: str, tmp_path: Path
) -> None:
    """Each role and HTTP version with one counterpart, and a client's refusal."""
    known = catalog.load()
    program_roots.ensure(known, [name, "curl", "nginx", "aioquic"], say=print)
    found = [
        recipe
        for recipe in interop_session.here(known)[0]
        if recipe.name in [name, "curl", "nginx", "aioquic"]
    ]
    chosen = [pairing for pairing in pairings.covering(found) if name in pairing.members()]
    wanted = [WITH_OTHER_CLIENT.get(pairing, pairing) for pairing in chosen]
    result = checked(known, wanted, tmp_path)
    declared = {promise for promise in pairings.promises(found) if promise.name == name}
    assert {
        promise for pairing in result.pairings for promise in pairing.pairing.promises()
    } >= declared
    assert result.passed, "\n".join(check_verb.lines(result))


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
    """Its recipe says HTTP/2, its command HTTP/1.1: the file is right, the protocol is not."""
    (tmp_path / "liar.toml").write_text(LIAR)
    known = catalog.load([tmp_path])
    server = next(
        pairing.server
        for pairing in pairings.covering(interop_session.here(known)[0])
        if pairing.client == "liar"
    )
    result = checked(known, [Pairing("liar", "2", server)], tmp_path / "artifacts")
    failures = [download.failures for download in result.pairings[0].downloads]
    assert all(failures)
    assert {failure.check for of_one in failures for failure in of_one} == {"protocol used"}


def test_a_client_that_accepts_any_certificate_fails(tmp_path: Path) -> None:
    """Its recipe says that it verifies certificates, and it accepts an untrusted one."""
    (tmp_path / "careless.toml").write_text(CARELESS)
    known = catalog.load([tmp_path])
    found = [
        recipe for recipe in interop_session.here(known)[0] if recipe.name in ["careless", "nginx"]
    ]
    setup = interop_session.make_setup(known, found, say=print)
    tests = interop_session.refusal_tests(found, pairings.covering(found))
    (refused,) = asyncio.run(interop_session.run_refusals(setup, tests, tmp_path / "left", jobs=1))
    assert refused.failures == ()
    assert not refused.passed
