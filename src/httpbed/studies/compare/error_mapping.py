"""From a mistake in the experiment that a command line makes, back to the option that makes it."""

from __future__ import annotations

import re

from httpbed.experiment.errors import Mistake
from httpbed.studies.compare.options import KNOB, OPTIONS, REPLICATES, SEED, Wish

USED_AT = re.compile(r" \(used at [^)]*\)")
KNOBS = re.compile(r"(client|proxies\[0\]|server)[^.]*\.knobs\.(\w+)")
WORKLOAD = ", ".join(option.flag for option in OPTIONS if option.place[:1] == ("workload",))
NEEDS = {
    "parallel": "--files",
    "connections": "--connections",
    "rounds": "--rounds",
    "resumed": "--resumption",
    "early data": "--resumption",
}
"""What programs may not be able to do -> the option that asks for it."""
CANNOT = re.compile(r" cannot do '([^']+)'")


def at_option(mistake: Mistake, wish: Wish) -> Mistake:
    """Say it at the option; what no option makes stays where it is."""
    asked = CANNOT.search(mistake.reason)
    flag = NEEDS.get(asked[1]) if asked else None
    flag = flag or _flag(mistake.place, wish) or mistake.place
    return Mistake(flag, USED_AT.sub("", mistake.reason), mistake.remedy)


def _flag(place: str, wish: Wish) -> str | None:
    if knob := KNOBS.search(place):
        role = "proxy" if knob[1].startswith("proxies") else knob[1]
        return f"{KNOB} {role}.{knob[2]}"
    if place.endswith("congestion_control") or place.startswith("factors.congestion_control"):
        return "--cc"
    known = {"replicates": REPLICATES, "seed": SEED, "workload": WORKLOAD}
    return known.get(place) or _who(place, wish) or _what(place, wish)


def _who(place: str, wish: Wish) -> str | None:
    """Find the option that names a program."""
    if ".proxies" in place:
        return "--proxy"
    if ".server" in place:
        return "--server"
    if ".client" not in place:
        return None
    alone = len(wish.clients) == 1
    levels = [one.level for one in wish.clients]
    meant = [level for level in levels if alone or f"factors.client.{level}." in f"{place}."]
    return " ".join(["CLIENT", *meant])


def _what(place: str, wish: Wish) -> str | None:
    """Find the option that says a quantity."""
    parts = re.findall(r"[a-z_0-9]+", place)
    for option in OPTIONS:
        if parts[:2] == ["factors", option.factor] or (option.place and option.place[-1] in parts):
            return option.flag
    for knob in wish.knobs:
        if parts[:1] == ["factors"] and parts[1] in {knob.name, f"{knob.role}_{knob.name}"}:
            return f"{KNOB} {knob.role}.{knob.name}"
    return None
