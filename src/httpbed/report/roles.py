"""Roles, workload and hand-overs in words, as the experiment file has them, factors included."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from httpbed.experiment.document import is_reference
from httpbed.experiment.roles import FIXED
from httpbed.experiment.scenario import competitor_prefix
from httpbed.report.phrasing import title

Document = Mapping[str, Any]

NONE = "none"
_PAGES = (("name", "page {}"), ("har", "page recorded in {}"))


@dataclass(frozen=True)
class HostedRole:
    """A role on a host."""

    name: str
    """``client``, ``proxy`` or ``server``; those of competitors with a prefix."""
    kind: Literal["client", "proxy", "server"]
    text: str
    """Its programs and settings, such as ``nginx, cubic``."""

    def __str__(self) -> str:
        return f"{self.name}: {self.text}"


def roles(document: Document) -> dict[str, list[HostedRole]]:
    """Describe the roles on each host."""
    by_host: dict[str, list[HostedRole]] = {}
    for host, role in _all_roles(document):
        by_host.setdefault(host, []).append(role)
    return by_host


def value_text(document: Document, value: object) -> str:
    """Write a value of the document, or all levels of its factor."""
    if is_reference(value) and isinstance(value, Mapping):
        return " | ".join(document.get("factors", {}).get(value["factor"], ("?",)))
    return str(value)


def workload(document: Document) -> str:
    """Describe the workload: ``download of 1 MB, 20 files at once over 1 connection``.

    A page load is described as ``page of 64 images of 10 kB each, cold``.
    """
    return _fetched(document, document.get("workload", {}))


def competitors(document: Document) -> list[str]:
    """Describe each competitor: programs, hosts, workload and start."""
    return [
        value_text(document, one) if is_reference(one) else _competitor(document, _table(one))
        for one in _list(document, "competitors")
    ]


def _competitor(document: Document, node: Document) -> str:
    client, server = _table(node.get("client")), _table(node.get("server"))
    asks = f"{_role(document, client)} on {_host(client, 'client')}"
    answers = f"{_role(document, server)} on {_host(server, 'server')}"
    what = _fetched(document, node["workload"]) if "workload" in node else "the same workload"
    after = value_text(document, node.get("after", "0 s"))
    begins = "together with the client" if after == "0 s" else f"{after} after the client"
    return f"{asks}, from {answers}: {what}, beginning {begins}"


def _fetched(document: Document, node: Any) -> str:
    if is_reference(node):
        return value_text(document, node)
    if _table(node).get("kind") == "page":
        return _page(document, node)
    text = f"{node.get('kind', '?')} of {value_text(document, node.get('size', '?'))}"
    forms = {
        "files": "{} files" if "interval" in node else "{} files at once",
        "wave": "{} together",
        "interval": "every {}" if "wave" in node else "one every {}",
        "connections": "over at most {} connection(s)",
        "rounds": "{} rounds",
        "resumption": "resumption {}",
    }
    more = [
        form.format(value_text(document, node[key])) for key, form in forms.items() if key in node
    ]
    return ", ".join([text, *more])


def _page(document: Document, node: Document) -> str:
    page = node.get("page", "?")
    if is_reference(page) or not isinstance(page, Mapping):
        which = f"page {value_text(document, page)}"
    elif "objects" in page or "size" in page:
        count, size = (value_text(document, page.get(key, "?")) for key in ("objects", "size"))
        which = f"page of {count} images of {size} each"
    else:
        found = (
            form.format(value_text(document, page[key])) for key, form in _PAGES if key in page
        )
        which = next(found, "page")
    forms = {
        "viewport": "viewport {}",
        "device": "on {}",
    }
    view = [
        form.format(value_text(document, node[key])) for key, form in forms.items() if key in node
    ]
    return ", ".join([which, value_text(document, node.get("visit", "cold")), *view])


def _all_roles(document: Document) -> Iterator[tuple[str, HostedRole]]:
    yield from _of_alternatives(document)
    for number, competitor in enumerate(_list(document, "competitors"), start=1):
        table = _table(competitor)
        after = f", after {value_text(document, table['after'])}" if "after" in table else ""
        for host, role in _of_roles(document, table, competitor_prefix(number)):
            late = after if role.kind == "client" else ""
            yield host, replace(role, text=role.text + late)


def _of_alternatives(document: Document) -> Iterator[tuple[str, HostedRole]]:
    """Describe the roles on each host; a factor may stand for all roles together."""
    alternatives = _alternatives(document, document.get("roles"))
    places = [
        {(host, role.name): role for host, role in _of_roles(document, _table(roles), "")}
        for roles in alternatives
    ]
    for place in dict.fromkeys(place for roles in places for place in roles):
        there = [roles.get(place) for roles in places]
        texts = dict.fromkeys(role.text if role else NONE for role in there)
        first = next(role for role in there if role)
        yield place[0], replace(first, text=" or ".join(texts))


def _of_roles(document: Document, roles: Document, prefix: str) -> Iterator[tuple[str, HostedRole]]:
    client, server = _table(roles.get("client")), _table(roles.get("server"))
    client_text, server_text = _role(document, client), _role(document, server)
    yield _host(client, "client"), HostedRole(f"{prefix}client", "client", client_text)
    yield from _proxies(document, roles.get("proxies", ()), prefix)
    for host in (_host(server, "server"), *server.get("also_on", ())):
        yield host, HostedRole(f"{prefix}server", "server", server_text)


def _proxies(document: Document, node: object, prefix: str) -> Iterator[tuple[str, HostedRole]]:
    """Describe each proxy's host, in each of the chains that a factor may stand for."""
    chains = [_chain(alternative) for alternative in _alternatives(document, node)]
    for host in dict.fromkeys(host for chain in chains for host in chain):
        there = [chain.get(host) for chain in chains]
        texts = [NONE if role is None else _role(document, role) for role in there]
        text = " | ".join(dict.fromkeys(texts))
        yield host, HostedRole(f"{prefix}proxy", "proxy", text)


