"""The experiment file of a comparison, as somebody would write it who goes on from there.

What is said once stands where it belongs; what is varied is a factor. There is one network for all
treatments: between client and server lies the host ``proxy``, which forwards where it has no role.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tomlkit
from tomlkit import TOMLDocument
from tomlkit.items import InlineTable, Item, Table

from httpbed.experiment.roles import FIXED
from httpbed.programs.catalog import Catalog
from httpbed.studies.compare.options import NONE, OPTIONS, Option, Wish, program, proxy
from httpbed.studies.compare.senders import Cell, Offer, boxes, skipped

Factors = dict[str, list[str] | dict[str, Any]]
TREATED = ("client", "proxy", "server")
"""Factors that say who takes part, in the order of a cell."""


def experiment(wish: Wish, offered: Mapping[Cell, Offer], catalog: Catalog) -> str:
    """Write the file."""
    factors: Factors = {}
    path = _paths(wish, offered, factors, catalog)
    network = _network(wish, factors)
    workload = {"kind": "download", **_filled(wish, "workload", factors)}
    document = tomlkit.document()
    _head(document, wish)
    if "proxy" in factors:
        document["roles"] = _inline({"factor": "proxy"})
    if factors:
        document["factors"] = _factors(factors, offered)
    if groups := list(_groups(wish, offered, factors)):
        document.add(tomlkit.nl())
        _remark(document, "What is crossed; who has no choice, or no proxy to set, runs once.")
        several = tomlkit.aot()
        several.extend(groups)
        document["groups"] = several
    document["topology"] = network
    if "proxy" not in factors:
        document["roles"] = _tables(path)
    document["workload"] = _tables(workload)
    base = _base(wish, offered, factors)
    document["report"] = _tables({"metric": "request_time"} | ({"base": base} if base else {}))
    return tomlkit.dumps(document)


def _head(document: TOMLDocument, wish: Wish) -> None:
    command = shlex.join(wish.line.words())
    digest = hashlib.sha256(command.encode()).hexdigest()[:6]
    clients = [client.level for client in wish.clients]
    who = " and ".join([", ".join(clients[:-1]), clients[-1]] if clients[1:] else clients)
    asked = f"How do {who} compare" if clients[1:] else f"How fast is {who}"
    size, server = " or ".join(wish.said["size"]), " or ".join(wish.said["server"])
    document.add(tomlkit.comment(f"Written by: {command}"))
    document.add(tomlkit.comment("To go on from here, copy it, change its name and what you like,"))
    document.add(tomlkit.comment("and httpbed run it; httpbed validate lists all mistakes."))
    document["schema"] = 1
    document["name"] = f"compare-{digest}"
    document["question"] = f"{asked} when {size} is fetched from {server}?"
    document["replicates"] = _number(wish.line.replicates)
    document["seed"] = _number(wish.line.seed)


def _paths(
    wish: Wish, offered: Mapping[Cell, Offer], factors: Factors, catalog: Catalog
) -> dict[str, Any]:
    """Say who takes part, and make factors of what is varied, of several ways, too."""
    own = _knobs(wish, factors)
    clients = {
        client.level: {
            "implementation": program(client.name, catalog),
            "http_version": client.http_version,
            **own["client"],
        }
        for client in wish.clients
    }
    servers = {name: program(name, catalog) for name in wish.said["server"]}
    client = _said("client", clients, factors)
    server = {"implementation": _said("server", servers, factors)}
    control = _control(wish, offered, factors)
    direct, behind = {**server, **control, **own["server"]}, {**server, **own["server"]}
    paths: dict[str, dict[str, Any]] = {}
    for way in wish.said["proxy"]:
        if way == NONE:
            paths[way] = {"client": client, "server": direct}
            continue
        name, version = proxy(way, catalog)
        between = {"implementation": name, "http_version": version, **control, **own["proxy"]}
        paths[way] = {"client": client, "proxies": [between], "server": behind}
    if len(paths) > 1:
        factors["proxy"] = dict(paths)
    return next(iter(paths.values()))


def _control(wish: Wish, offered: Mapping[Cell, Offer], factors: Factors) -> dict[str, Any]:
    """Say the congestion control of whoever sends to the client."""
    runs = {run for offer in offered.values() for run in offer.runs}
    order = [one for one in (*wish.said.get("cc", ()), FIXED) if one in runs]
    return {"congestion_control": _one_of("congestion_control", order, factors)} if runs else {}


def _said(name: str, levels: Mapping[str, Any], factors: Factors) -> Any:
    """Return the only level's value, or a reference to the factor that they become."""
    if len(levels) == 1:
        return next(iter(levels.values()))
    plain = all(level == value for level, value in levels.items())
    factors[name] = list(levels) if plain else dict(levels)
    return {"factor": name}


def _one_of(name: str, levels: Sequence[str], factors: Factors) -> Any:
    return _said(name, {level: level for level in levels}, factors)


def _knobs(wish: Wish, factors: Factors) -> dict[str, dict[str, Any]]:
    """Say the knobs of each role, as far as it has any."""
    found: dict[str, dict[str, Any]] = {role: {} for role in TREATED}
    for knob in wish.knobs:
        taken = knob.name in {*factors, *(option.factor for option in OPTIONS), *TREATED}
        name = f"{knob.role}_{knob.name}" if taken else knob.name
        said = found[knob.role].setdefault("knobs", {})
        said[knob.name] = _one_of(name, knob.values, factors)
    return found


