"""The options of ``httpbed compare``, each with the place in an experiment that it sets.

Command line, help, and the experiment that is written come from this one table. Every option takes
several values with commas between them; each value is then a level of a factor.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from httpbed.base.clock import Clock
from httpbed.base.errors import Mistake
from httpbed.base.units import QUANTITY, from_tc
from httpbed.programs.catalog import Catalog

Place = tuple[str, ...]
NONE = "none"
"""No proxy."""
VERSIONS: Mapping[str, str] = {
    **dict.fromkeys(("h1", "h1.1", "1", "1.1"), "1.1"),
    **dict.fromkeys(("h2", "2"), "2"),
    **dict.fromkeys(("h3", "3"), "3"),
}
"""HTTP versions as they are typed -> as experiments spell them."""


@dataclass(frozen=True)
class PlacedOption:
    """A value of the experiment that can be given, or varied."""

    name: str
    kind: str
    """A kind of :data:`~httpbed.base.units.TC_UNITS`, ``count`` or ``word``."""
    default: str | None
    """None: absent."""
    example: str
    help: str
    place: Place = ()
    """Table and keys of the value; empty where several values depend on the option."""

    @property
    def flag(self) -> str:
        """Return the option as it is typed."""
        return f"--{self.name}"

    @property
    def factor(self) -> str:
        """Return the name of its factor, if it is varied."""
        return "congestion_control" if self.name == "cc" else self.name.replace("-", "_")


OPTIONS = (
    PlacedOption("server", "word", "nginx", "nginx", "The program that serves the file."),
    PlacedOption(
        "proxy",
        "word",
        NONE,
        "none,envoy",
        "A reverse proxy between them, or none. NAME:h2 uses HTTP/2 towards the server;"
        " default: HTTP/1.1 if the proxy has it.",
    ),
    PlacedOption(
        "cc",
        "word",
        None,
        "cubic,bbr",
        "Congestion control of the program that sends to the client,"
        " the proxy or else the server. A sender without a choice runs once.",
    ),
    PlacedOption(
        "network",
        "word",
        None,
        "lte,3g-india",
        "Known networks in place of --rate, --delay, --loss and --queue; docs: links.",
        ("link", "profile"),
    ),
    PlacedOption(
        "rate", "rate", "10mbit", "10mbit", "Capacity of the client's link.", ("link", "rate")
    ),
    PlacedOption(
        "delay",
        "duration",
        "25ms",
        "50ms",
        "One-way delay of the client's link.",
        ("link", "delay"),
    ),
    PlacedOption(
        "delay-reading",
        "word",
        None,
        "round-trip",
        "How to read --delay: one-way or round-trip.",
        ("link", "delay_reading"),
    ),
    PlacedOption(
        "loss",
        "share",
        "0%",
        "0%,4%",
        "Loss on the client's link, per direction.",
        ("link", "loss"),
    ),
    PlacedOption(
        "queue",
        "amount",
        None,
        "1bdp",
        "Queue limit of the client's link: packets, bytes, time or bandwidth-delay products.",
        ("link", "queue", "limit"),
    ),
    PlacedOption("ip", "word", None, "4,6", "IP version.", ("topology", "ip_version")),
    PlacedOption(
        "page",
        "word",
        None,
        "mine,site.har",
        "Pages that a browser loads, in place of files: a name of httpbed pages, or a HAR file.",
        ("workload", "page"),
    ),
    PlacedOption(
        "device",
        "word",
        None,
        "moto-g-power",
        "Devices whose screen and user agent the browser takes on.",
        ("workload", "device"),
    ),
    PlacedOption("size", "size", "1MB", "1MB", "Length of each file.", ("workload", "size")),
    PlacedOption(
        "files",
        "count",
        None,
        "20",
        "Number of files, fetched side by side.",
        ("workload", "files"),
    ),
    PlacedOption(
        "connections",
        "count",
        None,
        "6",
        "Number of connections; HTTP/2 and HTTP/3 use one.",
        ("workload", "connections"),
    ),
    PlacedOption(
        "rounds",
        "count",
        None,
        "10",
        "How often everything is fetched, on warm connections.",
        ("workload", "rounds"),
    ),
    PlacedOption(
        "resumption",
        "word",
        None,
        "'early data'",
        "TLS resumption of the client: none, resumed or early data.",
        ("workload", "resumption"),
    ),
)
INSTEAD: Mapping[str, tuple[str, ...]] = {
    "network": ("rate", "delay", "delay-reading", "loss", "queue"),
    "page": ("size", "files", "connections", "rounds", "resumption"),
}
"""Options that replace others, and these."""
CLIENT, KNOB, REPLICATES, SEED = "CLIENT", "--knob", "--replicates", "--seed"
CLOCK = "--clock"
AGAINST = "--against"
PREFIX = "compare-"
"""Begins the names of experiments that a line made."""


@dataclass(frozen=True)
class VersionedClient:
    """A client with the HTTP version in which it sends requests."""

    name: str
    """As it is typed."""
    http_version: str

    @property
    def level(self) -> str:
        """Return its level, such as ``curl:h2``."""
        return f"{self.name}:h{self.http_version.removesuffix('.1')}"


@dataclass(frozen=True)
class RoleKnob:
    """A knob of all programs in a role, with its values."""

    role: str
    name: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class CommandLine:
    """The words of a command line, as they were typed."""

    clients: Sequence[str]
    options: Mapping[str, str | None]
    """Texts by the names of options; None for an option that is not given."""
    knobs: Sequence[str]
    replicates: str
    seed: str
    further: Sequence[str] = ()
    """Words that decide which programs exist."""
    clock: Clock = "real"
    asked_clock: str | None = None
    """As it was typed; the folder's name depends on it, so that the same line finds its campaign
    whatever clock httpbed chose."""
    against: tuple[str, str] | None = None
    """A program, and the path of its second build."""
    name: str | None = None
    """The experiment's name, if a campaign has it already; a digest of the line without it."""

    def identity(self) -> str:
        """Return what names the experiment: the line without the number of blocks, which grows."""
        return shlex.join(replace(self, replicates="").words(self.asked_clock))

    def words(self, clock: str | None) -> Iterator[str]:
        """Yield the words of a command line that does the same, by this clock."""
        yield from ("httpbed", "compare", *self.clients)
        for option in OPTIONS:
            if text := self.options.get(option.name):
                yield from (option.flag, text)
        for knob in self.knobs:
            yield from (KNOB, knob)
        yield from (REPLICATES, self.replicates, SEED, self.seed, *self.further)
        if clock:
            yield from (CLOCK, clock)
        if self.against:
            yield from (AGAINST, "=".join(self.against))


