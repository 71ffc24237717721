"""The docstrings of a model's fields, read from its source when they are wanted.

pydantic can read them for every model as it defines the class. That takes a quarter of the time
that the models take to import, and only the manual and the JSON Schema show them.
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


@cache
def of(model: type[BaseModel]) -> dict[str, str]:
    """Return the docstring of each field that has one, by the field's name."""
    docs: dict[str, str] = {}
    for one in reversed(model.__mro__):
        if issubclass(one, BaseModel) and one is not BaseModel:
            docs |= dict.fromkeys(one.__annotations__, "") | _stated(one)
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
        for name, text in of(model).items():
            alias = model.model_fields[name].serialization_alias or name
            properties.setdefault(alias, {}).setdefault("description", text)
        return generated
