"""An experiment in words: its links, roles and levels, as the file has them, factors included.

What has a word of its own, such as an impairment or a condition, is phrased. The other tables are
written key by key (:func:`text_of`), so that a report has the file's words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from httpbed.experiment import profiles
from httpbed.experiment.document import factor_references, is_reference, references
from httpbed.experiment.experiment import Experiment
from httpbed.experiment.impairments.descriptor import DIRECTIONS
from httpbed.experiment.impairments.queue import QUEUE_LIMIT
from httpbed.experiment.impairments.registry import ALL, BY_FIELD
from httpbed.report.phrasing import listed, title

Document = Mapping[str, Any]
Path = tuple[str | int, ...]
MAX_CHANGES = 6
"""Most changes of a link that a line lists."""
NONE = "none"


def text_of(document: Document, node: object) -> str:
    """Write a table as ``key value, key (key value)``, and a factor as all of its levels."""
    if is_reference(node) and isinstance(node, Mapping):
        return " | ".join(document.get("factors", {}).get(node["factor"], ("?",)))
    if isinstance(node, Mapping):
        return ", ".join(_entry(key, text_of(document, part)) for key, part in node.items())
    if isinstance(node, list):
        between = "; " if any(isinstance(part, Mapping) for part in node) else ", "
        return between.join(text_of(document, part) for part in node) or NONE
    return str(node).lower() if isinstance(node, bool) else str(node)


def _entry(key: str, text: str) -> str:
    """Write a key and its value; a program and its HTTP version need no key."""
    if key == "implementation":
        return text
    if key == "http_version":
        return f"HTTP/{text}"
    return f"{title(key)} ({text})" if ", " in text else f"{title(key)} {text}"


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
    changes: tuple[str, ...] = ()
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


def sentences(document: Document, most_changes: int = MAX_CHANGES) -> list[str]:
    """Describe each link."""
    return [sentence(link, most_changes) for link in links(document)]


def sentence(facts: LinkFacts, most_changes: int = MAX_CHANGES) -> str:
    """Describe a link and its changes in one line."""
    here, there = facts.hosts
    called = f"{facts.name}, " if facts.name else ""
    text = f"{called}{here} <-> {there}: {_listed(facts.up)}, in each direction"
    if not facts.symmetric:
        up, down = _listed(facts.up), _listed(facts.down)
        text = f"{called}{here} to {there}: {up}; {there} to {here}: {down}"
    return text + _then(facts.changes, most_changes)


def _then(changes: tuple[str, ...], most: int) -> str:
    if not changes:
        return ""
    rest = [f"and {len(changes) - most} more changes"] if len(changes) > most else []
    return f"; then {'; '.join([*changes[:most], *rest])}"


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
    paths: dict[str, Path] = {}
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


def _phrase(phrases: Mapping[str, str], value: str, name: str, path: Path) -> str:
    last = str(path[-1]) if path else ""
    side = next((f" {part}" for part in path if part in DIRECTIONS), "")
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
    up, down = (_one_way(document, link, side) for side in DIRECTIONS)
    name = str(link.get("name", ""))
    return LinkFacts((one, other), up, down, tuple(_changes(document, link)), name)


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


def _changes(document: Document, link: Document) -> Iterator[str]:
    """Write each entry of a link's schedule, then its events."""
    for key in ("schedule", "events"):
        entries = link.get(key, [])
        if isinstance(entries, list):
            yield from (text_of(document, entry) for entry in entries)
        else:  # a factor stands for all of it
            yield f"{key} {text_of(document, entries)}"


def _filled(document: Document, node: Any) -> Any:
    """Copy a node with all levels of a factor in its place."""
    if is_reference(node):
        return text_of(document, node)
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
            yield Fact(impairment.field, impairment.absent, varied=False, absent=True)


def _fact(document: Document, name: str, form: str, value: Any) -> Fact:
    if is_reference(value):
        levels = document.get("factors", {}).get(value["factor"], ("?",))
        phrase = text_of(document, value)
        # Names are no quantities: "loss none | bursts", but "0 % | 2 % loss".
        text = f"{title(name)} {phrase}" if isinstance(levels, Mapping) else form.format(phrase)
        return Fact(name, text, varied=True)
    if isinstance(value, Mapping):
        table = {key: _filled(document, part) for key, part in value.items()}
        varied = any(is_reference(part) for part in value.values()) and name != "queue"
        impairment = BY_FIELD[name]
        return Fact(name, impairment.words(table), varied)
    return Fact(name, form.format(value), varied=False)


def _listed(facts: tuple[Fact, ...]) -> str:
    return ", ".join(fact.text for fact in facts if fact.text)


