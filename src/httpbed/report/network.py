"""The network in words, as the experiment file has it, factors included."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from httpbed.base import units
from httpbed.experiment import profiles
from httpbed.experiment.document import is_reference, references
from httpbed.experiment.impairments.queue import QUEUE_LIMIT
from httpbed.experiment.impairments.registry import ALL, BY_FIELD
from httpbed.report import roles
from httpbed.report.phrasing import listed, title
from httpbed.report.roles import HostedRole

Document = Mapping[str, Any]
MAX_CHANGES = 6
"""Most changes of a link that a line lists."""


@dataclass(frozen=True)
class Fact:
    """One property of one direction of a link."""

    name: str
    """As in the experiment: ``rate``, ``delay``, ``loss``, ``queue``, ..."""
    text: str
    varied: bool
    """Whether a factor stands for it."""
    absent: bool = False
    """Whether the direction lacks this impairment, which the text says."""


@dataclass(frozen=True)
class LinkFacts:
    """A link: its two hosts and what each direction does."""

    hosts: tuple[str, str]
    up: tuple[Fact, ...]
    """From the first host to the second."""
    down: tuple[Fact, ...]
    """From the second host to the first."""
    changes: tuple[LinkChange, ...] = ()
    """Its changes during a trial."""
    name: str = ""
    """The author's name for it; empty if it is only the names of its hosts."""

    @property
    def symmetric(self) -> bool:
        """Whether both directions are equal."""
        return self.up == self.down


def links(document: Document) -> tuple[LinkFacts, ...]:
    """Describe each link of an experiment's document."""
    return tuple(_link(document, link) for link in document.get("topology", {}).get("links", ()))


def hosts(document: Document) -> Iterator[tuple[str, list[HostedRole]]]:
    """Yield each host of an experiment's document with the roles on it."""
    known = roles.roles(document)
    for name in document.get("topology", {}).get("hosts", ()):
        yield name, known.get(name, [])


def sentences(document: Document, most_changes: int = MAX_CHANGES) -> list[str]:
    """Describe each link; equal links between the same hosts share a sentence."""
    groups: list[list[LinkFacts]] = []
    for link in links(document):
        alike = (group for group in groups if replace(group[0], name=link.name) == link)
        group = next(alike, None) if link.name else None
        groups.append([link]) if group is None else group.append(link)
    return [
        sentence(replace(group[0], name=" and ".join(link.name for link in group)), most_changes)
        for group in groups
    ]


def sentence(facts: LinkFacts, most_changes: int = MAX_CHANGES) -> str:
    """Describe a link and its changes in one line."""
    here, there = facts.hosts
    called = f"{facts.name}, " if facts.name else ""
    text = f"{called}{here} <-> {there}: {_listed(facts.up)}, in each direction"
    if not facts.symmetric:
        up, down = _listed(facts.up), _listed(facts.down)
        text = f"{called}{here} to {there}: {up}; {there} to {here}: {down}"
    return text + _then(facts.changes, most_changes)


def _then(changes: tuple[LinkChange, ...], most: int) -> str:
    if not changes:
        return ""
    texts = [change.text for change in changes[:most]]
    rest = [f"and {len(changes) - most} more changes"] if len(changes) > most else []
    return f"; then {'; '.join([*texts, *rest])}"


def fixed(document: Document) -> str:
    """Name the constant impairments of a network of one link; else return an empty string.

    Queues have a default everywhere, and are left out.
    """
    known = links(document)
    if len(known) != 1 or not known[0].symmetric:
        return ""
    texts = [
        fact.text
        for fact in known[0].up
        if fact.name not in {"profile", "queue"} and not (fact.varied or fact.absent)
    ]
    at_first = ", at first" if texts and known[0].changes else ""
    return f"{listed(texts)} each way{at_first}" if texts else ""


def condition(document: Document, levels: Mapping[str, str]) -> str:
    """Name a condition by its levels: ``2 % loss, 25 ms each way``.

    With several links, the one that a factor varies is named.
    """
    paths: dict[str, tuple[str | int, ...]] = {}
    for path, name in references(document.get("topology", {})):
        paths.setdefault(name, path)
    factors = document.get("factors", {})
    read = any(path[-1:] == ("delay_reading",) for path in paths.values())
    phrases = {**_PHRASES, "delay": "{} delay"} if read else _PHRASES
    return ", ".join(
        f"{title(name)} {value}"
        if isinstance(factors.get(name), Mapping)  # a name: what it stands for is in the legend
        else _phrase(phrases, value, name, paths.get(name, ())) + _on_link(document, name)
        for name, value in levels.items()
    )


_PHRASES = {
    "profile": "network {}",
    "rate": "{}",
    "delay": "{} each way",
    "loss": "{} loss",
    "limit": "a queue of {}",
    "delay_reading": "{}",
}


def _phrase(phrases: Mapping[str, str], value: str, name: str, path: tuple[str | int, ...]) -> str:
    last = str(path[-1]) if path else ""
    side = next((f" {part}" for part in path if part in {"up", "down"}), "")
    if last == "delay" and side:
        return f"{value} of delay{side}"
    return phrases.get(last, f"{title(name)} {{}}").format(value) + side


def _on_link(document: Document, factor: str) -> str:
    """Name the link that a factor is about, if there are others."""
    all_links = document.get("topology", {}).get("links", ())
    places = {
        path[1]
        for path, name in references(document.get("topology", {}))
        if name == factor and path[0] == "links"
    }
    if len(all_links) < 2 or len(places) != 1:  # a single link needs no name
        return ""
    (index,) = places
    text = all_links[index] if isinstance(index, int) else {}
    hosts = text.get("between")
    called = text.get("name") or ("-".join(hosts) if isinstance(hosts, list) else "")
    return f" on {called}" if called else ""


