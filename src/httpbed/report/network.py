"""The network as its author described it, factors and all, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from httpbed.model import profiles
from httpbed.model.experiment import is_reference, references
from httpbed.model.impairments.queue import Queue
from httpbed.report import impairments
from httpbed.report.phrasing import title

Document = Mapping[str, Any]


@dataclass(frozen=True)
class Fact:
    """One property of one direction of a link."""

    name: str
    """As in the experiment: ``rate``, ``delay``, ``loss``, ``queue``, ..."""
    text: str
    varied: bool
    """Whether a factor stands for it."""


@dataclass(frozen=True)
class LinkFacts:
    """A link: its two hosts and what each direction does."""

    hosts: tuple[str, str]
    up: tuple[Fact, ...]
    """From the first host to the second."""
    down: tuple[Fact, ...]
    """From the second host to the first."""

    @property
    def symmetric(self) -> bool:
        """Whether both directions are alike."""
        return self.up == self.down


@dataclass(frozen=True)
class HostFacts:
    """A host and the roles on it."""

    name: str
    roles: tuple[str, ...]
    """Such as ``server: nginx, cubic``."""


def links(document: Document) -> tuple[LinkFacts, ...]:
    """Describe each link of an experiment's document."""
    return tuple(_link(document, link) for link in document.get("topology", {}).get("links", ()))


def hosts(document: Document) -> tuple[HostFacts, ...]:
    """Describe each host of an experiment's document."""
    roles = document.get("roles", {})
    return tuple(
        HostFacts(
            name,
            tuple(
                _role(document, role, said)
                for role, said in roles.items()
                if said.get("host", role) == name
            ),
        )
        for name in document.get("topology", {}).get("hosts", ())
    )


def sentence(facts: LinkFacts) -> str:
    """Say what a link does in a line."""
    here, there = facts.hosts
    if facts.symmetric:
        return f"{here} <-> {there}: {_listed(facts.up)}, in each direction"
    up, down = _listed(facts.up), _listed(facts.down)
    return f"{here} to {there}: {up}; {there} to {here}: {down}"


def fixed(document: Document) -> str:
    """Name the rate and delay that hold throughout, for a network of one link; else nothing."""
    found = links(document)
    if len(found) != 1 or not found[0].symmetric:
        return ""
    told = [
        fact.text + (" each way" if fact.name == "delay" else "")
        for fact in found[0].up
        if fact.name in {"rate", "delay"} and not fact.varied
    ]
    return " and ".join(told)


def condition(document: Document, levels: Mapping[str, str]) -> str:
    """Name a condition by its levels: ``2 % loss, 25 ms each way``."""
    paths: dict[str, tuple[str | int, ...]] = {}
    for path, name in references(document.get("topology", {})):
        paths.setdefault(name, path)
    return ", ".join(_phrase(name, value, paths.get(name, ())) for name, value in levels.items())


_PHRASES = {"rate": "{}", "delay": "{} each way", "loss": "{} loss", "limit": "a queue of {}"}


def _phrase(name: str, value: str, path: tuple[str | int, ...]) -> str:
    last = str(path[-1]) if path else ""
    side = next((f" {part}" for part in path if part in {"up", "down"}), "")
    if last == "delay" and side:
        return f"{value} of delay{side}"
    return _PHRASES.get(last, f"{title(name)} {{}}").format(value) + side


def _link(document: Document, said: Document) -> LinkFacts:
    link = profiles.expanded(said)
    one, other = link["between"]
    up, down = ({**link, **link.get(side, {})} for side in ("up", "down"))
    return LinkFacts((one, other), _direction(document, up), _direction(document, down))


def _direction(document: Document, said: Document) -> tuple[Fact, ...]:
    default = f"{Queue().limit.amount:.0f} {Queue().limit.unit}"
    queue = said.get("queue", {})
    whole = {**said, "queue": queue if is_reference(queue) else {"limit": default, **queue}}
    profile = said.get("profile")
    varied = is_reference(profile)  # then what it fills in is not known here
    named = [Fact("profile", f"network {_said(document, profile)}", varied)] if profile else []
    return (*named, *_impairments(document, whole, known=not varied))


def _impairments(document: Document, said: Document, *, known: bool) -> Iterator[Fact]:
    for name, form in impairments.TEXTS.items():
        value = said.get(name)
        if value is None:
            if known and name in impairments.ABSENT:
                yield Fact(name, impairments.ABSENT[name], varied=False)
        elif isinstance(value, Mapping) and not is_reference(value):
            filled = {key: _said(document, part) for key, part in value.items()}
            table = {key: filled[key] if is_reference(value[key]) else value[key] for key in value}
            varied = any(is_reference(part) for part in value.values())
            yield Fact(name, impairments.TABLES[name](table), varied and name != "queue")
        else:
            yield Fact(name, form.format(_said(document, value)), is_reference(value))


def _said(document: Document, value: object) -> str:
    if isinstance(value, Mapping) and is_reference(value):
        return " | ".join(document.get("factors", {}).get(value["factor"], ("?",)))
    return str(value)


def _role(document: Document, role: str, said: Document) -> str:
    parts = [_said(document, said.get("implementation", "?"))]
    parts += [_said(document, said[key]) for key in ("congestion_control",) if key in said]
    if "http_version" in said:
        parts.append(f"HTTP/{_said(document, said['http_version'])}")
    return f"{role}: {', '.join(parts)}"


def _listed(facts: tuple[Fact, ...]) -> str:
    return ", ".join(fact.text for fact in facts if fact.text)
