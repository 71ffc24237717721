"""The link that the options of ``httpbed link`` describe.

The impairments' descriptors define the options; command line, help and this module loop over them.
An option holds in both directions; ``--up-...`` (from the command) and ``--down-...`` (to it) set
one. The options become the document that an experiment file would hold, and the same models read
it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from httpbed.base.errors import ConfigError, Mistake
from httpbed.base.units import from_tc
from httpbed.bed.network.link_file import READERS, FileError, LinkFile
from httpbed.experiment import profiles, validation_messages
from httpbed.experiment.impairments.descriptor import DIRECTIONS, Option, Place
from httpbed.experiment.impairments.registry import BY_FIELD, OPTIONS
from httpbed.experiment.topology import Link, Topology

COMMAND, FAR = "command", "far"
"""The two hosts of the link."""
BOTH = ""
CHANGE = "--change"
STATE = Option(
    "state", ("state",), "word", "down", "State of the link, down or up; only with --change."
)
"""The condition that only a running link takes, beside some options of a new one."""

_TRACE, _BURST = ("rate", "trace"), ("rate", "burst")


class OptionValue(NamedTuple):
    """The value of an option."""

    value: Any
    flag: str
    """The option as the user wrote it."""


@dataclass(frozen=True)
class DescribedLink:
    """A link as options describe it."""

    topology: Topology
    files: tuple[LinkFile, ...]
    written: tuple[Mapping[str, Any], Mapping[str, Any]]
    """Both directions, ``up`` first, as an experiment file would describe them."""

    @property
    def link(self) -> Link:
        """The only link of the topology."""
        return self.topology.links[0]


def describe(
    options: Mapping[str, str | bool],
    profile: str | None = None,
    traces: tuple[str, str] | None = None,
) -> DescribedLink:
    """Describe the link; ``options`` are by flag, without dashes.

    Reads only the files that the options name.

    Raises:
        ConfigError: With every mistake, each at its option.
    """
    given = {way: _given(options, way) for way in (BOTH, *DIRECTIONS)}
    for way, file in zip(DIRECTIONS, traces or (), strict=False):
        if file == "--":  # the option took the end of the options for its second file
            raise ConfigError([Mistake("--trace", "needs two files", "name one for each way")])
        given[way][_TRACE] = OptionValue(file, "--trace")
    mistakes = [*_twice(given), *_settle(given, _profile_rates(profile))]
    files, wrong = _read_files(given)
    link: dict[str, Any] = {"between": [COMMAND, FAR], **_tables(given[BOTH])}
    link |= {way: _tables(_whole(given, way)) for way in DIRECTIONS}
    if profile is not None:
        link["profile"] = profile
    whole = profiles.expanded(link)
    try:
        read = Topology.model_validate({"hosts": [COMMAND, FAR], "links": [whole]})
    except ValidationError as error:
        mistakes += [_mistake(detail, given) for detail in error.errors()]
    if mistakes or wrong:
        raise ConfigError(dict.fromkeys([*mistakes, *wrong]))
    up, down = (_written(whole, way) for way in DIRECTIONS)
    return DescribedLink(read, tuple(files), (up, down))


def _written(link: Mapping[str, Any], way: str) -> dict[str, Any]:
    """Return the impairments of one direction as they are written in a link's table."""
    both = {**link, **link.get(way, {})}
    return {field: both[field] for field in BY_FIELD if field in both}


def _read_files(
    given: Mapping[str, dict[Place, OptionValue]],
) -> tuple[list[LinkFile], list[Mistake]]:
    """Read every file that an option names, and put its digest beside its name."""
    files, wrong = [], []
    for options in given.values():
        for path, option in options.items():
            key = path[-1]
            if key not in READERS:
                continue
            try:
                file = LinkFile.read(Path(option.value).resolve(), key)
            except FileError as error:
                wrong.append(Mistake(option.flag, str(error)))
            else:
                files.append(file)
                options[path] = OptionValue({key: str(file.path), **file.known()}, option.flag)
    return files, wrong


def _given(options: Mapping[str, str | bool], way: str) -> dict[Place, OptionValue]:
    """Collect the options for one direction, or for both, by their places in the link."""
    values = {}
    for option in OPTIONS:
        flag = option.flag(way)
        value = options.get(flag.removeprefix("--"))
        if value not in {None, False}:
            values[option.path] = OptionValue(_read(option.kind, value), flag)
    return values


def _read(kind: str, value: str | bool) -> str | int:
    if isinstance(value, str) and kind == "count" and value.isascii() and value.isdigit():
        return int(value)
    return from_tc(kind, value) if isinstance(value, str) else value


def _whole(given: Mapping[str, dict[Place, OptionValue]], way: str) -> dict[Place, OptionValue]:
    """Add to each part that a direction sets the options that both directions share.

    A file is all of its part: it is not combined with other options.
    """
    of_way = given[way]
    parts = {path[0] for path in of_way if path != _TRACE}
    files = {path[0] for path in of_way if path[-1] in READERS}
    added = {
        path: option
        for path, option in given[BOTH].items()
        if path[0] in parts - files and path[-1] not in READERS
    }
    return added | of_way


