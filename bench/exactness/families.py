"""Families of trials: every program in every role and HTTP version, page loads, hand-overs.

A family is an experiment whose treatments differ in one factor, so that one campaign runs them all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from httpbed.addons.interop import pairings
from httpbed.addons.interop.pairings import Pairing, Promise
from httpbed.programs.recipe import Recipe

SEED = 20261123
LOSSY = {"rate": "10 Mbit/s", "delay": "25 ms", "loss": "4 %"}
CLEAN = {"rate": "10 Mbit/s", "delay": "25 ms"}
FAST = {"rate": "1 Gbit/s"}
"""Between proxies and behind them."""
DOWNLOAD = {"kind": "download", "size": "100 kB"}
LONGER = {"kind": "download", "size": "1 MB"}
SMALL_PAGE = {"objects": 8, "size": "10 kB"}
WAYS = (
    ("direct", ("client", "server")),
    ("proxies", ("client", "proxy", "server")),
    ("tunnels", ("client", "proxy1", "proxy2", "server")),
)
"""Families of downloads by their number of proxies, with their hosts."""
BROWSER, SERVER = "chromium-headless-shell", "nginx"
ACCESS = ("wifi", "cellular")
VISITS = ("warm connection", "repeat view", "resumed", "early data", "discovery")
_AFTER = {"delivered": "300 kB"}
HANDOVERS: Mapping[str, Mapping[str, Any]] = {
    "address deleted": {"when": _AFTER, "sockets": "destroyed"},
    "make before break": {"when": _AFTER, "overlap": "1 s", "sockets": "destroyed"},
    "route": {"when": _AFTER},
    "blackhole": {"when": _AFTER},
    "NAT rebinding": {"when": _AFTER},
}
FOLLOWING = {
    f"{name} -> HTTP/{version}{after}": {"implementation": name, "http_version": version, **more}
    for name, version, after, more in (
        ("httpbed-quiche", "3", "", {}),
        ("aioquic", "3", "", {}),
        ("curl", "3", ", again", {"retry": "restart"}),
        ("curl", "2", ", resumed", {"retry": "resume"}),
    )
}
"""Clients that migrate, or try again."""
SILENT = {"kind": ["blackhole"], "client": ["aioquic -> HTTP/3"]}


@dataclass(frozen=True)
class Family:
    """An experiment of trials to repeat; the levels of its factors name them."""

    name: str
    document: Mapping[str, Any]
    promises: Mapping[str, tuple[Promise, ...]] = field(default_factory=dict)
    """Roles and HTTP versions in which a trial uses programs, for a table of them."""


def downloads(recipes: Sequence[Recipe]) -> Iterator[Family]:
    """Yield a download for every role and HTTP version of every program."""
    few = pairings.covering(recipes)
    for proxies, (name, hosts) in enumerate(WAYS):
        found = {pairing.title(): pairing for pairing in few if len(pairing.proxies) == proxies}
        promises = {title: tuple(one.promises()) for title, one in found.items()}
        programs = {title: _roles(one) for title, one in found.items()}
        yield Family(name, _document(name, hosts, programs, DOWNLOAD), promises)


def pages(recipes: Sequence[Recipe], page: Any) -> Iterator[Family]:
    """Yield page loads by every browser, from every server, through every proxy, on every visit."""
    load, few = {"kind": "page", "page": page}, pairings.covering(recipes)
    loading = [recipe for recipe in recipes if "page" in recipe.workloads]
    browsers = [recipe for recipe in loading if "client" in recipe.roles]
    servers = [recipe for recipe in loading if "server" in recipe.roles]
    direct = [
        Pairing(browser.name, version, SERVER)
        for browser in browsers
        for version in browser.http_versions
    ]
    direct += [
        Pairing(BROWSER, "3", server.name) for server in servers if "3" in server.http_versions
    ]
    proxied = [replace(pairing, client=BROWSER) for pairing in few if pairing.http_version == "3"]
    for name, hosts, several in (
        ("pages", WAYS[0][1], direct),
        (
            "pages through proxies",
            WAYS[1][1],
            [pairing for pairing in proxied if len(pairing.proxies) == 1],
        ),
    ):
        yield Family(
            name,
            _document(name, hosts, {pairing.title(): _roles(pairing) for pairing in several}, load),
        )
    visited = _document("visits", WAYS[0][1], {}, {**load, "visit": {"factor": "visit"}})
    roles = _roles(Pairing(BROWSER, "3", SERVER))
    yield Family("visits", {**visited, "factors": {"visit": [*VISITS]}, "roles": roles})


def handovers() -> Family:
    """Return every kind of hand-over with every kind of client that goes on after it."""
    links = [{"name": name, "between": ["client", "router"], **CLEAN} for name in ACCESS]
    links.append({"between": ["router", "server"], **FAST})
    kinds = {
        kind: {"kind": kind, "links": [*ACCESS], **settings} for kind, settings in HANDOVERS.items()
    }
    document = {
        **_document("hand-overs", (), {}, LONGER),
        "factors": {"kind": kinds, "client": FOLLOWING},
        "exclude": [{"levels": SILENT, "reason": "aioquic waits for the old path until the end"}],
        "roles": {"client": {"factor": "client"}, "server": {"implementation": SERVER}},
        "topology": {"hosts": ["client", "router", "server"], "links": links},
        "handover": {"factor": "kind"},
    }
    return Family("hand-overs", document)


def only(family: Family, word: str) -> Family | None:
    """Return the trials of a family with a word in the name of a level; None if there are none."""
    for name, levels in family.document["factors"].items():
        if kept := [level for level in levels if word in level]:
            return _with_levels(family, name, kept)
    return None


def _with_levels(family: Family, factor: str, kept: Sequence[str]) -> Family:
    """Return the trials at some levels of a factor, without exclusions of other levels."""
    document = dict(family.document)
    levels = document["factors"][factor]
    left = {one: levels[one] for one in kept} if isinstance(levels, Mapping) else [*kept]
    document["factors"] = {**document["factors"], factor: left}
    excluded = document.pop("exclude", [])
    if still := [one for one in excluded if {*one["levels"].get(factor, kept)} & {*kept}]:
        document["exclude"] = still
    return replace(family, document=document)


def _document(
    name: str, hosts: Sequence[str], programs: Mapping[str, Any], workload: Mapping[str, Any]
) -> dict[str, Any]:
    """Return an experiment in virtual time, with a lossy link at the client."""
    rest = [LOSSY, *[FAST] * (len(hosts) - 2)]
    links = [
        {"between": list(ends), **link} for ends, link in zip(pairwise(hosts), rest, strict=False)
    ]
    return {
        "schema": 1,
        "name": name.replace(" ", "-"),
        "question": "Does a trial in virtual time give the same bytes again?",
        "replicates": 1,
        "seed": SEED,
        "time_limit": "60 s",
        "clock": "virtual",
        "factors": {"programs": programs},
        "topology": {"hosts": list(hosts), "links": links},
        "roles": {"factor": "programs"},
        "workload": dict(workload),
    }


def _roles(pairing: Pairing) -> dict[str, Any]:
    roles: dict[str, Any] = pairing.document(size=1)["roles"]
    return roles
