"""The options of ``httpbed compare``, each with the place in an experiment that it fills.

One table says what there is; command line, help, the file that is written and the way back from
a mistake in that file to the option are all made from it. Every option takes several values, with
commas between them: each is then a level of a factor.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from httpbed.experiment.errors import Mistake
from httpbed.experiment.units import QUANTITY
from httpbed.network.shell.tc_quantities import spelled
from httpbed.programs.catalog import Catalog

Place = tuple[str, ...]
NONE = "none"
"""No proxy."""
VERSIONS: Mapping[str, str] = {
    **dict.fromkeys(("h1", "h1.1", "1", "1.1"), "1.1"),
    **dict.fromkeys(("h2", "2"), "2"),
    **dict.fromkeys(("h3", "3"), "3"),
}
"""HTTP versions as they are typed -> as experiments have them."""


@dataclass(frozen=True)
class Option:
    """One thing that can be said, or varied."""

    name: str
    kind: str
    """A kind of :data:`~httpbed.network.shell.tc_quantities.KNOWN`, ``count`` or ``word``."""
    default: str | None
    """None: absent."""
    example: str
    help: str
    place: Place = ()
    """Table and key that it fills; empty where more than one key depends on it."""

    @property
    def flag(self) -> str:
        """As it is typed."""
        return f"--{self.name}"

    @property
    def factor(self) -> str:
        """Name of the factor that it is when it is varied."""
        return "congestion_control" if self.name == "cc" else self.name.replace("-", "_")


OPTIONS = (
    Option("server", "word", "nginx", "nginx", "The program that has the file."),
    Option("proxy", "word", NONE, "none,envoy", "A reverse proxy between them; none is none."
           " NAME:h2 asks its server over HTTP/2, and so on; else it is HTTP/1.1 or what it can."),
    Option("cc", "word", None, "cubic,bbr", "Congestion control of whoever sends to the client,"
           " the proxy or else the server. A sender that has no choice runs once."),
    Option("rate", "rate", "10mbit", "10mbit", "Capacity of the client's link.", ("link", "rate")),
    Option("delay", "duration", "25ms", "50ms", "One-way delay of the client's link.",
           ("link", "delay")),
    Option("delay-reading", "word", None, "round-trip", "How to read --delay: one-way or"
           " round-trip.", ("link", "delay_reading")),
    Option("loss", "share", "0%", "0%,4%", "Loss on the client's link, each way.",
           ("link", "loss")),
    Option("queue", "amount", None, "1bdp", "What may wait for the client's link: packets, bytes,"
           " time or bandwidth-delay products.", ("link", "queue", "limit")),
    Option("ip", "word", None, "4,6", "Version of IP.", ("topology", "ip_version")),
    Option("size", "size", "1MB", "1MB", "Length of each file.", ("workload", "size")),
    Option("files", "count", None, "20", "Files that are fetched side by side.",
           ("workload", "files")),
    Option("connections", "count", None, "6", "Connections for them; over HTTP/2 and"
           " HTTP/3 there is one.",
           ("workload", "connections")),
    Option("rounds", "count", None, "10", "How often all of it is fetched, on warm connections.",
           ("workload", "rounds")),
    Option("resumption", "word", None, "'early data'", "none, resumed or early data: whether the"
           " client was there before.", ("workload", "resumption")),
)  # fmt: skip
BY_NAME: Mapping[str, Option] = {option.name: option for option in OPTIONS}
KNOB, REPLICATES, SEED = "--knob", "--replicates", "--seed"


@dataclass(frozen=True)
class Client:
    """A client with the HTTP version that it asks for."""

    name: str
    """As it is typed."""
    http_version: str

    @property
    def level(self) -> str:
        """Such as ``curl:h2``."""
        return f"{self.name}:h{self.http_version.removesuffix('.1')}"


@dataclass(frozen=True)
class Knob:
    """A setting of all programs in a role."""

    role: str
    name: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Line:
    """A command line."""

    clients: Sequence[str]
    said: Mapping[str, str | None]
    """What was said, by option."""
    knobs: Sequence[str]
    replicates: str
    seed: str
    further: Sequence[str] = ()
    """Words that say which programs there are."""

    def words(self) -> Iterator[str]:
        """Yield it as it can be typed again."""
        yield from ("httpbed", "compare", *self.clients)
        for option in OPTIONS:
            if text := self.said.get(option.name):
                yield from (option.flag, text)
        for knob in self.knobs:
            yield from (KNOB, knob)
        yield from (REPLICATES, self.replicates, SEED, self.seed, *self.further)


@dataclass(frozen=True)
class Wish:
    """What a command line says, taken apart."""

    line: Line
    clients: tuple[Client, ...]
    said: Mapping[str, tuple[str, ...]]
    """Values by option, as experiments spell them; options that are absent are not in it."""
    knobs: tuple[Knob, ...]


def wish(line: Line, catalog: Catalog) -> tuple[Wish, list[Mistake]]:
    """Take the words apart; what is wrong with a value is found in the experiment that it makes."""
    mistakes: list[Mistake] = []
    values = {}
    for option in OPTIONS:
        said = line.said.get(option.name)
        text = option.default if said is None else said
        if text is not None:
            values[option.name] = tuple(_spelled(option.kind, one) for one in _parts(text))
            mistakes += _list_mistakes(option.flag, values[option.name])
    answering = [one.partition(":")[0] for one in values["proxy"] if one != NONE]
    answering += values["server"] if NONE in values["proxy"] else ()
    words = [word for said in line.clients for word in said.split(",") if word]
    asked = [one for word in words for one in _clients(word, answering, catalog, mistakes)]
    mistakes += _list_mistakes("CLIENT", [one.level for one in asked])
    taken_apart = [_knob(word, mistakes) for word in line.knobs]
    mistakes += _nobody_to_set(taken_apart, values["proxy"])
    return Wish(
        line=line,
        clients=tuple(dict.fromkeys(asked)),
        said={name: tuple(dict.fromkeys(one)) for name, one in values.items()},
        knobs=tuple(knob for knob in taken_apart if knob),
    ), mistakes


def _nobody_to_set(knobs: Iterable[Knob | None], proxies: Sequence[str]) -> Iterator[Mistake]:
    """Find knobs of a proxy where there is none."""
    for knob in knobs:
        if knob and knob.role == "proxy" and set(proxies) == {NONE}:
            place = f"{KNOB} {knob.role}.{knob.name}"
            yield Mistake(place, "there is no proxy that has it", "add --proxy NAME")


def program(name: str, catalog: Catalog) -> str:
    """Return the recipe's name: that of one of httpbed's own may be cut short, as ``quiche`` is."""
    own = f"httpbed-{name}"
    return own if name not in catalog.recipes and own in catalog.recipes else name


def proxy(word: str, catalog: Catalog) -> tuple[str, str]:
    """Take apart what ``--proxy`` says: the program, and the HTTP version in which it asks."""
    name, _, version = word.partition(":")
    name = program(name, catalog)
    recipe = catalog.recipes.get(name)
    known = recipe.upstream_http_versions if recipe else []
    if version:
        return name, VERSIONS.get(version, version)
    return name, known[0] if known else "1.1"


def _spelled(kind: str, text: str) -> str:
    """Spell a quantity as experiment files do, with a space before its unit."""
    match = QUANTITY.fullmatch(spelled(kind, text)) if kind not in {"word", "count"} else None
    return f"{match['number']} {match['unit']}" if match and match["unit"] else text


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def _list_mistakes(flag: str, values: Sequence[str]) -> Iterator[Mistake]:
    if "" in values:
        yield Mistake(flag, "one of its values is empty", "put single commas between values")
    for value in dict.fromkeys(one for one in values if one and values.count(one) > 1):
        yield Mistake(flag, f"{value!r} stands twice", "say it once")


def _clients(
    word: str, answering: Sequence[str], catalog: Catalog, mistakes: list[Mistake]
) -> list[Client]:
    """List a client for each version that a word means: without one, all that are answered."""
    name, colon, version = word.partition(":")
    if version in VERSIONS:
        return [Client(name, VERSIONS[version])]
    if colon:
        reason = f"{version!r} is no HTTP version; known: h1, h2, h3"
        mistakes.append(Mistake(f"CLIENT {word}", reason))
        return []
    if program(name, catalog) not in catalog.recipes:
        return [Client(name, "2")]  # which is told when it is looked for
    names = [program(one, catalog) for one in (name, *answering)]
    all_of_them = [catalog.recipes[one] for one in names if one in catalog.recipes]
    found = [
        Client(name, each)
        for each in all_of_them[0].http_versions
        if all(each in recipe.http_versions for recipe in all_of_them)
    ]
    if not found:
        speaks = ", ".join(all_of_them[0].http_versions)
        reason = f"speaks HTTP {speaks}, and {', '.join(answering)} nothing of it"
        mistakes.append(Mistake(f"CLIENT {word}", reason))
    return found


def _knob(word: str, mistakes: list[Mistake]) -> Knob | None:
    place, equals, values = word.partition("=")
    role, dot, name = place.partition(".")
    if not (equals and dot and name and role in {"client", "proxy", "server"}):
        reason = f"{word!r} is not ROLE.KNOB=VALUE,... with a role of client, proxy and server"
        mistakes.append(Mistake(KNOB, reason, "httpbed recipes --json lists the knobs"))
        return None
    parts = _parts(values)
    mistakes += _list_mistakes(f"{KNOB} {place}", parts)
    return Knob(role, name, tuple(dict.fromkeys(parts)))
