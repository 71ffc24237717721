"""Columns of a dataset: each with its description, which its descriptor gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa
from pydantic import BaseModel

from httpbed.experiment import schema
from httpbed.experiment.impairments.descriptor import FeatureKind

Cell = float | str | bool | None
"""A value in a dataset; None is missing."""
ARROW_TYPES: Mapping[FeatureKind, pa.DataType] = {
    "string": pa.string(),
    "integer": pa.int64(),
    "number": pa.float64(),
    "boolean": pa.bool_(),
}
SECTIONS = (
    "trial",
    "factors",
    "workload",
    "programs",
    "path",
    "links",
    "machine",
    "outcome",
    "metrics",
    "checks",
)
"""Groups of columns, in the order of a dataset."""


class ColumnPlace(NamedTuple):
    """Where a column stands in a dataset; columns of one place keep their order."""

    section: int
    number: int = 0
    """The number of a link or proxy, counted from the client."""


@dataclass(frozen=True)
class DatasetColumn:
    """A column of a dataset."""

    name: str
    kind: FeatureKind
    description: str
    source: str
    """What states or observes its values."""
    unit: str = ""
    """Empty for texts and truth values, ``1`` for shares, counts and indexes."""
    place: ColumnPlace = field(default=ColumnPlace(0), compare=False)


Cells = dict[DatasetColumn, Cell]
"""Values of one trial."""


def place(section: str, number: int = 0) -> ColumnPlace:
    """Return the place of a column in one of :data:`SECTIONS`."""
    return ColumnPlace(SECTIONS.index(section), number)


def described(model: type[BaseModel], name: str) -> str:
    """Return the description of a model's field, in one line.

    Raises:
        ValueError: The field has no docstring.
    """
    text = schema.field_docstrings(model).get(name)
    if not text:
        raise ValueError(f"{model.__name__}.{name} has no description")
    return plain(text)


def plain(text: str) -> str:
    """Return a docstring in one line, with code in single backticks."""
    return " ".join(text.replace("``", "`").split())
