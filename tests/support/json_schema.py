"""As much of JSON Schema as the published schema uses; a keyword beyond that is an error."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

PARTS = (
    "schema",
    "name",
    "factors",
    "groups",
    "exclude",
    "scales",
    "topology",
    "roles",
    "workload",
    "report",
    "seed",
)
_SAID_ONLY = {"$schema", "$defs", "title", "description", "default", "examples"}
_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "null": type(None),
    "boolean": bool,
}


def mistakes(schema: dict[str, Any], value: Any) -> list[str]:
    """List what keeps a value from being an instance of the schema."""
    return list(_Checker(schema).check(schema, value, "$"))


class _Checker:
    def __init__(self, root: dict[str, Any]) -> None:
        self.root = root

    def check(self, schema: dict[str, Any], value: Any, at: str) -> Iterator[str]:
        for keyword, said in schema.items():
            if keyword in _SAID_ONLY or keyword == "properties":
                continue
            name = keyword.removeprefix("$")
            yield from getattr(self, f"_{name}")(said, value, at, schema)
        if isinstance(value, dict):
            for key in set(schema.get("properties", {})) & set(value):
                yield from self.check(schema["properties"][key], value[key], f"{at}.{key}")

    def _ref(self, said: str, value: Any, at: str, _: Any) -> Iterator[str]:
        yield from self.check(self.root["$defs"][said.removeprefix("#/$defs/")], value, at)

    def _type(self, said: str, value: Any, at: str, _: Any) -> Iterator[str]:
        if not isinstance(value, _TYPES[said]) or isinstance(value, bool) != (said == "boolean"):
            yield f"{at}: not of type {said}"

    def _anyOf(self, said: list[Any], value: Any, at: str, _: Any) -> Iterator[str]:  # noqa: N802
        if all(list(self.check(one, value, at)) for one in said):
            yield f"{at}: matches none of anyOf"

    def _oneOf(self, said: list[Any], value: Any, at: str, _: Any) -> Iterator[str]:  # noqa: N802
        if sum(not list(self.check(one, value, at)) for one in said) != 1:
            yield f"{at}: matches not exactly one of oneOf"

    def _required(self, said: list[str], value: Any, at: str, _: Any) -> Iterator[str]:
        missing = set(said) - set(value) if isinstance(value, dict) else ()
        yield from (f"{at}: {name} is missing" for name in missing)

    def _additionalProperties(  # noqa: N802 - named as in the schema
        self, said: Any, value: Any, at: str, schema: dict[str, Any]
    ) -> Iterator[str]:
        others = set(value) - set(schema.get("properties", {})) if isinstance(value, dict) else ()
        for name in others:
            if said is False:
                yield f"{at}: {name} is unknown"
            elif isinstance(said, dict):
                yield from self.check(said, value[name], f"{at}.{name}")

    def _propertyNames(self, said: Any, value: Any, at: str, _: Any) -> Iterator[str]:  # noqa: N802
        for name in value if isinstance(value, dict) else ():
            yield from self.check(said, name, f"{at}.{name}")

    def _patternProperties(self, said: Any, value: Any, at: str, _: Any) -> Iterator[str]:  # noqa: N802
        for pattern, schema in said.items():
            for name in (name for name in value if re.search(pattern, name)):
                yield from self.check(schema, value[name], f"{at}.{name}")

    def _items(self, said: Any, value: Any, at: str, _: Any) -> Iterator[str]:
        for index, item in enumerate(value if isinstance(value, list) else ()):
            yield from self.check(said, item, f"{at}[{index}]")

    def _prefixItems(self, said: Any, value: Any, at: str, _: Any) -> Iterator[str]:  # noqa: N802
        for index, (one, item) in enumerate(zip(said, value, strict=False)):
            yield from self.check(one, item, f"{at}[{index}]")

    def _const(self, said: Any, value: Any, at: str, _: Any) -> Iterator[str]:
        if value != said:
            yield f"{at}: not {said!r}"

    def _enum(self, said: Any, value: Any, at: str, _: Any) -> Iterator[str]:
        if value not in said:
            yield f"{at}: none of {said!r}"

    def _pattern(self, said: str, value: Any, at: str, _: Any) -> Iterator[str]:
        if isinstance(value, str) and not re.search(said, value):
            yield f"{at}: does not match {said}"

    def _minLength(self, said: int, value: Any, at: str, _: Any) -> Iterator[str]:  # noqa: N802
        yield from self._least(said, len(value) if isinstance(value, str) else said, at)

    def _maxLength(self, said: int, value: Any, at: str, _: Any) -> Iterator[str]:  # noqa: N802
        yield from self._least(-said, -len(value) if isinstance(value, str) else -said, at)

    def _minItems(self, said: int, value: Any, at: str, _: Any) -> Iterator[str]:  # noqa: N802
        yield from self._least(said, len(value) if isinstance(value, list) else said, at)

    def _maxItems(self, said: int, value: Any, at: str, _: Any) -> Iterator[str]:  # noqa: N802
        yield from self._least(-said, -len(value) if isinstance(value, list) else -said, at)

    def _minProperties(self, said: int, value: Any, at: str, _: Any) -> Iterator[str]:  # noqa: N802
        yield from self._least(said, len(value) if isinstance(value, dict) else said, at)

    def _minimum(self, said: float, value: Any, at: str, _: Any) -> Iterator[str]:
        yield from self._least(said, value if isinstance(value, int | float) else said, at)

    def _maximum(self, said: float, value: Any, at: str, _: Any) -> Iterator[str]:
        yield from self._least(-said, -value if isinstance(value, int | float) else -said, at)

    def _exclusiveMinimum(self, said: float, value: Any, at: str, _: Any) -> Iterator[str]:  # noqa: N802
        if isinstance(value, int | float) and value <= said:
            yield f"{at}: not above {said}"

    def _exclusiveMaximum(self, said: float, value: Any, at: str, _: Any) -> Iterator[str]:  # noqa: N802
        if isinstance(value, int | float) and value >= said:
            yield f"{at}: not below {said}"

    def _least(self, least: float, value: float, at: str) -> Iterator[str]:
        if value < least:
            yield f"{at}: {value} beyond {least}"


def as_toml(document: dict[str, Any]) -> str:
    """Write a document of any shape as TOML."""
    return "".join(f"{key} = {_inline(value)}\n" for key, value in document.items())


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        said = ", ".join(f"{json.dumps(key)} = {_inline(one)}" for key, one in value.items())
        return f"{{{said}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_inline, value))}]"
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else f"{value:+}"
    return json.dumps(value).replace("\x7f", "\\u007f")
