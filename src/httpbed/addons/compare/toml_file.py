"""The experiment file of a comparison, laid out as a person would write it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tomlkit
from tomlkit import TOMLDocument
from tomlkit.items import AoT, InlineTable, Table

from httpbed.addons.compare.draft import Draft
from httpbed.experiment.document import KeyPath, is_reference

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
