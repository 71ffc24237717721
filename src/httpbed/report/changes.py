"""Changes of a link during a trial in words, as the experiment file has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from httpbed.base import units

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
