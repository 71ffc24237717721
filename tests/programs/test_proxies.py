"""Proxies: what they log of broken responses, and which upstreams their configuration names."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from httpbed.bed.network import network_plan
from httpbed.experiment.scenario import Scenario
from httpbed.programs import catalog, parsers
from httpbed.trial.plan import plan_parts
from recorded import FOLDER

CATALOG = catalog.load()
GOLDEN = Path(__file__).parents[1] / "golden"

CLEAN = [(version, 200, "") for version in ("1.1", "2", "3")]
"""Number of clean responses at the beginning of each log.

After them the server died during a response, once over each version, then the client left in the
same way, and at last there was no server. Traefik's has neither over HTTP/3."""
FLAGS = {
    "envoy-1.40.0": ["UC", "UC", "UC", "DC", "DR", "incomplete", "UF"],
    "haproxy-3.2.26": ["SD", "SD", "SD", "CD", "CD", "CD", "SC"],
    "nginx-1.30.6": [*["incomplete"] * 6, ""],
    "caddy-2.11.7": [*["incomplete"] * 3, "", *["incomplete"] * 2, ""],
    "traefik-3.7.15": [*["incomplete"] * 4, ""],
}
READERS = {"caddy-2.11.7": "caddy-json", "traefik-3.7.15": "traefik-json"}


@pytest.mark.parametrize("name", FLAGS)
def test_a_broken_response_always_has_a_flag(name: str) -> None:
    """The proxy's own flag shows it or, without one, the response's length."""
    read = partial(parsers.read, READERS.get(name, "access-log-json"))
    parsed = read(FOLDER / name / "proxy.jsonl").requests
    reported = [(request.http_version, request.status, request.flags) for request in parsed]
    assert reported[:3] == CLEAN
    assert [flags for _, _, flags in reported[3:]] == FLAGS[name]
    assert all(flags or status != 200 for _, status, flags in reported[3:])
    assert {request.attempts for request in parsed} <= {1, None}


@pytest.mark.parametrize("name", ["envoy-1.40.0", "haproxy-3.2.26", "caddy-2.11.7"])
def test_the_upstream_version_is_read(name: str) -> None:
    """Nginx does not log it; the upstream server does."""
    read = partial(parsers.read, READERS.get(name, "access-log-json"))
    parsed = read(FOLDER / name / "proxy.jsonl").requests
    assert [request.upstream_http_version for request in parsed[:3]] == ["2", "2", "2"]
    assert {request.tls_version for request in parsed} == {"TLSv1.3"}


def test_envoys_log_as_a_server_has_no_failed_attempts() -> None:
    """Envoy's own file server sent files, an empty and a missing one among them."""
    parsed = parsers.read("access-log-json", FOLDER / "envoy-1.40.0/server.jsonl").requests
    reported = [
        (request.http_version, request.status, request.body_bytes) for request in parsed[:6]
    ]
    assert reported == [(v, 200, size) for v in ("1.1", "2", "3") for size in (0, 10**6)]
    assert parsed[6].status == 404
    assert {request.flags for request in parsed} == {""}


def test_tunnels_are_not_requests(tmp_path: Path) -> None:
    """Tunnels carry encrypted requests; only a refused tunnel is a complaint."""
    read, opened = partial(parsers.read, "connect-udp-json"), FOLDER / "envoy-1.40.0/tunnels.jsonl"
    assert read(opened).requests == ()
    assert read(opened).complaint == ""
    refused = tmp_path / "log"
    refused.write_text(opened.read_text().replace('"status":200', '"status":403'))
    assert read(refused).complaint == "a tunnel was refused with status 403"


def scenario(proxies: list[dict[str, str]], links: list[tuple[str, str]], version: str) -> Scenario:
    """Return a scenario with these proxies, and a server on every host named so."""
    hosts = list(dict.fromkeys(host for link in links for host in link))
    servers = [host for host in hosts if host.startswith("server")]
    return Scenario.model_validate(
        {
            "topology": {
                "hosts": hosts,
                "ip_version": version,
                "links": [{"between": list(link)} for link in links],
            },
            "roles": {
                "client": {"implementation": "curl", "http_version": "3"},
                "proxies": proxies,
                "server": {"implementation": "nginx", "also_on": servers[1:]},
            },
            "workload": {"kind": "download", "size": "1 MB"},
        }
    )


def files(described: Scenario, name: str) -> str:
    """Return the files that an experiment's plan writes for a part."""
    net = network_plan.plan(described.topology, {}, 1, 1)
    part = plan_parts(described, CATALOG, net, 60.0)[name]
    role = next(role for one, role, _ in described.parts() if one == name)
    written = CATALOG[role.implementation].plan(part).files
    return "".join(f"# {file}\n{text}" for file, text in written.items())


BALANCED = [("client", "proxy"), ("proxy", "server"), ("proxy", "server2")]
CHAINED = [("client", "proxy1"), ("proxy1", "proxy2"), ("proxy2", "server")]


def test_the_files_of_a_balancing_proxy_are_as_reviewed() -> None:
    """HAProxy balances over two servers with IPv6 addresses."""
    requested = scenario([{"implementation": "haproxy", "http_version": "2"}], BALANCED, "6")
    assert files(requested, "proxy") == (GOLDEN / "haproxy-balances.cfg").read_text()


def test_the_files_of_a_proxy_chain_are_as_reviewed() -> None:
    """The first Envoy sends its requests to the second over HTTP/3, under the server's name."""
    both = [{"implementation": "envoy", "http_version": version} for version in ("3", "1.1")]
    requested = scenario(both, CHAINED, "4")
    assert files(requested, "proxy-1") == (GOLDEN / "envoy-in-a-chain.yaml").read_text()


@pytest.mark.parametrize("name", [n for n, r in CATALOG.recipes.items() if "proxy" in r.roles])
def test_every_proxy_knows_all_servers(name: str) -> None:
    """Each server is named once, in brackets or quotes where IPv6 needs them."""
    version = CATALOG[name].upstream_http_versions[0]
    requested = scenario([{"implementation": name, "http_version": version}], BALANCED, "6")
    written = files(requested, "proxy")
    for link in (1, 2):
        assert written.count(f"fd77:0:0:{link}::2") == 1
