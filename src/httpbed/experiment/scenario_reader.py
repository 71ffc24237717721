"""Read the scenarios of many treatments, validating each shared part once.

An experiment with a thousand levels has thousands of scenarios, and most of their parts are shared
objects (see :class:`httpbed.experiment.document.ExperimentDocument`). A part that is valid in one
scenario is valid in all. Checks across parts, such as which role is on which host, run for each
scenario.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import TypeAdapter, ValidationError

from httpbed.experiment.document import MAX_SHARED_PARTS
from httpbed.experiment.scenario import Scenario

_ADAPTERS: Mapping[str, TypeAdapter[Any]] = {
    name: TypeAdapter(Annotated[info.annotation, info])  # type: ignore[arg-type]
    for name, info in Scenario.model_fields.items()
}


@dataclass
class _Part:
    """A validated part of a document."""

    source: Any
    """The part itself: keeping it alive keeps its ``id`` unique."""
    value: Any
    is_valid: bool
    is_reported: bool = False
    """Whether an earlier document had the same invalid part."""


class ScenarioReader:
    """Reads scenarios from their documents; recognises a shared part by its object identity."""

    def __init__(self) -> None:
        self._parts: dict[tuple[str, int], _Part] = {}

    def read(self, document: Mapping[str, Any]) -> Scenario:
        """Return a scenario, as :meth:`Scenario.model_validate` does.

        Raises:
            ValidationError: With every mistake in the document.
        """
        parts = {name: self._part(name, source) for name, source in document.items()}
        if all(part.is_valid for part in parts.values()):
            return Scenario.model_validate({name: part.value for name, part in parts.items()})
        return Scenario.model_validate(document)

    def may_have_new_mistake(self, document: Mapping[str, Any]) -> bool:
        """Whether reading a document may find a mistake that no earlier document had.

        It cannot if every invalid part was in an earlier document: checks across parts run only
        when all parts are valid.
        """
        parts = [self._part(name, source) for name, source in document.items()]
        invalid = [part for part in parts if not part.is_valid]
        unreported = [part for part in invalid if not part.is_reported]
        for part in unreported:
            part.is_reported = True
        return not invalid or bool(unreported)

    def _part(self, name: str, source: Any) -> _Part:
        key = (name, id(source))
        if key not in self._parts:
            if len(self._parts) >= MAX_SHARED_PARTS:
                self._parts.clear()
            self._parts[key] = _validated(name, source)
        return self._parts[key]


def _validated(name: str, source: Any) -> _Part:
    try:
        return _Part(source, _ADAPTERS[name].validate_python(source), is_valid=True)
    except ValidationError:
        return _Part(source, None, is_valid=False)