def _tables(given: Mapping[Place, OptionValue]) -> dict[str, Any]:
    """Nest the values by their places."""
    short = {option.path: option.alone for option in OPTIONS if option.alone}
    tables: dict[str, Any] = {}
    for path, setting in given.items():
        lone = sum(other[0] == path[0] for other in given) == 1
        *parents, last = short[path] if lone and path in short else path
        table = tables
        for parent in parents:
            table = table.setdefault(parent, {})
        if isinstance(setting.value, dict):
            table |= setting.value
        else:
            table[last] = setting.value
    return tables


def _settle(
    given: dict[str, dict[Place, OptionValue]], rates: Mapping[str, str]
) -> Iterator[Mistake]:
    """Move an option for both directions to those directions that have the option it adds to.

    That may also be the rate of a profile for one direction. Options that add to nothing are
    removed, each with a mistake.
    """
    places = {option.name: option.path for option in OPTIONS}
    for option in [option for option in OPTIONS if option.needs]:
        needed = places[option.needs or ""]
        both = given[BOTH].get(option.path)
        if option.path == _BURST and needed not in given[BOTH]:
            _say_rates(given, needed, rates)
        if both and needed not in given[BOTH]:
            having = [way for way in DIRECTIONS if needed in given[way]]
            for way in having:
                given[way].setdefault(option.path, both)
            del given[BOTH][option.path]
            if not having:
                yield _nothing_to_add_to(option, both)
        for way in DIRECTIONS:
            if option.path in given[way] and not {needed} & {*given[way], *given[BOTH]}:
                yield _nothing_to_add_to(option, given[way].pop(option.path))


def _say_rates(
    given: dict[str, dict[Place, OptionValue]], place: Place, rates: Mapping[str, str]
) -> None:
    """Write a profile's rate into each direction that has a burst and no rate."""
    for way in DIRECTIONS:
        has_burst = _BURST in given[BOTH] or _BURST in given[way]
        if has_burst and way in rates and _TRACE not in given[way]:
            given[way].setdefault(place, OptionValue(rates[way], "--profile"))


def _profile_rates(name: str | None) -> dict[str, str]:
    """Return a profile's rates by direction, if they are constant."""
    link = profiles.expanded({"profile": name})
    rates = {way: link.get(way, {}).get("rate", link.get("rate")) for way in DIRECTIONS}
    return {way: rate for way, rate in rates.items() if isinstance(rate, str)}


def _nothing_to_add_to(option: Option, setting: OptionValue) -> Mistake:
    return Mistake(setting.flag, f"only adds to --{option.needs}", f"give --{option.needs} too")


def _twice(given: dict[str, dict[Place, OptionValue]]) -> Iterator[Mistake]:
    """Remove options that a file already answers: a trace the rate, a record the losses."""
    for way in (BOTH, *DIRECTIONS):
        for file in [path for path in given[way] if path[-1] in READERS]:
            for pool in (given[way], given[BOTH] if file == _TRACE else {}):
                for other in [path for path in pool if path[0] == file[0] and path != file]:
                    reason = f"{given[way][file].flag} says it already"
                    yield Mistake(pool[other].flag, reason, "give one of the two")
                    del pool[other]


def idle(options: Mapping[str, str | bool], link: Link) -> Iterator[Mistake]:
    """Yield the options on queues and counting that have no effect, because no rate is set."""
    limited = {
        way: direction.rate is not None
        for way, direction in zip(DIRECTIONS, link.directions(), strict=True)
    }
    limited[BOTH] = any(limited.values())
    for option in OPTIONS:
        for way in (BOTH, *DIRECTIONS) if option.path[0] in {"queue", "counted"} else ():
            flag = option.flag(way)
            if options.get(flag[2:]) and not limited[way]:
                yield Mistake(flag, "does nothing without a rate", "give --rate too")


def _mistake(detail: ErrorDetails, given: Mapping[str, dict[Place, OptionValue]]) -> Mistake:
    """Return the mistake of a model at the option that caused it."""
    place = tuple(map(str, detail["loc"][2:]))
    way = place[0] if place and place[0] in DIRECTIONS else BOTH
    inside = place[1:] if way else place
    pool = _whole(given, way) if way else given[BOTH]
    close = [setting.flag for path, setting in pool.items() if set(path) <= set(inside)]
    near = [setting.flag for path, setting in pool.items() if inside and path[0] == inside[0]]
    flag = next(iter((*close, *near)), f"--{'-'.join(inside) or 'profile'}")
    lacking = next((option for option in OPTIONS if option.path == inside), None)
    if detail["type"] == "missing" and lacking:
        return Mistake(flag, f"needs {lacking.flag(way)}", f"give {lacking.flag(way)} too")
    return Mistake(flag, *validation_messages.reason_and_remedy(detail))
