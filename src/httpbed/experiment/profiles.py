"""Networks known by name: what each does to packets, and who says so.

They are data, in ``profiles.toml``, written as in an experiment file. Like a factor, a profile is
filled in before a scenario is checked: a trial's document says the figures, not only the name,
so that a later httpbed with other figures could never pass for the same trial.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, Literal

from httpbed.experiment.value import Value

Table = dict[str, Any]
ENDS = ("up", "down")


class Profile(Value):
    """A network known by name."""

    title: str
    """What it is, in a few words."""
    source: str
    """Who says so: the publication, or the file of presets, with the place in it."""
    taken: str
    """How the source's figures became these; and what the source does not say."""
    link: Table
    """As in an experiment file, but for the hosts: ``up`` is from the client to the network."""
    kind: Literal["paper", "preset", "measured", "rule"]
    """A paper's own test network; a tool's preset; a measured network; made by a stated rule."""


@cache
def all_profiles() -> Mapping[str, Profile]:
    """Return every profile by name, in the order of the file."""
    text = (
        resources.files("httpbed.experiment").joinpath("profiles.toml").read_text(encoding="utf-8")
    )
    return {name: Profile.model_validate(said) for name, said in tomllib.loads(text).items()}


def known(name: str) -> str:
    """Return the name of a profile.

    Raises:
        ValueError: There is none of that name; with those that come near.
    """
    names = list(all_profiles())
    if name not in names:
        close = difflib.get_close_matches(name, names, n=3)
        hint = f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(names)}"
        raise ValueError(f"{name!r} is not a profile; {hint}")
    return name


def expanded(link: Any) -> Any:
    """Fill in what a link's profile says and the link itself does not.

    What the link says for both directions is stronger than what the profile says for one.
    """
    name = link.get("profile") if isinstance(link, Mapping) else None
    if not isinstance(name, str) or name not in all_profiles():
        return link
    said = all_profiles()[name].link
    filled = {**{key: value for key, value in said.items() if key not in ENDS}, **link}
    for end in ENDS:
        own = link.get(end, {})
        if isinstance(own, Mapping):
            way = {key: value for key, value in said.get(end, {}).items() if key not in link}
            if way or own:
                filled[end] = {**way, **own}
    return filled


def expanded_topology(topology: Any) -> Any:
    """Fill in the profiles of all links of a topology's document."""
    links = topology.get("links") if isinstance(topology, Mapping) else None
    if not isinstance(links, list):
        return topology
    return {**topology, "links": [expanded(link) for link in links]}