def _chain(proxies: object) -> dict[str, Document]:
    named = proxies if isinstance(proxies, list) else []
    alone = len(named) == 1
    return {
        _host(_table(proxy), "proxy" if alone else f"proxy{number}"): _table(proxy)
        for number, proxy in enumerate(named, start=1)
    }


def _alternatives(document: Document, node: object) -> list[object]:
    """List what a node may be."""
    if not (is_reference(node) and isinstance(node, Mapping)):
        return [node]
    levels = document.get("factors", {}).get(node["factor"], [])
    return list(levels.values()) if isinstance(levels, Mapping) else list(levels)


def _role(document: Document, role: Document) -> str:
    if is_reference(role):
        return value_text(document, role)
    parts = [value_text(document, role.get("implementation", "?"))]
    if "congestion_control" in role:
        control = value_text(document, role["congestion_control"])
        parts.append("fixed by the program" if control == FIXED else control)
    if "http_version" in role:
        parts.append(f"HTTP/{value_text(document, role['http_version'])}")
    knobs = _table(role.get("knobs")).items()
    return ", ".join(
        [*parts, *(f"{title(name)} {value_text(document, value)}" for name, value in knobs)]
    )


def _host(role: Document, name: str) -> str:
    return str(role.get("host") or name)


def _list(document: Document, key: str) -> list[object]:
    """Return the longest of the lists that a key may stand for."""
    lists = [
        alternative
        for alternative in _alternatives(document, document.get(key, []))
        if isinstance(alternative, list)
    ]
    return max(lists, key=len, default=[])


def _table(node: object) -> Document:
    return node if isinstance(node, Mapping) else {}


_WHEN = {"delivered": "after {}", "at": "at {}", "every": "every {}"}


