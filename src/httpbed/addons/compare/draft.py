"""The experiment of a comparison as a document, with the option behind each of its values.

An option with one value is written at its place; one with several values becomes a factor. All
treatments share one network: the host ``proxy`` lies between client and server, and forwards
packets in treatments in which no proxy runs on it.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from httpbed.addons.compare.options import (
    AGAINST,
    CLIENT,
    KNOB,
    NONE,
    OPTIONS,
    PREFIX,
    REPLICATES,
    SEED,
    ComparisonOptions,
    PlacedOption,
    program,
    proxy,
)
from httpbed.addons.compare.senders import Cell, Offer, boxes, skipped
from httpbed.experiment.document import KeyPath
from httpbed.experiment.roles import BUILD, BUILDS, FIXED
from httpbed.programs.catalog import Catalog, second_build

Factors = dict[str, list[str] | dict[str, Any]]
ROLES = ("client", "proxy", "server")
"""Factors that choose programs, in the order of a cell."""
CONTROL = "congestion_control"
FIRST_LINK: KeyPath = ("topology", "links", 0)


@dataclass(frozen=True)
class Draft:
    """An experiment that is not checked yet."""

    document: Mapping[str, Any]
    remarks: Mapping[KeyPath, Sequence[str]]
    """Lines of comment above the values at these paths; those of the empty path head the file."""
    options: Mapping[KeyPath, str]
    """The option that sets the value at each path, and what is below it."""

    def option_at(self, path: KeyPath) -> str | None:
        """Return the option that sets the value at a path, or all that set parts of it."""
        for length in range(len(path), 0, -1):
            if option := self.options.get(path[:length]):
                return option
        below = [flag for place, flag in self.options.items() if place[: len(path)] == path]
        return ", ".join(dict.fromkeys(below)) if path and below else None


def draft(options: ComparisonOptions, offered: Mapping[Cell, Offer], catalog: Catalog) -> Draft:
    """Return the experiment that compares what the options name."""
    return _Builder(options, offered, catalog).draft()


class _Builder:
    """Builds a draft; collects factors and options on the way."""

    def __init__(
        self, options: ComparisonOptions, offered: Mapping[Cell, Offer], catalog: Catalog
    ) -> None:
        self._options, self._offered, self._catalog = options, offered, catalog
        self._factors: Factors = {}
        self._flags: dict[KeyPath, str] = {
            ("replicates",): REPLICATES,
            ("seed",): SEED,
            ("workload",): ", ".join(
                option.flag
                for option in OPTIONS
                if option.place[:1] == ("workload",) and option.name in options.values
            ),
        }

    def draft(self) -> Draft:
        roles = self._roles()
        topology = self._topology()
        is_page = "page" in self._options.values
        kind, metric = ("page", "page_load_time") if is_page else ("download", "request_time")
        workload = {"kind": kind, **self._filled("workload", ("workload",))}
        groups = list(self._groups())
        base = self._base()
        document = {
            **_header(self._options),
            **({"roles": roles} if "proxy" in self._factors else {}),
            **({"factors": self._factors} if self._factors else {}),
            **({"groups": groups} if groups else {}),
            "topology": topology,
            **({} if "proxy" in self._factors else {"roles": roles}),
            "workload": workload,
            "report": {"metric": metric, **({"base": base} if base else {})},
        }
        return Draft(document, self._remarks(), self._flags)

    def _roles(self) -> dict[str, Any]:
        """Return the roles, or a reference to the factor of them if proxies are varied."""
        knobs = self._knobs()
        clients = {
            client.level: {
                "implementation": self._build(program(client.name, self._catalog)),
                "http_version": client.http_version,
                **knobs["client"],
            }
            for client in self._options.clients
        }
        client = self._value_or_factor("client", clients, CLIENT)
        for level in clients:
            self._set_by(("factors", "client", level), "client", f"{CLIENT} {level}")
        servers = {
            name: self._build(program(name, self._catalog))
            for name in self._options.values["server"]
        }
        server = {"implementation": self._value_or_factor("server", servers, "--server")}
        control = self._control()
        direct, behind = {**server, **control, **knobs["server"]}, {**server, **knobs["server"]}
        levels: dict[str, dict[str, Any]] = {}
        for level in self._options.values["proxy"]:
            if level == NONE:
                levels[level] = {"client": client, "server": direct}
                continue
            name, version = proxy(level, self._catalog)
            between = {"implementation": self._build(name), "http_version": version}
            between |= {**control, **knobs["proxy"]}
            levels[level] = {"client": client, "proxies": [between], "server": behind}
        for level in levels:
            self._set_roles_by(("factors", "proxy", level) if len(levels) > 1 else ("roles",))
        return dict(self._value_or_factor("proxy", levels, "--proxy"))

    def _build(self, name: str) -> Any:
        """Return a program, or a reference to the factor of its two builds."""
        if self._options.line.against is None or self._options.line.against[0] != name:
            return name
        builds = dict(zip(BUILDS, (name, second_build(name)), strict=True))
        return self._value_or_factor(BUILD, builds, AGAINST)

    def _set_roles_by(self, place: KeyPath) -> None:
        alone = (
            [client.level for client in self._options.clients]
            if len(self._options.clients) == 1
            else []
        )
        self._set_by((*place, "client"), "client", " ".join([CLIENT, *alone]))
        self._set_by((*place, "proxies"), "proxy", "--proxy")
        self._set_by((*place, "proxies", 0), "proxy", "--proxy")
        self._set_by((*place, "server"), "server", "--server")

    def _set_by(self, place: KeyPath, role: str, flag: str) -> None:
        """Note the options that set a role's table."""
        self._flags[place] = flag
        self._flags[*place, CONTROL] = "--cc"
        for knob in self._options.knobs:
            if knob.role == role:
                self._flags[*place, "knobs", knob.name] = f"{KNOB} {role}.{knob.name}"

    def _control(self) -> dict[str, Any]:
        """Return the congestion control of the program that sends to the client."""
        runs = {run for offer in self._offered.values() for run in offer.runs}
        order = [one for one in (*self._options.values.get("cc", ()), FIXED) if one in runs]
        levels = {level: level for level in order}
        return {CONTROL: self._value_or_factor(CONTROL, levels, "--cc")} if runs else {}

    def _knobs(self) -> dict[str, dict[str, Any]]:
        """Return the knobs of each role, as far as it has any."""
        knobs: dict[str, dict[str, Any]] = {role: {} for role in ROLES}
        for knob in self._options.knobs:
            taken = {*self._factors, *(option.factor for option in OPTIONS), *ROLES, BUILD}
            factor = f"{knob.role}_{knob.name}" if knob.name in taken else knob.name
            levels = {value: value for value in knob.values}
            value = self._value_or_factor(factor, levels, f"{KNOB} {knob.role}.{knob.name}")
            knobs[knob.role].setdefault("knobs", {})[knob.name] = value
        return knobs

    def _topology(self) -> dict[str, Any]:
        """Return the network: the client's link, and behind a proxy one without impairments."""
        direct = self._options.values["proxy"] == (NONE,)
        hosts = ["client", "server"] if direct else ["client", "proxy", "server"]
        own = self._filled("topology", ("topology",))
        first = {"between": hosts[:2], **self._filled("link", FIRST_LINK)}
        links = [first] if direct else [first, {"between": hosts[1:]}]
        return {"hosts": hosts, **own, "links": links}

    def _filled(self, table: str, place: KeyPath) -> dict[str, Any]:
        """Return the values that options set in a table, which stands at ``place``."""
        values: dict[str, Any] = {}
        for option in OPTIONS:
            if option.place[:1] == (table,) and option.name in self._options.values:
                *parents, key = option.place[1:]
                within = values
                for parent in parents:
                    within = within.setdefault(parent, {})
                levels = {text: _value(option, text) for text in self._options.values[option.name]}
                self._flags[*place, *option.place[1:]] = option.flag
                within[key] = self._value_or_factor(option.factor, levels, option.flag)
        return values

    def _value_or_factor(self, name: str, levels: Mapping[str, Any], flag: str) -> Any:
        """Return the only level's value, or a reference to the factor that the levels become."""
        if len(levels) == 1:
            return next(iter(levels.values()))
        is_plain = all(level == value for level, value in levels.items())
        self._factors[name] = list(levels) if is_plain else dict(levels)
        self._flags["factors", name] = flag
        return {"factor": name}

    def _groups(self) -> Iterator[dict[str, Any]]:
        """Cross what differs; where there is no proxy, its settings are not varied."""
        once = self._settings_of_proxies()
        crossings = list(self._crossings())
        if not once:
            yield from ({"name": name, "levels": levels} for name, levels in crossings)
            return
        for name, levels in crossings or [("all", {})]:
            proxies = levels.get("proxy", list(self._factors["proxy"]))
            between = [level for level in proxies if level != NONE]
            if between:
                yield {"name": f"{name}, with a proxy", "levels": {**levels, "proxy": between}}
            if NONE in proxies:
                without = {**levels, "proxy": [NONE], **once}
                yield {"name": f"{name}, without a proxy", "levels": without}

    def _settings_of_proxies(self) -> dict[str, list[str]]:
        """Return one level of each factor that sets a proxy, if treatments without a proxy run."""
        if NONE not in self._options.values["proxy"] or "proxy" not in self._factors:
            return {}
        varied = [
            knob for knob in self._options.knobs if knob.role == "proxy" and len(knob.values) > 1
        ]
        names = [
            next(name for name in (f"proxy_{knob.name}", knob.name) if name in self._factors)
            for knob in varied
        ]
        return {name: [next(iter(self._factors[name]))] for name in names}

    def _crossings(self) -> Iterator[tuple[str, dict[str, list[str]]]]:
        """Yield the groups of combinations with the same algorithms, if there are several."""
        by_algorithms = boxes(self._offered)
        if len(by_algorithms) < 2:  # all combinations are one group
            return
        for runs, same in by_algorithms.items():
            title = "fixed by the program" if runs == (FIXED,) else f"chosen: {', '.join(runs)}"
            for number, box in enumerate(same, start=1):
                chosen = {
                    name: list(levels)
                    for name, levels in zip(ROLES, box, strict=True)
                    if name in self._factors
                }
                name = title if len(same) == 1 else f"{title} ({number})"
                yield name, {**chosen, CONTROL: list(runs)}

    def _base(self) -> dict[str, str]:
        """Choose the treatment that all others are compared with: the first of everything.

        With two builds, each treatment is compared with the same of the old build.
        """
        if BUILD in self._factors:
            return {BUILD: BUILDS[0]}
        values = self._options.values
        first = (self._options.clients[0].level, values["proxy"][0], values["server"][0])
        base = {
            name: level for name, level in zip(ROLES, first, strict=True) if name in self._factors
        }
        if CONTROL in self._factors:
            base[CONTROL] = self._offered[first].runs[0]
        shown = {option.factor for option in OPTIONS}
        knobs = [name for name in self._factors if name not in {*base, *shown, *ROLES}]
        return base | {name: next(iter(self._factors[name])) for name in knobs}

    def _remarks(self) -> dict[KeyPath, list[str]]:
        line = self._options.line
        return {
            (): [
                f"Written by: {shlex.join(line.words(line.asked_clock))}",
                "To change the experiment, copy this file, edit its name and anything else,",
                "and use httpbed run; httpbed validate lists all mistakes.",
                *self._remarks_on_builds(),
            ],
            ("factors", CONTROL): [
                "Of the program that sends to the client, not of a server behind a proxy.",
                *(f"Not run: {line}" for line in skipped(self._offered)),
            ],
            ("groups",): [
                "Each group runs all combinations of its levels.",
                "A sender without a choice of congestion control runs once.",
            ],
            ("topology", "links", 1): [
                "The link behind the proxy has no impairments; where no proxy runs, its host",
                "forwards packets. Give the link a rate if that network is slow, too.",
            ],
        }

    def _remarks_on_builds(self) -> Iterator[str]:
        if self._options.line.against:
            name, path = self._options.line.against
            yield f"{second_build(name)} is a recipe of your own with these lines:"
            yield f'schema = 1, name = "{second_build(name)}", like = "{name}", and in [install]'
            yield f"binary = {json.dumps(path)}; --recipes DIR names its folder."


