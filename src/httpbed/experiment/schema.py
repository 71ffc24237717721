"""The JSON Schema of an experiment file, generated from the models that validate it."""

from __future__ import annotations

from typing import Any

from httpbed.experiment.experiment import experiment_model
from httpbed.experiment.field_docstrings import DocumentedSchema
from httpbed.experiment.scenario import Scenario

REFERENCE = {
    "type": "object",
    "properties": {"factor": {"type": "string"}},
    "required": ["factor"],
    "additionalProperties": False,
    "description": "A reference to a factor; each treatment has one of the factor's levels here.",
}


def experiment_schema() -> dict[str, Any]:
    """Return the schema, in which every value of a scenario may be a reference to a factor."""
    header = experiment_model().model_json_schema(schema_generator=DocumentedSchema)
    scenario = Scenario.model_json_schema(schema_generator=DocumentedSchema)
    definitions = {
        **header.pop("$defs", {}),
        **{name: _with_references(part) for name, part in scenario.pop("$defs", {}).items()},
        "FactorReference": REFERENCE,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "httpbed experiment",
        "type": "object",
        "properties": {
            **header["properties"],
            **_with_references({"properties": scenario["properties"]})["properties"],
        },
        "required": [*header["required"], *scenario["required"]],
        "additionalProperties": False,
        "$defs": definitions,
    }


def _with_references(part: dict[str, Any]) -> dict[str, Any]:
    properties = {
        name: _or_reference(schema) for name, schema in part.get("properties", {}).items()
    }
    return {**part, "properties": properties} if properties else part


def _or_reference(schema: dict[str, Any]) -> dict[str, Any]:
    """Accept a reference in place of a value, whatever its type: a level may be a table or list."""
    kept: dict[str, Any] = {
        name: schema[name] for name in ("description", "default") if name in schema
    }
    value = {name: part for name, part in schema.items() if name not in kept}
    if isinstance(value.get("items"), dict):
        value["items"] = {"anyOf": [value["items"], {"$ref": "#/$defs/FactorReference"}]}
    return {**kept, "anyOf": [value, {"$ref": "#/$defs/FactorReference"}]}