def _network(wish: Wish, factors: Factors) -> Table:
    """Describe the network: the client's link, and behind a proxy one that only joins."""
    direct = wish.said["proxy"] == (NONE,)
    hosts = ["client", "server"] if direct else ["client", "proxy", "server"]
    table = _tables({"hosts": hosts, **_filled(wish, "topology", factors)})
    first = _tables({"between": hosts[:2], **_filled(wish, "link", factors)})
    links = tomlkit.aot()
    links.append(first)
    if not direct:
        first.add(tomlkit.nl())
        _remark(first, "Behind the proxy nothing is in the way; where there is none, its host")
        _remark(first, "forwards. Give it a rate if the network there is to be narrow, too.")
        links.append(_tables({"between": hosts[1:]}))
    table.append("links", links)
    return table


def _filled(wish: Wish, table: str, factors: Factors) -> dict[str, Any]:
    """Fill in what the options say of one table."""
    found: dict[str, Any] = {}
    for option in OPTIONS:
        if option.place[:1] == (table,) and option.name in wish.said:
            *parents, key = option.place[1:]
            within = found
            for parent in parents:
                within = within.setdefault(parent, {})
            levels = {one: _value(option, one) for one in wish.said[option.name]}
            within[key] = _said(option.factor, levels, factors)
    return found


def _value(option: Option, text: str) -> str | int:
    return _number(text) if option.kind == "count" else text


def _factors(factors: Factors, offered: Mapping[Cell, Offer]) -> Table:
    table = tomlkit.table()
    for name, said in sorted(factors.items(), key=lambda pair: _is_table(pair[1])):
        if name == "congestion_control":
            _remark(table, "Of whoever sends to the client; a server behind a proxy has its own.")
            for line in skipped(offered):
                _remark(table, f"Not run: {line}")
        layout = _deep if name == "proxy" else _tables
        table[name] = layout(said) if isinstance(said, dict) else said
    return table


def _is_table(said: object) -> bool:
    """Tell what TOML wants behind all else of a table: a table of tables."""
    return isinstance(said, dict)


def _groups(wish: Wish, offered: Mapping[Cell, Offer], factors: Factors) -> Iterator[Table]:
    """Cross what differs; where there is no proxy, its settings are not varied."""
    once = _settings_of_proxies(wish, factors)
    crossings = list(_crossings(offered, factors))
    if not once:
        yield from (_tables({"name": name, "levels": levels}) for name, levels in crossings)
        return
    for name, levels in crossings or [("all", {})]:
        ways = levels.get("proxy", list(factors["proxy"]))
        between = [way for way in ways if way != NONE]
        if between:
            own = {**levels, "proxy": between}
            yield _tables({"name": f"{name}, with a proxy", "levels": own})
        if NONE in ways:
            own = {**levels, "proxy": [NONE], **once}
            yield _tables({"name": f"{name}, without a proxy", "levels": own})


def _settings_of_proxies(wish: Wish, factors: Factors) -> dict[str, list[str]]:
    """Name the factors that mean nothing without a proxy, if that is run, each with a level."""
    if NONE not in wish.said["proxy"] or "proxy" not in factors:
        return {}
    varied = [knob for knob in wish.knobs if knob.role == "proxy" and len(knob.values) > 1]
    names = [
        next(name for name in (f"proxy_{knob.name}", knob.name) if name in factors)
        for knob in varied
    ]
    return {name: [next(iter(factors[name]))] for name in names}


def _crossings(
    offered: Mapping[Cell, Offer], factors: Factors
) -> Iterator[tuple[str, dict[str, list[str]]]]:
    found = boxes(offered)
    if len(found) < 2:  # noqa: PLR2004 - all alike are one crossing
        return
    for runs, same in found.items():
        said = "fixed by the program" if runs == (FIXED,) else f"chosen: {', '.join(runs)}"
        for number, box in enumerate(same, start=1):
            who = {
                name: list(levels)
                for name, levels in zip(TREATED, box, strict=True)
                if name in factors
            }
            name = said if len(same) == 1 else f"{said} ({number})"
            yield name, {**who, "congestion_control": list(runs)}


def _base(wish: Wish, offered: Mapping[Cell, Offer], factors: Factors) -> dict[str, str]:
    """Choose what all others are compared with: who is named first, as it runs first."""
    first = (wish.clients[0].level, wish.said["proxy"][0], wish.said["server"][0])
    base = {name: level for name, level in zip(TREATED, first, strict=True) if name in factors}
    if "congestion_control" in factors:
        base["congestion_control"] = offered[first].runs[0]
    shown = {option.factor for option in OPTIONS}
    knobs = [name for name in factors if name not in {*base, *shown, *TREATED}]
    return base | {name: next(iter(factors[name])) for name in knobs}


def _tables(said: Mapping[str, Any]) -> Table:
    """Lay a table out with its values in a line each."""
    table = tomlkit.table()
    for key, value in said.items():
        table[key] = _inline(value)
    return table


def _deep(said: Mapping[str, Any]) -> Table:
    """Lay a table of tables out, each with a heading of its own."""
    table = tomlkit.table(is_super_table=True)
    for key, value in said.items():
        table[key] = _tables(value)
    return table


def _inline(value: Any) -> Any:
    if isinstance(value, Item):
        return value
    if isinstance(value, Mapping):
        table: InlineTable = tomlkit.inline_table()
        for key, part in value.items():
            table[key] = _inline(part)
        return table
    if isinstance(value, list):
        array = tomlkit.array()
        for part in value:
            array.append(_inline(part))
        return array
    return value


def _remark(place: TOMLDocument | Table, text: str) -> None:
    place.add(tomlkit.comment(text))


def _number(text: str) -> str | int:
    """Read a count; what is none stays as it is, and is told as what it is."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else text  # noqa: PLR2004 - TOML's own bound
