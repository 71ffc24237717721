"""Scenarios of many treatments, checked part by part: what they share is checked once.

An experiment with a thousand levels makes thousands of scenarios, most of whose parts are the same
objects (:class:`httpbed.experiment.experiment.Written`). A part that is right is right in all of
them; what joins the parts, such as who is on which host, is checked in each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import TypeAdapter, ValidationError

from httpbed.experiment.experiment import MOST_SHARED_PARTS
from httpbed.experiment.scenario import Scenario

_ADAPTERS: Mapping[str, TypeAdapter[Any]] = {
    name: TypeAdapter(Annotated[info.annotation, info])  # type: ignore[arg-type]
    for name, info in Scenario.model_fields.items()
}


@dataclass
class _Part:
    """A part of a document as it was read."""

    said: Any
    """Kept, so that no other object has its identity."""
    value: Any
    is_right: bool
    is_told: bool = False
    """Whether a document with it was news before."""


class Scenarios:
    """Reads scenarios from their documents; parts are told apart as objects, not by content."""

    def __init__(self) -> None:
        self._parts: dict[tuple[str, int], _Part] = {}

    def read(self, document: Mapping[str, Any]) -> Scenario:
        """Return a scenario, as :meth:`Scenario.model_validate` does.

        Raises:
            ValidationError: With every mistake in it.
        """
        parts = {name: self._part(name, said) for name, said in document.items()}
        if all(part.is_right for part in parts.values()):
            return Scenario.model_validate({name: part.value for name, part in parts.items()})
        return Scenario.model_validate(document)

    def is_news(self, document: Mapping[str, Any]) -> bool:
        """Whether reading a document can find a mistake that no document before it had.

        It cannot where each part that is wrong was asked about before: what joins parts is
        checked where all of them are right.
        """
        parts = [self._part(name, said) for name, said in document.items()]
        wrong = [part for part in parts if not part.is_right]
        untold = [part for part in wrong if not part.is_told]
        for part in untold:
            part.is_told = True
        return not wrong or bool(untold)

    def _part(self, name: str, said: Any) -> _Part:
        key = (name, id(said))
        if key not in self._parts:
            if len(self._parts) >= MOST_SHARED_PARTS:
                self._parts.clear()
            self._parts[key] = _read(name, said)
        return self._parts[key]


def _read(name: str, said: Any) -> _Part:
    try:
        return _Part(said, _ADAPTERS[name].validate_python(said), is_right=True)
    except ValidationError:
        return _Part(said, None, is_right=False)
