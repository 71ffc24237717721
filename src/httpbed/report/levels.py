"""The meaning of levels that are names: of tables and of profiles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from httpbed.experiment import profiles
from httpbed.experiment.document import factor_references, is_reference
from httpbed.experiment.experiment import Experiment
from httpbed.experiment.impairments.queue import QUEUE_LIMIT
from httpbed.experiment.impairments.registry import BY_FIELD
from httpbed.report import network, roles
from httpbed.report.network import Document, changes
from httpbed.report.phrasing import title

Path = tuple[str | int, ...]
DIRECTIONS = ("up", "down")


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
        meanings = dict.fromkeys(_meaning(document, path, value) for path in places)
        yield level, ", ".join(meanings) or _plain(value)


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
    if path == ("handover",) and isinstance(value, Mapping):
        return roles.handover_sentence(document, value)
    words = (
        _texts(document, value) if name in DIRECTIONS else _impairment(document, path, name, value)
    )
    side = next((f" {direction}" for direction in DIRECTIONS if direction in keys), "")
    return words + side


def _impairment(document: Document, path: Path, name: str, value: Any) -> str:
    if name in {"schedule", "events"}:
        entries = value if isinstance(value, list) else [value]
        found = changes({**_link(document, path), "schedule": [], "events": [], name: entries})
        return "; ".join(change.text for change in found) or "no changes"
    if name in BY_FIELD and path[0] == "topology":
        return _texts(document, {name: value})
    return _plain(value)


def _texts(document: Document, node: Document) -> str:
    if isinstance(queue := node.get("queue"), Mapping):
        node = {**node, "queue": {"limit": QUEUE_LIMIT, **queue}}
    found = network.impairment_facts(document, node, known=False)
    return ", ".join(fact.text for fact in found)


def _link(document: Document, path: Path) -> Document:
    """Find the link to which a path leads."""
    links = document.get("topology", {}).get("links", ())
    found = links[path[2]] if path[:2] == ("topology", "links") and isinstance(path[2], int) else {}
    return found if isinstance(found, Mapping) else {}


def _profile(document: Document, path: Path, name: str) -> str:
    """Describe what a profile adds to a link."""
    known = profiles.all_profiles().get(name)
    if known is None:
        return name
    link = _link(document, path)
    topology = {"links": [{**link, "profile": name}]}
    (facts,) = network.links({**document, "topology": topology})
    own = {"profile", *link} | ({"queue"} - set(known.link))
    up, down = (
        tuple(fact for fact in direction if fact.name not in own)
        for direction in (facts.up, facts.down)
    )
    texts = network.sentence(replace(facts, up=up, down=down, changes=()))
    return f"{known.title}; {texts}" if up or down else known.title


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        own = {key: part for key, part in value.items() if not is_reference(part)}
        return ", ".join(f"{title(key)} {_plain(part)}" for key, part in own.items())
    if isinstance(value, list):
        return ", ".join(map(_plain, value)) or "none"
    return str(value).lower() if isinstance(value, bool) else str(value)
