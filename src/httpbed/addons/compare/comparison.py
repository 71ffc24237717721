"""A comparison: from the words of a command line to an experiment without mistakes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import tomlkit
from tomlkit import TOMLDocument
from tomlkit.items import AoT, InlineTable, Table

from httpbed.addons.compare import draft as drafts
from httpbed.addons.compare import options, senders
from httpbed.addons.compare.draft import Draft
from httpbed.addons.compare.options import CLIENT, CommandLine, VersionedClient
from httpbed.base.errors import ConfigError, Mistake
from httpbed.campaign import preparation
from httpbed.campaign.loaded_experiment import LoadedExperiment
from httpbed.experiment.document import KeyPath, is_reference
from httpbed.programs.catalog import Catalog


@dataclass(frozen=True)
class Comparison:
    """The experiment that a command line describes."""

    loaded: LoadedExperiment
    """The experiment; its text is the experiment file."""
    skipped: tuple[str, ...]
    """Combinations that do not run, each with the reason."""


def comparison(line: CommandLine, catalog: Catalog) -> Comparison:
    """Write the experiment that a command line describes, and load it like any other file.

    Raises:
        ConfigError: With every mistake, each at its option.
    """
    _require_utf_8(line)
    chosen, mistakes = options.parse(line, catalog)
    stand_in = None
    if not chosen.clients:  # the other options are checked with another client
        stand_in = VersionedClient("chromium" if "page" in chosen.values else "curl", "2")
        chosen = replace(chosen, clients=(stand_in,))
    offered = senders.offers(chosen, catalog)
    further = [*senders.mistakes(offered, chosen, catalog)]
    draft = drafts.draft(chosen, offered, catalog)
    try:
        loaded = preparation.load(text(draft), catalog)
    except ConfigError as error:
        further += [_at_option(mistake, draft) for mistake in error.mistakes]
    if stand_in:
        its_place = f"{CLIENT} {stand_in.level}"
        further = [one for one in further if not one.place.startswith(its_place)]
    mistakes += further
    if mistakes:
        raise ConfigError(dict.fromkeys(mistakes))
    return Comparison(loaded, tuple(senders.skipped(offered)))


def _require_utf_8(line: CommandLine) -> None:
    """Refuse words with other bytes, which an experiment file cannot contain."""
    strange = [word for word in line.words(None) if word != word.encode(errors="replace").decode()]
    if strange:
        raise ConfigError(Mistake(word, "is not UTF-8", "rename it") for word in strange)


def _at_option(mistake: Mistake, draft: Draft) -> Mistake:
    """Return a mistake in the experiment at the option that caused it, if one did."""
    option = draft.option_at(mistake.path)
    return Mistake(option, mistake.reason, mistake.remedy) if option else mistake


Remarks = Mapping[KeyPath, Sequence[str]]


def text(draft: Draft) -> str:
    """Return a draft as TOML with its remarks as comments."""
    file, remarks = tomlkit.document(), draft.remarks
    _remark(file, remarks, ())
    for key, value in draft.document.items():
        if key == "factors":
            file[key] = _factors(value, remarks)
        elif key == "groups":
            file.add(tomlkit.nl())
            _remark(file, remarks, ("groups",))
            file[key] = _array(map(_table, value))
        elif key == "topology":
            file[key] = _topology(value, remarks)
        elif isinstance(value, Mapping) and not is_reference(value):
            file[key] = _table(value)
        else:
            file[key] = _inline(value)
    return tomlkit.dumps(file)


def _factors(factors: Mapping[str, Any], remarks: Remarks) -> Table:
    """Lay out the factors, those with tables last, as TOML wants it."""
    table = tomlkit.table()
    for name, levels in sorted(factors.items(), key=lambda item: isinstance(item[1], Mapping)):
        _remark(table, remarks, ("factors", name))
        if name == "proxy":
            table[name] = _tables(levels)
        else:
            table[name] = _table(levels) if isinstance(levels, Mapping) else levels
    return table


def _topology(topology: Mapping[str, Any], remarks: Remarks) -> Table:
    links = [_table(link) for link in topology["links"]]
    table = _table({key: value for key, value in topology.items() if key != "links"})
    for index in range(1, len(links)):
        links[index - 1].add(tomlkit.nl())
        _remark(links[index - 1], remarks, ("topology", "links", index))
    table.append("links", _array(links))
    return table


def _array(tables: Any) -> AoT:
    array = tomlkit.aot()
    array.extend(tables)
    return array


def _table(values: Mapping[str, Any]) -> Table:
    """Lay out a table with one value per line."""
    table = tomlkit.table()
    for key, value in values.items():
        table[key] = _inline(value)
    return table


def _tables(values: Mapping[str, Any]) -> Table:
    """Lay out a table of tables, each with its own heading."""
    table = tomlkit.table(is_super_table=True)
    for key, value in values.items():
        table[key] = _table(value)
    return table


def _inline(value: Any) -> Any:
    if isinstance(value, Mapping):
        table: InlineTable = tomlkit.inline_table()
        for key, part in value.items():
            table[key] = _inline(part)
        return table
    if isinstance(value, list):
        array = tomlkit.array()
        for part in value:
            array.append(_inline(part))
        return array
    return value


def _remark(place: TOMLDocument | Table, remarks: Remarks, path: KeyPath) -> None:
    for line in remarks.get(path, ()):
        place.add(tomlkit.comment(line))
