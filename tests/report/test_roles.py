"""Who takes part, in words: proxies behind a factor, routers, competitors, knobs."""

from __future__ import annotations

import tomllib
from typing import Any

from httpbed.report import levels, network, roles

DOCUMENT: dict[str, Any] = tomllib.loads("""
[factors]
loss = ["0 %", "4 %"]
rate = ["10 Mbit/s", "20 Mbit/s"]
sender = ["cubic", "bbr"]
[factors.path]
direct = []
envoy = [{ implementation = "envoy", http_version = "1.1", congestion_control = "fixed" }]

[topology]
hosts = ["client", "proxy", "server", "rival"]
[[topology.links]]
between = ["client", "proxy"]
loss = { factor = "loss" }
rate = { factor = "rate" }
[[topology.links]]
between = ["proxy", "server"]
rate = { factor = "rate" }

[roles]
proxies = { factor = "path" }
[roles.client]
implementation = "curl"
http_version = "3"
[roles.server]
implementation = "nginx"
congestion_control = { factor = "sender" }
knobs = { quic_gso = "on" }

[workload]
kind = "download"
size = "1 MB"
files = 20

[[competitors]]
after = "1 s"
client = { implementation = "curl", http_version = "2", host = "rival" }
server = { implementation = "nginx", host = "server" }
""")


def test_every_host_has_its_roles() -> None:
    """With all that a factor may put there, and what is fixed told as such."""
    texts = {host: list(map(str, there)) for host, there in roles.roles(DOCUMENT).items()}
    assert texts == {
        "client": ["client: curl, HTTP/3"],
        "proxy": ["proxy: none | envoy, fixed by the program, HTTP/1.1"],
        "server": [
            "server: nginx, cubic | bbr, quic gso on",
            "competitor-1-server: nginx",
        ],
        "rival": ["competitor-1-client: curl, HTTP/2, after 1 s"],
    }


def test_the_workload_is_described_with_its_other_values_than_defaults() -> None:
    """One file over one connection needs no words."""
    assert roles.workload(DOCUMENT) == "download of 1 MB, 20 files at once"
    alone = {**DOCUMENT, "workload": {"kind": "download", "size": "0 B", "rounds": 5}}
    assert roles.workload(alone) == "download of 0 B, 5 rounds"


def test_a_condition_names_the_link_that_it_is_about() -> None:
    """Where there are several, and it is not about all of them."""
    texts = network.condition(DOCUMENT, {"loss": "4 %", "rate": "10 Mbit/s"})
    assert texts == "4 % loss on client-proxy, 10 Mbit/s"


def test_a_chain_without_proxies_is_called_none() -> None:
    """In the legend of what the levels stand for."""
    (legend,) = levels.legends(DOCUMENT)
    assert dict(legend.levels)["direct"] == "none"
