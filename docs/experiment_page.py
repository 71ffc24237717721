"""The experiment file's page of the reference manual, from the file's JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]

INTRODUCTION = (
    "Written by `make docs` from the models that read the file. Editors complete and check the same"
    " keys by the [JSON Schema](experiment.schema.json), which `httpbed validate --schema` prints."
    " [Links](../concepts/links.md) explains the keys of a link. Most values may also be"
    ' `{ factor = "NAME" }`: each treatment then has one of the factor\'s levels there.'
)
FACTOR_REFERENCE = "FactorReference"
METRIC = "request_time"
"""A choice with this value is of all metrics, which have a page of their own."""
DEFINITION = "#/$defs/"
WORDS = {"string": "text", "integer": "integer", "number": "number", "boolean": "true or false"}


def page(schema: Schema) -> str:
    """Return the page: the keys of the file, then those of each table that a key may hold."""
    definitions = schema["$defs"]
    sections = ["# Experiment file", INTRODUCTION, "## The file", table(schema)]
    for name in in_order_of_use(schema, definitions):
        described = " ".join(definitions[name].get("description", "").split())
        sections += [f"## {name}", described.replace("``", "`"), table(definitions[name])]
    return "\n\n".join(filter(None, sections)) + "\n"


def in_order_of_use(schema: Schema, definitions: dict[str, Schema]) -> list[str]:
    """Return the names of all tables in the order in which a reader from the top meets them."""
    found: list[str] = []
    waiting = [schema["properties"]]
    while waiting:
        for name in references(waiting.pop(0)):
            if name not in (*found, FACTOR_REFERENCE):
                found.append(name)
                waiting.append(definitions[name].get("properties", {}))
    return [name for name in found if "properties" in definitions[name]]


def references(part: Any) -> Iterator[str]:
    """Give the names of the definitions that a part of the schema refers to."""
    if isinstance(part, dict):
        if isinstance(place := part.get("$ref"), str):
            yield place.removeprefix(DEFINITION)
        part = list(part.values())
    if isinstance(part, list):
        for below in part:
            yield from references(below)


def table(part: Schema) -> str:
    """Return a table with a line for each key."""
    required = part.get("required", [])
    rows = [
        f"| `{key}` | {' or '.join(forms(value))} | {default(key, value, required)}"
        f" | {meaning(value)} |"
        for key, value in part["properties"].items()
    ]
    return "\n".join(["| key | value | default | meaning |", "| --- | --- | --- | --- |", *rows])


def forms(value: Schema) -> list[str]:
    """Return each form that a value may have, except none and a reference to a factor."""
    found = list(dict.fromkeys(_forms(value)))
    return found or ["table"]


def _forms(value: Schema) -> Iterator[str]:
    if "$ref" in value:
        name = value["$ref"].removeprefix(DEFINITION)
        if name != FACTOR_REFERENCE:
            yield f"[{name}](#{name.lower()})"
    for way in value.get("anyOf") or value.get("oneOf") or []:
        yield from _forms(way)
    choices = (*value.get("enum", []), *_constant(value))
    if METRIC in choices:
        yield "a [metric](metrics.md)"
    else:
        yield from map(code, choices)
    if not choices:
        yield from _forms_of_type(value)


def _constant(value: Schema) -> list[Any]:
    return [value["const"]] if "const" in value else []


def _forms_of_type(value: Schema) -> Iterator[str]:
    match value.get("type"):
        case "array":
            yield f"list of {' or '.join(forms(value.get('items', {})))}"
        case "object":
            below = value.get("additionalProperties")
            yield f"table of {' or '.join(forms(below))}" if isinstance(below, dict) else "table"
        case "string" if "examples" in value:
            yield f"such as {code(value['examples'][0])}"
        case str(kind) if kind in WORDS:
            yield WORDS[kind]


def default(key: str, value: Schema, required: list[str]) -> str:
    """Return a key's default, or that it is required; empty where its absence says nothing."""
    if key in required:
        return "required"
    given = value.get("default")
    return "" if given is None or isinstance(given, (dict, list)) else code(given)


def meaning(value: Schema) -> str:
    """Return a key's description in one line, as Markdown."""
    return " ".join(value.get("description", "").split()).replace("``", "`").replace("|", "\\|")


def code(value: Any) -> str:
    """Return a value as it is written in the file, as far as JSON and TOML agree."""
    return f"`{json.dumps(value, ensure_ascii=False)}`".replace("|", "\\|")