def handover_line(document: Document) -> str:
    """Describe the hand-over in one line; return an empty string where there is none."""
    handover = document.get("handover")
    if is_reference(handover) and isinstance(handover, Mapping):
        return f"{title(handover['factor'])} {value_text(document, handover)}"
    return handover_sentence(document, handover) if isinstance(handover, Mapping) else ""


def handover_facts(document: Document) -> list[tuple[str, str]]:
    """Describe the hand-over, and explain each level where a factor stands for it."""
    handover = document.get("handover")
    if not (is_reference(handover) and isinstance(handover, Mapping)):
        return [("hand-over", handover_line(document))]
    factor = handover["factor"]
    levels = document.get("factors", {}).get(factor, {})
    tables = levels if isinstance(levels, Mapping) else {}
    return [
        (f"{title(factor)} {level}", handover_sentence(document, value))
        for level, value in tables.items()
        if isinstance(value, Mapping)
    ]


def handover_sentence(document: Document, node: Document) -> str:
    """Describe a table ``handover``, with each kind of a list."""
    kinds = _levels(document, node.get("kind", "?"))
    texts = dict.fromkeys(_of_kind(document, {**node, "kind": kind}) for kind in kinds)
    return " | ".join(texts)


def _of_kind(document: Document, node: Document) -> str:
    kind = node["kind"]
    names = [str(name) for name in node["links"]] if isinstance(node.get("links"), list) else []
    repeated = isinstance(node.get("when"), Mapping) and "every" in node["when"]
    used = "the link in use" if repeated else (names or ["the first link"])[0]
    following = "the next one" if repeated else (names[1:] or ["the next one"])[0]
    form = _FORMS.get(kind)
    what = form.format(used=used, next=following) if form else str(kind)
    texts = [f"{_when(document, node.get('when'))}{what}{_destroyed(document, node)}"]
    texts += _beside(document, node, following if not repeated else ", ".join(names[1:]))
    order = " -> ".join([*names, names[0]]) if repeated and len(names) > 1 else ""
    return "; ".join(texts) + (f" ({order})" if order else "")


_FORMS = {
    "none": "the client stays on {used}",
    "address deleted": "the address of {used} is deleted",
    "make before break": "{next} gets its address and is preferred to {used}",
    "route": "{next} is preferred to {used}, and nothing is deleted",
    "blackhole": "{used} drops everything in both directions, without notice to the client",
    "NAT rebinding": "a NAT at the far end of {used} forgets: what the client sends then has"
    " another source port",
}


def _when(document: Document, node: object) -> str:
    if is_reference(node):
        return f"{value_text(document, node)}: "
    if not isinstance(node, Mapping):
        return ""
    forms = (
        form.format(value_text(document, node[key])) for key, form in _WHEN.items() if key in node
    )
    return " ".join([*forms, ""])


def _destroyed(document: Document, node: Document) -> str:
    """Describe what the operating system does to TCP sockets when it deletes their address."""
    if node["kind"] != "address deleted":
        return ""
    return f" and its TCP sockets are {value_text(document, node.get('sockets', 'kept'))}"


def _beside(document: Document, node: Document, others: str) -> Iterator[str]:
    """Describe the other links, and what happens later."""
    kind = node["kind"]
    if kind == "make before break":
        later, sockets = (
            value_text(document, node.get(key, "?")) for key in ("overlap", "sockets")
        )
        kept = f", and its TCP sockets are {sockets}" if sockets != "?" else ""
        yield f"the old address is deleted {later} later{kept}"
    elif "gap" in node and kind != "none":
        yield f"{others} has no address until {value_text(document, node['gap'])} later"
    elif kind != "NAT rebinding" and others and others != "the next one":
        yield f"{others} is up all along"


def _levels(document: Document, node: object) -> list[str]:
    if is_reference(node) and isinstance(node, Mapping):
        return [str(level) for level in document.get("factors", {}).get(node["factor"], ("?",))]
    return [str(node)]
