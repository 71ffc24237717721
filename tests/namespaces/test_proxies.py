"""Every proxy for real: in each HTTP version on both sides, in a chain, over several servers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from httpbed.experiment.trial import Record
from httpbed.programs import catalog
from httpbed.store import campaign as campaigns
from real_runs import check, counting, httpbed

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]

CATALOG = catalog.load()
TUNNELS = ("envoy-tunnel", "envoy-masque")
PROXIES = [n for n, r in CATALOG.recipes.items() if "proxy" in r.roles and n not in TUNNELS]
IN_CI = ("nginx", "envoy", "haproxy")
IN_THE_NIGHT = [pytest.param(n, marks=pytest.mark.slow) for n in PROXIES if n not in IN_CI]
EXPERIMENT = """
schema = 1
name = "passed-on"
question = "Does what a proxy passes on arrive?"
replicates = 1
seed = 3

[factors]
http_version = {versions}
[factors.path]
{paths}

[topology]
hosts = {hosts}
ip_version = "{ip}"
{links}
[roles]
proxies = {{ factor = "path" }}
[roles.client]
implementation = "curl"
http_version = {{ factor = "http_version" }}
[roles.server]
implementation = "{server}"
also_on = {others}

[workload]
kind = "download"
size = "100 kB"
files = 4
"""

Hop = tuple[str, str]
"""A proxy, and what it speaks upstream."""


@dataclass(frozen=True)
class Line:
    """Ways over hosts in line; the servers are all behind the last proxy."""

    hosts: Sequence[str]
    paths: Sequence[Sequence[Hop]]
    versions: Sequence[str] = ("1.1", "2", "3")
    server: str = "nginx"
    ip: str = "4"

    def text(self) -> str:
        """Write the experiment file."""
        line = [host for host in self.hosts if not host.startswith("server")]
        servers = [host for host in self.hosts if host.startswith("server")]
        pairs = [*pairwise(line), *((line[-1], host) for host in servers)]
        ways = [
            [
                {"implementation": name, "http_version": spoken, "host": host}
                for (name, spoken), host in zip(path, line[1:], strict=True)
            ]
            for path in self.paths
        ]
        return EXPERIMENT.format(
            versions=json.dumps(self.versions),
            paths="\n".join(f"way{number} = {_toml(way)}" for number, way in enumerate(ways)),
            hosts=json.dumps(self.hosts),
            ip=self.ip,
            links="".join(f'[[topology.links]]\nbetween = ["{a}", "{b}"]\n' for a, b in pairs),
            server=self.server,
            others=json.dumps(servers[1:]),
        )

    def run(self, folder: Path) -> list[Record]:
        """Run each way in every HTTP version of the client's; return the attempts that count."""
        (folder / "passed.toml").write_text(self.text())
        done = httpbed("run", folder / "passed.toml", "-o", folder / "campaign")
        assert done.returncode == 0, done.stderr
        return counting(campaigns.open_existing(folder / "campaign").records())


def _toml(path: Sequence[dict[str, str]]) -> str:
    tables = [", ".join(f'{key} = "{value}"' for key, value in one.items()) for one in path]
    return "[" + ", ".join(f"{{ {table} }}" for table in tables) + "]"


def wrong(record: Record) -> list[tuple[Any, str, str]]:
    """List the checks of an attempt that did not pass, unless nothing could be observed."""
    levels = dict(record.attempt.trial.levels)
    broken = [one for one in record.attempt.checks if one.passed is False]
    return [(levels, one.name, one.figure) for one in broken]


@pytest.mark.parametrize("name", [*IN_CI, *IN_THE_NIGHT])
def test_a_proxy_speaks_every_version_on_both_sides(name: str, tmp_path: Path) -> None:
    """Curl fetches four files in parallel without a retry, a reset or another version."""
    spoken = CATALOG[name].upstream_http_versions
    paths = [[(name, version)] for version in spoken]
    found = Line(["client", "proxy", "server"], paths).run(tmp_path)
    assert [said for record in found for said in wrong(record)] == []
    assert len(found) == 3 * len(spoken)


def test_envoy_is_a_server_behind_a_chain_over_ipv6(tmp_path: Path) -> None:
    """Two proxies of different makers forward to Envoy, which serves its own files."""
    chain = [("haproxy", "2"), ("envoy", "3")]
    hosts = ["client", "proxy1", "proxy2", "server"]
    found = Line(hosts, [chain], server="envoy", ip="6").run(tmp_path)
    assert [said for record in found for said in wrong(record)] == []
    for record in found:
        assert check(record, "protocol used, proxy-2->server").figure.startswith(
            "4 request(s) HTTP/3"
        )


@pytest.mark.parametrize("name", [*IN_CI, pytest.param("caddy", marks=pytest.mark.slow)])
def test_the_last_proxy_shares_among_servers(name: str, tmp_path: Path) -> None:
    """The servers' logs show two of four requests each."""
    hosts = ["client", "proxy", "server", "server2"]
    found = Line(hosts, [[(name, "1.1")]], versions=["2"]).run(tmp_path)
    assert [said for record in found for said in wrong(record)] == []
    home = campaigns.open_existing(tmp_path / "campaign").artifacts(found[0].attempt)
    logs = [home / part / "nginx-access.jsonl" for part in ("server", "server-2")]
    assert [len(log.read_text().splitlines()) for log in logs] == [2, 2]


@pytest.mark.parametrize("spoken", ["2", "3"])
def test_a_tunnel_carries_http_3_from_end_to_end(spoken: str, tmp_path: Path) -> None:
    """The server sees the client's own connection and answers every request itself."""
    hosts = ["client", "proxy1", "proxy2", "server"]
    path = [(TUNNELS[0], spoken), (TUNNELS[1], "3")]
    found = Line(hosts, [path], versions=["3"]).run(tmp_path)
    assert [said for record in found for said in wrong(record)] == []
    home = campaigns.open_existing(tmp_path / "campaign").artifacts(found[0].attempt)
    tunnels = (home / "proxy-2/envoy-access.jsonl").read_text().splitlines()
    assert [json.loads(line)["protocol"] for line in tunnels] == [f"HTTP/{spoken}"]
