"""The network as its author described it, factors and all, in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from httpbed.model.experiment import is_reference, references
from httpbed.model.impairments.queue import Queue
from httpbed.report.phrasing import title

Document = Mapping[str, Any]


@dataclass(frozen=True)
class Fact:
    """One property of one direction of a link."""

    name: str
    """``rate``, ``delay``, ``loss`` or ``queue``."""
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


def _link(document: Document, link: Document) -> LinkFacts:
    one, other = link["between"]
    up, down = ({**link, **link.get(side, {})} for side in ("up", "down"))
    return LinkFacts((one, other), _direction(document, up), _direction(document, down))


def _direction(document: Document, said: Document) -> tuple[Fact, ...]:
    queue = said.get("queue", {})
    default = f"{Queue().limit.amount:.0f} {Queue().limit.unit}"
    return (
        _fact(document, "rate", said.get("rate"), "{}", "no rate limit"),
        _fact(document, "delay", said.get("delay"), "{}", "no delay"),
        _fact(document, "loss", said.get("loss"), "{} loss", "no loss"),
        _fact(document, "queue", queue.get("limit", default), "queue {}", ""),
    )


def _fact(document: Document, name: str, value: object, form: str, absent: str) -> Fact:
    if value is None:
        return Fact(name, absent, varied=False)
    return Fact(name, form.format(_said(document, value)), varied=is_reference(value))


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