@dataclass(frozen=True)
class ComparisonOptions:
    """The values of a command line."""

    line: CommandLine
    clients: tuple[VersionedClient, ...]
    values: Mapping[str, tuple[str, ...]]
    """Values by the names of options, spelled as in experiments; without absent options."""
    knobs: tuple[RoleKnob, ...]


def parse(line: CommandLine, catalog: Catalog) -> tuple[ComparisonOptions, list[Mistake]]:
    """Return the values of a command line, and mistakes in its words.

    Mistakes in values are found later, in the experiment that they make.
    """
    mistakes: list[Mistake] = []
    values = {}
    mistakes += _stray(line.options)
    stray = {name for one, names in INSTEAD.items() if line.options.get(one) for name in names}
    if line.options.get("page") is None:
        stray.add("device")
    for option in OPTIONS:
        typed = line.options.get(option.name)
        text = option.default if typed is None else typed
        if option.name in stray:
            continue
        if text is not None:
            listed = [_spelled(option.kind, part) for part in _parts(text)]
            mistakes += _list_mistakes(option.flag, listed)
            default = option.default and _spelled(option.kind, option.default)
            values[option.name] = _usable(listed, default)
    peers = [one.partition(":")[0] for one in values["proxy"] if one != NONE]
    peers += values["server"] if NONE in values["proxy"] else ()
    words = [word for text in line.clients for word in _parts(text)]
    clients = [
        client for word in words if word for client in _clients(word, peers, catalog, mistakes)
    ]
    empty = [word for word in words if not word]
    mistakes += _list_mistakes(CLIENT, [*empty, *(client.level for client in clients)])
    knobs = [_knob(word, mistakes) for word in line.knobs]
    mistakes += _proxy_knobs_without_proxy(knobs, values["proxy"])
    chosen = ComparisonOptions(
        line=line,
        clients=tuple(dict.fromkeys(clients)),
        values={name: one for name, one in values.items() if one},
        knobs=tuple(knob for knob in knobs if knob),
    )
    return chosen, [*mistakes, *_idle_second_build(chosen, catalog)]


def _stray(options: Mapping[str, str | None]) -> Iterator[Mistake]:
    """Yield a mistake for each option that another one replaces, or that needs a page."""
    for name, others in INSTEAD.items():
        for other in others:
            if options.get(name) is not None and options.get(other) is not None:
                reason = f"has no effect with --{name}, which replaces it"
                yield Mistake(f"--{other}", reason, "leave one of them out")
    if options.get("device") is not None and options.get("page") is None:
        yield Mistake("--device", "is for pages only", "add --page NAME")


