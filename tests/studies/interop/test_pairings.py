"""Which implementations meet: every promise once, or everyone with everyone."""

from __future__ import annotations

import itertools

import pytest

from httpbed.experiment.scenario import Scenario
from httpbed.programs import catalog, role_checks
from httpbed.studies.interop import pairings
from httpbed.studies.interop.pairings import Promise, Through, Way
from httpbed.studies.interop.refusals import MISSING, UNTRUSTED, wanted
from undeclared import refusals

CATALOG = catalog.load()
RECIPES = list(CATALOG.recipes.values())
FEW, EVERY = pairings.few(RECIPES), pairings.every(RECIPES)
PROXIED = Way("curl", "3", "nginx", (Through("haproxy", "1.1"),))


def test_every_promise_is_tried_once() -> None:
    """Each client asks in each of its versions, each server answers, each proxy does both."""
    asked = {(way.client, way.http_version) for way in FEW}
    answered = {(way.server, way.http_version) for way in FEW if not way.through}
    met = {(way.through[0], way.http_version) for way in FEW if way.through}
    behind = {recipe.next_proxy for recipe in RECIPES}
    for recipe in RECIPES:
        spoken = {(recipe.name, version) for version in recipe.http_versions}
        assert "client" not in recipe.roles or spoken <= asked
        assert "server" not in recipe.roles or spoken <= answered
        if "proxy" in recipe.roles and recipe.name not in behind:
            for pair in itertools.product(recipe.upstream_http_versions, recipe.http_versions):
                assert (Through(recipe.name, pair[0]), pair[1]) in met
    assert len(FEW) == len(set(FEW))


def test_the_few_try_all_that_is_promised_and_say_what_is_left() -> None:
    """Without HTTP/3's only servers, those who ask in it are left untried."""
    assert pairings.promises(RECIPES) == pairings.tried(FEW)
    alone = [CATALOG[name] for name in ("curl", "gtlsserver")]
    left = pairings.promises(alone) - pairings.tried(pairings.few(alone))
    assert left == {Promise("curl", "client", "1.1"), Promise("curl", "client", "2")}


def test_every_client_has_something_to_refuse() -> None:
    """Unless it verifies nothing and fetches one file only."""
    asked = {one.way.client: one.what for one in wanted(RECIPES, FEW)}
    assert set(asked) == {one.name for one in RECIPES if "client" in one.roles} - {"hq"}
    assert {name for name, what in asked.items() if what == MISSING} == {"gtlsclient", "h2load"}
    assert set(asked.values()) == {MISSING, UNTRUSTED}
    for one in wanted(RECIPES, FEW):
        Scenario.model_validate(one.document())
        assert list(role_checks.role_mistakes(CATALOG, one.document())) == []


def test_the_few_are_among_all() -> None:
    """All are every client with every server that speaks its version."""
    assert set(FEW) <= set(EVERY)
    direct = {(way.client, way.http_version, way.server) for way in EVERY if not way.through}
    clients = [one for one in RECIPES if "client" in one.roles]
    servers = [one for one in RECIPES if "server" in one.roles]
    assert len(direct) == sum(
        len(set(client.http_versions) & set(server.http_versions))
        for client, server in itertools.product(clients, servers)
    )


def test_every_way_can_be_planned() -> None:
    """Its scenario is one, and nobody in it is miscast."""
    for way in EVERY:
        document = way.document(1000)
        scenario = Scenario.model_validate(document)
        assert scenario.workload.body_bytes() == 1000
        assert set(scenario.implementations.values()) == way.members()
        assert list(role_checks.role_mistakes(CATALOG, document)) == [], way.title()


def test_a_counterpart_stores_what_it_fetches() -> None:
    """A server is not tried with a client that could not tell a damaged file."""
    alone = {way.client for way in FEW if sum(way.client == other.client for other in FEW) == 1}
    for server in ("caddy", "gtlsserver"):
        for way in FEW:
            if way.server == server and way.client not in alone:
                assert CATALOG[way.client].stores_bodies


def test_a_tunnel_has_both_ends() -> None:
    """Its far end is never met by a client; planning the near end alone is refused."""
    for way in (way for way in EVERY if way.through):
        names = [one.proxy for one in way.through]
        wanted = CATALOG[names[0]].next_proxy
        assert names[1:] == ([wanted] if wanted else [])
    alone = Way("curl", "3", "nginx", (Through("envoy-tunnel", "3"),))
    (found,) = role_checks.role_mistakes(CATALOG, alone.document(1000))
    assert found.path == ("roles", "proxies", 0, "implementation")
    assert found.reason == "envoy-tunnel needs envoy-masque as the next proxy"


def test_a_server_that_a_proxy_cannot_ask_is_refused() -> None:
    """In the versions that its recipe names, and in no other."""
    for version, refused in (("1.1", False), ("2", True), ("3", True)):
        way = Way("curl", "3", "envoy", (Through("caddy", version),))
        found = [one.path for one in role_checks.role_mistakes(CATALOG, way.document(1000))]
        assert found == [("roles", "server", "implementation")] * refused
        assert (way in EVERY) is not refused


def test_a_way_is_told_in_one_line() -> None:
    """In the order in which a request takes it."""
    assert PROXIED.title() == "curl -> HTTP/3 -> haproxy -> HTTP/1.1 -> nginx"


def test_without_counterparts_there_is_nothing_to_try() -> None:
    """A client alone meets nobody."""
    assert pairings.few([CATALOG["curl"]]) == pairings.every([CATALOG["curl"]]) == []


@pytest.mark.parametrize("name", sorted(CATALOG.recipes))
def test_whatever_a_recipe_does_not_declare_is_refused(name: str) -> None:
    """With a reason; and there is always something."""
    found = refusals(CATALOG, CATALOG[name])
    assert {refusal.role for refusal in found} == set(CATALOG[name].roles)
    assert [refusal for refusal in found if not refusal.passed] == []


def test_refusals_are_of_what_is_undeclared_only() -> None:
    """Curl can do rounds, but not of several files at once."""
    asked = {refusal.asked for refusal in refusals(CATALOG, CATALOG["curl"])}
    assert asked == {"parallel rounds", "resumed", "early data", "a knob that it has not"}
