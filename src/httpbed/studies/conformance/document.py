"""The experiment of a conformance test: an ordinary one, whose one factor is the network."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from httpbed.studies.conformance.networks import SIZE, TIME_LIMIT_S, Network
from httpbed.studies.conformance.sender import Sender

FACTOR = "network"


def experiment(sender: Sender, networks: Iterable[Network], *, replicates: int, seed: int) -> str:
    """Write the experiment file for a sender.

    A proxy has its origin behind a link without impairments, so that the shaped one decides.
    """
    levels = "\n".join(
        f'{text(network.name)} = {{ between = ["client", "{sender.role}"], {network.link()} }}'
        for network in networks
    )
    name = f"conformance-{sender.implementation}-{sender.transport}-{sender.judged_as}"
    name = name.replace(".", "-")
    proxied = sender.role == "proxy"
    return f"""\
schema = 1
name = {text(name[:60])}
question = "Does {sender.implementation} send as {sender.judged_as} should?"
replicates = {replicates}
seed = {seed}
time_limit = "{TIME_LIMIT_S} s"

[factors.{FACTOR}]
{levels}

[topology]
hosts = ["client", {'"proxy", ' if proxied else ""}"server"]
links = [{{ factor = "{FACTOR}" }}{', { between = ["proxy", "server"] }' if proxied else ""}]

[roles.client]
implementation = {text(sender.client)}
http_version = "{sender.http_version}"

{answering(sender)}
[workload]
kind = "download"
size = "{SIZE}"
"""


def answering(sender: Sender, place: str = "roles", end: str = "") -> str:
    """Write who answers: the server, or a proxy with its origin; hosts' names end in ``end``.

    The origin does not matter here.
    """
    control = sender.congestion_control
    said = [
        f"implementation = {text(sender.implementation)}",
        f'host = "{sender.role}{end}"',
        *([f"congestion_control = {text(control)}"] if control else []),
        *([f"knobs = {_table(sender.knobs)}"] if sender.knobs else []),
    ]
    own = "\n".join(said)
    if sender.role == "server":
        return f"[{place}.server]\n{own}\n"
    origin = f'[{place}.server]\nimplementation = "nginx"\nhost = "server{end}"\n'
    asks = f'http_version = "{sender.upstream_http_version}"'
    return f"{origin}\n[[{place}.proxies]]\n{own}\n{asks}\n"


def _table(values: Mapping[str, str]) -> str:
    inner = ", ".join(f"{text(name)} = {text(value)}" for name, value in sorted(values.items()))
    return f"{{ {inner} }}"


def text(value: str) -> str:
    """Write a basic string of TOML; JSON's escapes are among its own, but for DEL."""
    return json.dumps(value).replace("\x7f", "\\u007f")
