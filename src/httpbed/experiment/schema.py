"""The JSON Schema of an experiment file, generated from the models that validate it.

Its descriptions are the docstrings of the models' fields, read from their source when they are
wanted. pydantic can read them as it defines each class, which takes a quarter of the time that the
models take to import.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable
from functools import cache
from itertools import pairwise
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from httpbed.experiment.experiment import experiment_model
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
    beside: dict[str, Any] = {
        name: schema[name] for name in ("description", "default") if name in schema
    }
    value = {name: part for name, part in schema.items() if name not in beside}
    if isinstance(value.get("items"), dict):
        value["items"] = {"anyOf": [value["items"], _A_REFERENCE]}
    if patterns := value.get("patternProperties"):  # a table with the user's names, such as knobs
        value["patternProperties"] = {
            pattern: {"anyOf": [entry, _A_REFERENCE]} for pattern, entry in patterns.items()
        }
    return {**beside, "anyOf": [value, _A_REFERENCE]}


_A_REFERENCE = {"$ref": "#/$defs/FactorReference"}


@cache
def field_docstrings(model: type[BaseModel]) -> dict[str, str]:
    """Return the docstring of each field that has one, by the field's name."""
    docs: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if issubclass(base, BaseModel) and base is not BaseModel:
            docs |= dict.fromkeys(base.__annotations__, "") | _stated(base)
    return {name: text for name, text in docs.items() if text and name in model.model_fields}


def _stated(model: type[BaseModel]) -> dict[str, str]:
    """Return the docstrings in the body of one class; none if its source is not a class."""
    try:
        definition = ast.parse(inspect.cleandoc("\n" + inspect.getsource(model))).body[0]
    except (OSError, TypeError):  # a model that create_model made
        return {}
    return dict(_documented(definition.body)) if isinstance(definition, ast.ClassDef) else {}


def _documented(statements: Iterable[ast.stmt]) -> Iterable[tuple[str, str]]:
    for field, following in pairwise(statements):
        match field, following:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                yield name, inspect.cleandoc(text)


class DocumentedSchema(GenerateJsonSchema):
    """JSON Schema whose properties have the docstrings of their fields as descriptions."""

    def model_schema(self, schema: Any) -> JsonSchemaValue:
        """Return the JSON Schema of a model, with descriptions."""
        generated = super().model_schema(schema)
        model = schema["cls"]
        properties = generated.get("properties", {})
        for name, text in field_docstrings(model).items():
            alias = model.model_fields[name].serialization_alias or name
            properties.setdefault(alias, {}).setdefault("description", text)
        return generated
