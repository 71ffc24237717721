"""Who takes part, as the author described it: parts, their hosts and programs, factors and all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from httpbed.model.experiment import is_reference
from httpbed.model.roles import FIXED
from httpbed.report.phrasing import title

Document = Mapping[str, Any]

NONE = "none"


def roles(document: Document) -> dict[str, list[str]]:
    """Say of each host what is on it, such as ``server: nginx, cubic``."""
    found: dict[str, list[str]] = {}
    for host, text in _told(document):
        found.setdefault(host, []).append(text)
    return found


def said(document: Document, value: object) -> str:
    """Write a value of the document, or all levels of the factor that stands for it."""
    if is_reference(value) and isinstance(value, Mapping):
        return " | ".join(document.get("factors", {}).get(value["factor"], ("?",)))
    return str(value)


def workload(document: Document) -> str:
    """Say what is fetched: ``download of 1 MB, 20 files at once over 1 connection``."""
    told = document.get("workload", {})
    if is_reference(told):
        return said(document, told)
    text = f"{told.get('kind', '?')} of {said(document, told.get('size', '?'))}"
    forms = {
        "files": "{} files at once",
        "connections": "over at most {} connection(s)",
        "rounds": "{} rounds",
        "resumption": "resumption {}",
    }
    more = [form.format(said(document, told[key])) for key, form in forms.items() if key in told]
    return ", ".join([text, *more])


def _told(document: Document) -> Iterator[tuple[str, str]]:
    yield from _of_alternatives(document)
    for number, competitor in enumerate(_list(document, "competitors"), start=1):
        table = _table(competitor)
        after = f", after {said(document, table['after'])}" if "after" in table else ""
        for host, text in _of_roles(document, table, f"competitor-{number}-"):
            yield host, text + after * ("-client:" in text)


def _of_alternatives(document: Document) -> Iterator[tuple[str, str]]:
    """Say who is on each host; a factor may stand for all roles together."""
    alternatives = _alternatives(document, document.get("roles"))
    found = [dict(_of_roles(document, _table(roles), "")) for roles in alternatives]
    for host in dict.fromkeys(host for roles in found for host in roles):
        yield host, " or ".join(dict.fromkeys(roles.get(host, NONE) for roles in found))


def _of_roles(document: Document, roles: Document, prefix: str) -> Iterator[tuple[str, str]]:
    client, server = _table(roles.get("client")), _table(roles.get("server"))
    yield _host(client, "client"), f"{prefix}client: {_role(document, client)}"
    yield from _proxies(document, roles.get("proxies", ()), prefix)
    for host in (_host(server, "server"), *server.get("also_on", ())):
        yield host, f"{prefix}server: {_role(document, server)}"


def _proxies(document: Document, node: object, prefix: str) -> Iterator[tuple[str, str]]:
    """Say who is on each proxy's host, in each of the chains that a factor may stand for."""
    chains = [_chain(alternative) for alternative in _alternatives(document, node)]
    for host in dict.fromkeys(host for chain in chains for host in chain):
        there = [chain.get(host) for chain in chains]
        texts = [NONE if role is None else _role(document, role) for role in there]
        yield host, f"{prefix}proxy: {' | '.join(dict.fromkeys(texts))}"


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
        return said(document, role)
    parts = [said(document, role.get("implementation", "?"))]
    if "congestion_control" in role:
        control = said(document, role["congestion_control"])
        parts.append("fixed by the program" if control == FIXED else control)
    if "http_version" in role:
        parts.append(f"HTTP/{said(document, role['http_version'])}")
    knobs = _table(role.get("knobs")).items()
    return ", ".join([*parts, *(f"{title(name)} {said(document, value)}" for name, value in knobs)])


def _host(role: Document, name: str) -> str:
    return str(role.get("host") or name)


def _list(document: Document, key: str) -> list[object]:
    """Return the longest of the lists that a key may stand for."""
    lists = [one for one in _alternatives(document, document.get(key, [])) if isinstance(one, list)]
    return max(lists, key=len, default=[])


def _table(node: object) -> Document:
    return node if isinstance(node, Mapping) else {}