def roles(document: Document) -> Iterator[tuple[str, str]]:
    """Yield client, proxies and server as the file has them; a factor may stand for all of them."""
    stated = document.get("roles", {})
    if is_reference(stated):
        yield "roles", text_of(document, stated)
    else:
        yield from ((name, text_of(document, role)) for name, role in stated.items())


def further(document: Document) -> Iterator[tuple[str, str]]:
    """Yield the hand-over and each competitor, if there are any, with a key."""
    if handover := document.get("handover"):
        factor = f"{title(handover['factor'])} " if is_reference(handover) else ""
        yield "hand-over", factor + text_of(document, handover)
    competitors = document.get("competitors", [])
    for one in competitors if isinstance(competitors, list) else [competitors]:
        yield "competes", text_of(document, one)


@dataclass(frozen=True)
class Legend:
    """A factor whose levels are names."""

    factor: str
    levels: tuple[tuple[str, str], ...]
    """Each level, and what it stands for."""


def legends(document: Document) -> tuple[Legend, ...]:
    """Explain the levels of an experiment's document, by factor."""
    places: dict[str, list[Path]] = {}
    for path, name in factor_references(document):
        places.setdefault(name, []).append(path)
    explained = (
        Legend(title(name), tuple(_explained(document, text, places.get(name, []))))
        for name, text in document.get("factors", {}).items()
        if isinstance(text, Mapping) or any(path[-1] == "profile" for path in places.get(name, []))
    )
    return tuple(legend for legend in explained if legend.levels)


def line(legend: Legend) -> str:
    """Write a legend in one line."""
    texts = " | ".join(f"{level} = {meaning}" for level, meaning in legend.levels)
    return f"{legend.factor}: {texts}"


def left_out(experiment: Experiment) -> list[str]:
    """List the treatments that the design excludes, with the reason."""
    return [
        ", ".join(f"{title(name)} {' | '.join(some)}" for name, some in exclusion.levels.items())
        + f": {exclusion.reason}"
        for exclusion in experiment.exclude
    ]


def _explained(
    document: Document, node: Mapping[str, Any] | list[str], places: list[Path]
) -> Iterator[tuple[str, str]]:
    for level in node:
        value = node[level] if isinstance(node, Mapping) else level
        if _is_plain_client(level, value):
            continue
        fixed_part = _without_factors(value)
        meanings = dict.fromkeys(_meaning(document, path, fixed_part) for path in places)
        yield level, ", ".join(meanings) or text_of(document, fixed_part)


def _without_factors(value: Any) -> Any:
    """Leave out what other factors vary."""
    if isinstance(value, list):
        return [_without_factors(part) for part in value]
    if not isinstance(value, Mapping):
        return value
    return {key: _without_factors(part) for key, part in value.items() if not is_reference(part)}


def _is_plain_client(level: str, value: Any) -> bool:
    """Whether the name says all of it, as curl:h2 does of curl over HTTP/2."""
    if not isinstance(value, Mapping) or value.keys() != {"implementation", "http_version"}:
        return False
    return level == f"{value['implementation']}:h{str(value['http_version'])[:1]}"


def _meaning(document: Document, path: Path, value: Any) -> str:
    """Describe a value by its place: the same text may be a loss or a delay."""
    keys = [part for part in path if isinstance(part, str)]
    name = keys[-1]
    if name == "profile" and isinstance(value, str):
        return _profile(document, path, value)
    if name in DIRECTIONS:
        words = _texts(document, value)
    elif name in BY_FIELD and path[0] == "topology":
        words = _texts(document, {name: value})
    else:
        words = text_of(document, value)
    side = next((f" {direction}" for direction in DIRECTIONS if direction in keys), "")
    return words + side


def _texts(document: Document, node: Document) -> str:
    if isinstance(queue := node.get("queue"), Mapping):
        node = {**node, "queue": {"limit": QUEUE_LIMIT, **queue}}
    found = impairment_facts(document, node, known=False)
    return ", ".join(fact.text for fact in found)


def _profile(document: Document, path: Path, name: str) -> str:
    """Describe what a profile adds to a link."""
    known = profiles.all_profiles().get(name)
    if known is None:
        return name
    link = document["topology"]["links"][path[2]]
    topology = {"links": [{**link, "profile": name}]}
    (facts,) = links({**document, "topology": topology})
    own = {"profile", *link} | ({"queue"} - set(known.link))
    up, down = (
        tuple(fact for fact in direction if fact.name not in own)
        for direction in (facts.up, facts.down)
    )
    texts = sentence(replace(facts, up=up, down=down, changes=()))
    return f"{known.title}; {texts}" if up or down else known.title