def _link(document: Document, node: Document) -> LinkFacts:
    if is_reference(node):
        return _varied_link(document, node)
    link = profiles.expanded(node)
    one, other = link["between"]
    up, down = (_one_way(document, link, side) for side in ("up", "down"))
    name = str(link.get("name", ""))
    return LinkFacts((one, other), up, down, tuple(changes(_filled(document, link))), name)


def _varied_link(document: Document, node: Document) -> LinkFacts:
    """Describe a link that a factor replaces, by the names of its levels."""
    levels = document.get("factors", {}).get(node["factor"], {})
    known = levels.values() if isinstance(levels, Mapping) else ()
    one, other = next((level["between"] for level in known if "between" in level), ("?", "?"))
    facts = (_fact(document, node["factor"], "{}", node),)
    return LinkFacts((one, other), facts, facts)


def _one_way(document: Document, link: Document, side: str) -> tuple[Fact, ...]:
    own = link.get(side, {})
    if is_reference(own):
        return (*_direction(document, link), _fact(document, side, f"{side} {{}}", own))
    return _direction(document, {**link, **own})


def _filled(document: Document, node: Any) -> Any:
    """Copy a node with all levels of a factor in its place."""
    if is_reference(node):
        return roles.value_text(document, node)
    if isinstance(node, Mapping):
        return {key: _filled(document, part) for key, part in node.items()}
    return [_filled(document, part) for part in node] if isinstance(node, list) else node


def _direction(document: Document, node: Document) -> tuple[Fact, ...]:
    queue = node.get("queue", {})
    whole = {**node, "queue": queue if is_reference(queue) else {"limit": QUEUE_LIMIT, **queue}}
    profile = node.get("profile")
    varied = is_reference(profile)  # then what it fills in is not known here
    named = [_fact(document, "profile", "network {}", profile)] if profile else []
    return (*named, *impairment_facts(document, whole, known=not varied))


def impairment_facts(document: Document, node: Document, *, known: bool) -> Iterator[Fact]:
    """Describe the impairments of a direction; mention absent ones only if ``known``."""
    for impairment in ALL:
        value = node.get(impairment.field)
        if value is not None:
            yield _fact(document, impairment.field, impairment.text, value)
        elif known and impairment.absent:
            text = impairment.absent
            yield Fact(impairment.field, text, varied=False, absent=True)


def _fact(document: Document, name: str, form: str, value: Any) -> Fact:
    if is_reference(value):
        levels = document.get("factors", {}).get(value["factor"], ("?",))
        phrase = roles.value_text(document, value)
        # Names are no quantities: "loss none | bursts", but "0 % | 2 % loss".
        text = f"{title(name)} {phrase}" if isinstance(levels, Mapping) else form.format(phrase)
        return Fact(name, text, varied=True)
    if isinstance(value, Mapping):
        table = {key: _filled(document, part) for key, part in value.items()}
        varied = any(is_reference(part) for part in value.values()) and name != "queue"
        impairment = BY_FIELD[name]
        return Fact(name, impairment.words(table), varied)
    text = form.format(value)
    return Fact(name, text, varied=False)


def _listed(facts: tuple[Fact, ...]) -> str:
    return ", ".join(fact.text for fact in facts if fact.text)


Table = Mapping[str, Any]

_STATES = {"down": "link down", "up": "link up again"}
_FORMS = {"rate": "{}", "delay": "{} of delay", "loss": "{} loss"}
_ROLES = {"client", "server", "proxy"}


@dataclass(frozen=True)
class LinkChange:
    """One entry of a link's schedule or events."""

    text: str
    direction: str | None
    """``up``, ``down``; None for both."""


def changes(link: Table) -> Iterator[LinkChange]:
    """Describe the entries of a link's schedule, then its events.

    Factors must already be replaced by all their levels.
    """
    for key in ("schedule", "events"):
        if isinstance(link.get(key), str):  # a factor stands for all of it
            yield LinkChange(f"{key} {link[key]}", None)
    ends = tuple(str(host) for host in link.get("between", ()))
    for entry in _tables(link.get("schedule")):
        yield _change(entry, f"from {entry.get('at', '?')}", ends)
    for entry in _tables(link.get("events")):
        when = _when(entry.get("when"))
        after = str(entry.get("after", "0 s"))
        yield _change(
            entry, f"once {when}" if _is_nothing(after) else f"{after} after {when}", ends
        )


def _tables(entries: object) -> list[Table]:
    listed = entries if isinstance(entries, list) else []
    return [entry for entry in listed if isinstance(entry, Mapping)]


def _change(entry: Table, time: str, ends: Sequence[str]) -> LinkChange:
    direction = entry.get("direction")
    along = ends if direction == "up" else ends[::-1]
    side = f", {' to '.join(along)} only" if direction in {"up", "down"} else ""
    return LinkChange(f"{_what(entry)} {time}{side}", direction)


def _what(entry: Table) -> str:
    if "state" in entry:
        return _STATES.get(str(entry["state"]), f"link {entry['state']}")
    texts = [form.format(entry[key]) for key, form in _FORMS.items() if key in entry]
    return " and ".join(texts) or f"{entry.get('name', 'an event')} noted"


def _when(node: object) -> str:
    if not isinstance(node, Mapping):
        return str(node)
    if "delivered" in node:
        return f"{node['delivered']} were delivered to {_host(node.get('to', '?'))}"
    if "first_packet_of" in node:
        return f"the first packet of {_host(node['first_packet_of'])} arrived"
    return "a handshake was over"


def _host(name: object) -> str:
    return f"the {name}" if name in _ROLES else str(name)


def _is_nothing(duration: str) -> bool:
    try:
        return units.parse_duration(duration) == 0
    except ValueError:
        return False
