"""Which programs run together: for every promise once, or all combinations."""

from __future__ import annotations

import itertools

import pytest

from httpbed.addons.interop import interop_session, pairings
from httpbed.addons.interop.interop_session import MISSING, UNTRUSTED, refusal_tests
from httpbed.addons.interop.pairings import Pairing, Promise, ProxyHop
from httpbed.experiment.scenario import Scenario
from httpbed.programs import catalog, role_checks
from undeclared_uses import refusals

CATALOG = catalog.load()
RECIPES = list(CATALOG.recipes.values())
CLIENTS = [one for one in RECIPES if "client" in one.roles and "download" in one.workloads]
"""A pairing downloads a file, which not every browser does."""
FEW, EVERY = pairings.covering(RECIPES), pairings.every(RECIPES)
PROXIED = Pairing("curl", "3", "nginx", (ProxyHop("haproxy", "1.1"),))


def test_every_promise_is_in_a_pairing() -> None:
    """Each client, server and proxy occurs in each of its HTTP versions."""
    asked = {(pairing.client, pairing.http_version) for pairing in FEW}
    answered = {(pairing.server, pairing.http_version) for pairing in FEW if not pairing.proxies}
    met = {(pairing.proxies[0], pairing.http_version) for pairing in FEW if pairing.proxies}
    behind = {recipe.next_proxy for recipe in RECIPES}
    for recipe in RECIPES:
        spoken = {(recipe.name, version) for version in recipe.http_versions}
        assert recipe not in CLIENTS or spoken <= asked
        assert "server" not in recipe.roles or spoken <= answered
        if "proxy" in recipe.roles and recipe.name not in behind:
            for pair in itertools.product(recipe.upstream_http_versions, recipe.http_versions):
                assert (ProxyHop(recipe.name, pair[0]), pair[1]) in met
    assert len(FEW) == len(set(FEW))


def test_few_pairings_check_every_promise_that_has_a_counterpart() -> None:
    """With an HTTP/3 server only, HTTP/1.1 and HTTP/2 of a client stay unchecked."""
    assert pairings.promises(RECIPES) == pairings.checked(FEW)
    alone = [CATALOG[name] for name in ("curl", "gtlsserver")]
    left = pairings.promises(alone) - pairings.checked(pairings.covering(alone))
    assert left == {Promise("curl", "client", "1.1"), Promise("curl", "client", "2")}


def test_every_client_has_a_refusal_test() -> None:
    """Except one that verifies nothing and fetches one file only."""
    asked = {test.pairing.client: test.what for test in refusal_tests(RECIPES, FEW)}
    assert set(asked) == {client.name for client in CLIENTS} - {"hq"}
    assert {name for name, what in asked.items() if what == MISSING} == {"gtlsclient", "h2load"}
    assert set(asked.values()) == {MISSING, UNTRUSTED}
    for test in refusal_tests(RECIPES, FEW):
        Scenario.model_validate(test.document())
        assert list(role_checks.role_mistakes(CATALOG, test.document())) == []


@pytest.mark.parametrize(
    ("pairing", "words"),
    [
        (Pairing("curl", "1.1", "nginx"), ["parallel", "connections", "rounds"]),
        # Over HTTP/2 curl cannot open several connections to one server.
        (Pairing("curl", "2", "nginx"), ["parallel", "rounds"]),
        (Pairing("aioquic", "3", "nginx"), ["parallel", "rounds", "parallel rounds"]),
        (Pairing("wget", "1.1", "nginx"), []),
        (PROXIED, []),
    ],
    ids=lambda one: one.title() if isinstance(one, Pairing) else "",
)
def test_a_pairing_tries_each_workload_that_both_ends_declare(
    pairing: Pairing, words: list[str]
) -> None:
    """Each is a valid scenario with files that the session makes."""
    assert interop_session._further(CATALOG, pairing) == words
    for word in words:
        document = pairing.document(1000, further=interop_session.FURTHER[word])
        assert word in [*Scenario.model_validate(document).workload.needs()]


def test_few_pairings_are_among_every_pairing() -> None:
    """Every pairing has each client with each server that speaks its version."""
    assert set(FEW) <= set(EVERY)
    direct = {
        (pairing.client, pairing.http_version, pairing.server)
        for pairing in EVERY
        if not pairing.proxies
    }
    servers = [recipe for recipe in RECIPES if "server" in recipe.roles]
    assert len(direct) == sum(
        len(set(client.http_versions) & set(server.http_versions))
        for client, server in itertools.product(CLIENTS, servers)
    )


def test_every_pairing_is_a_valid_scenario() -> None:
    """Each program can take its role."""
    for pairing in EVERY:
        document = pairing.document(1000)
        scenario = Scenario.model_validate(document)
        assert scenario.workload.body_bytes() == 1000
        assert set(scenario.implementations.values()) == pairing.members()
        assert list(role_checks.role_mistakes(CATALOG, document)) == [], pairing.title()


def test_a_server_is_checked_with_a_client_that_stores_bodies() -> None:
    """Another client could not detect a damaged file."""
    alone = {
        pairing.client
        for pairing in FEW
        if sum(pairing.client == other.client for other in FEW) == 1
    }
    for server in ("caddy", "gtlsserver"):
        for pairing in FEW:
            if pairing.server == server and pairing.client not in alone:
                assert CATALOG[pairing.client].stores_bodies


def test_a_tunnel_has_both_ends() -> None:
    """No client connects to its far end; the near end alone is refused."""
    for pairing in (pairing for pairing in EVERY if pairing.proxies):
        names = [proxy.proxy for proxy in pairing.proxies]
        wanted = CATALOG[names[0]].next_proxy
        assert names[1:] == ([wanted] if wanted else [])
    alone = Pairing("curl", "3", "nginx", (ProxyHop("envoy-tunnel", "3"),))
    (found,) = role_checks.role_mistakes(CATALOG, alone.document(1000))
    assert found.at == ("roles", "proxies", 0, "implementation")
    assert found.reason == "envoy-tunnel needs envoy-masque as the next proxy"


def test_a_server_behind_a_proxy_that_cannot_use_it_is_refused() -> None:
    """In the versions that its recipe names, and in no other."""
    for version, refused in (("1.1", False), ("2", True), ("3", True)):
        pairing = Pairing("curl", "3", "envoy", (ProxyHop("caddy", version),))
        found = [
            mistake.at for mistake in role_checks.role_mistakes(CATALOG, pairing.document(1000))
        ]
        assert found == [("roles", "server", "implementation")] * refused
        assert (pairing in EVERY) is not refused


def test_a_pairing_has_a_title_of_one_line() -> None:
    """The programs stand in the order of a request's path."""
    assert PROXIED.title() == "curl -> HTTP/3 -> haproxy -> HTTP/1.1 -> nginx"


def test_a_client_alone_has_no_pairing() -> None:
    """There is no server."""
    assert pairings.covering([CATALOG["curl"]]) == pairings.every([CATALOG["curl"]]) == []


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