def _idle_second_build(options: ComparisonOptions, catalog: Catalog) -> Iterator[Mistake]:
    """Yield a mistake if some treatment does not use the program that has a second build."""
    if options.line.against is None:
        return
    name, _ = options.line.against
    clients = {program(client.name, catalog) for client in options.clients}
    proxies = {NONE if one == NONE else proxy(one, catalog)[0] for one in options.values["proxy"]}
    servers = {program(one, catalog) for one in options.values["server"]}
    if {name} not in (clients, proxies, servers):
        reason = f"some of the treatments do not use {name}"
        yield Mistake(AGAINST, reason, f"compare {name} alone as client, proxy or server")


def _proxy_knobs_without_proxy(
    knobs: Iterable[RoleKnob | None], proxies: Sequence[str]
) -> Iterator[Mistake]:
    for knob in knobs:
        if knob and knob.role == "proxy" and set(proxies) == {NONE}:
            place = f"{KNOB} {knob.role}.{knob.name}"
            yield Mistake(place, "there is no proxy to set", "add --proxy NAME")


def program(name: str, catalog: Catalog) -> str:
    """Return the name of a recipe; ``quiche`` is short for ``httpbed-quiche``, for example."""
    own = f"httpbed-{name}"
    return own if name not in catalog.recipes and own in catalog.recipes else name


def proxy(word: str, catalog: Catalog) -> tuple[str, str]:
    """Split a value of ``--proxy`` into the program and the HTTP version of its requests."""
    name, _, version = word.partition(":")
    name = program(name, catalog)
    recipe = catalog.recipes.get(name)
    known = recipe.upstream_http_versions if recipe else []
    if version:
        return name, VERSIONS.get(version, version)
    return name, known[0] if known else "1.1"


def _spelled(kind: str, text: str) -> str:
    """Spell a quantity as experiment files do, with a space before its unit."""
    match = QUANTITY.fullmatch(from_tc(kind, text)) if kind not in {"word", "count"} else None
    return f"{match['number']} {match['unit']}" if match and match["unit"] else text


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def _usable(values: Iterable[str], default: str | None) -> tuple[str, ...]:
    """Return each value once, without empty ones; the default if none is left."""
    found = tuple(dict.fromkeys(filter(None, values)))
    return found or ((default,) if default else ())


def _list_mistakes(flag: str, values: Sequence[str]) -> Iterator[Mistake]:
    if "" in values:
        yield Mistake(flag, "one of its values is empty", "put single commas between values")
    for value in dict.fromkeys(one for one in values if one and values.count(one) > 1):
        yield Mistake(flag, f"{value!r} is given twice", "give it once")


def _clients(
    word: str, peers: Sequence[str], catalog: Catalog, mistakes: list[Mistake]
) -> list[VersionedClient]:
    """Return a client for each version that a word means: without one, all that its peers speak."""
    name, colon, version = word.partition(":")
    if version in VERSIONS:
        return [VersionedClient(name, VERSIONS[version])]
    if colon:
        reason = f"{version!r} is not an HTTP version; known: h1, h2, h3"
        mistakes.append(Mistake(f"{CLIENT} {word}", reason))
        return []
    if name in VERSIONS:
        reason = f"{name!r} is an HTTP version without its program"
        mistakes.append(Mistake(f"{CLIENT} {word}", reason, f"write for example curl:{name}"))
        return []
    if program(name, catalog) not in catalog.recipes:
        return [VersionedClient(name, "2")]  # loading the experiment reports it
    names = [program(one, catalog) for one in (name, *peers)]
    recipes = [catalog.recipes[one] for one in names if one in catalog.recipes]
    clients = [
        VersionedClient(name, each)
        for each in recipes[0].http_versions
        if all(each in recipe.http_versions for recipe in recipes)
    ]
    if not clients:
        speaks, others = ", ".join(recipes[0].http_versions), ", ".join(peers)
        reason = f"speaks HTTP {speaks}, and {others} none of these"
        mistakes.append(Mistake(f"{CLIENT} {word}", reason))
    return clients


def _knob(word: str, mistakes: list[Mistake]) -> RoleKnob | None:
    place, equals, values = word.partition("=")
    role, dot, name = place.partition(".")
    if not (equals and dot and name and role in {"client", "proxy", "server"}):
        reason = f"{word!r} is not ROLE.KNOB=VALUE,... with ROLE client, proxy or server"
        mistakes.append(Mistake(KNOB, reason, "httpbed toolbox --json lists the knobs"))
        return None
    parts = _parts(values)
    mistakes += _list_mistakes(f"{KNOB} {place}", parts)
    return RoleKnob(role, name, tuple(dict.fromkeys(parts)))