def _header(options: ComparisonOptions) -> dict[str, Any]:
    digest = hashlib.sha256(options.line.identity().encode()).hexdigest()[:6]
    clients = [client.level for client in options.clients]
    names = " and ".join([", ".join(clients[:-1]), clients[-1]] if clients[1:] else clients)
    question = f"How do {names} compare" if clients[1:] else f"How fast is {names}"
    if options.line.against:
        question = f"How does the new build of {options.line.against[0]} differ from the old"
    server = " or ".join(options.values["server"])
    what, done = " or ".join(options.values.get("page") or options.values["size"]), "fetched"
    done = "loaded" if "page" in options.values else done
    return {
        "schema": 1,
        "name": options.line.name or f"{PREFIX}{digest}",
        "question": f"{question} when {what} is {done} from {server}?",
        "replicates": _number(options.line.replicates),
        "seed": _number(options.line.seed),
        **({} if options.line.clock == "real" else {"clock": options.line.clock}),
    }


def _value(option: PlacedOption, text: str) -> str | int | dict[str, str]:
    if option.name == "page":
        return _page(text)
    return _number(text) if option.kind == "count" else text


def _page(text: str) -> str | dict[str, str]:
    """Return a page as experiments name it; its path is absolute, so that the file can move."""
    is_file = text.lower().endswith(".har") or "/" in text  # no name of a page has a slash
    return {"har": str(Path(text).resolve())} if is_file else text


def _number(text: str) -> str | int:
    """Read a count; another text stays as it is, and loading the experiment refuses it."""
    digits = text.removeprefix("-")
    is_count = digits.isascii() and digits.isdigit()
    return int(text) if is_count and len(digits) < sys.int_info.default_max_str_digits else text
