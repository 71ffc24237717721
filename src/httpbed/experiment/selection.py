"""Selections: levels of some factors, by which tables of an experiment file choose treatments."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from httpbed.experiment.factorial import FactorName, LevelText


def as_list(value: object) -> object:
    """Return a single text, or a single table, as a list of one."""
    return [value] if isinstance(value, str | Mapping) else value


class OneOrSeveral:
    """Makes the JSON Schema of a list accept one of its items, too."""

    def __get_pydantic_json_schema__(
        self, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        array = handler(core_schema)
        return {"anyOf": [array["items"], array]}


LevelOrLevels = Annotated[
    list[LevelText], Field(min_length=1), BeforeValidator(as_list), OneOrSeveral()
]
"""One level of a factor, or several."""
FactorNames = Annotated[
    list[FactorName], Field(max_length=6), BeforeValidator(as_list), OneOrSeveral()
]
"""One factor, or several."""
Selection = dict[FactorName, LevelOrLevels]
"""Levels of some factors."""


def selects(selection: Mapping[str, Collection[str]], treatment: Mapping[str, str]) -> bool:
    """Whether a treatment has, of every factor that is named, one of the levels."""
    return all(
        name in treatment and treatment[name] in levels for name, levels in selection.items()
    )
