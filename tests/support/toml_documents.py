"""Experiment documents for tests: written as TOML, and validated against the published schema."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from httpbed.experiment.schema import experiment_schema

PARTS = (
    *("schema", "name", "factors", "groups", "exclude", "scales"),
    *("topology", "roles", "workload", "report", "seed"),
)
"""Some keys of an experiment file."""


def schema_errors(document: Mapping[str, Any]) -> list[str]:
    """List how a document violates the published JSON Schema."""
    errors = _validator().iter_errors(dict(document))
    return [f"{error.json_path}: {error.message}" for error in errors]


@cache
def _validator() -> Draft202012Validator:
    return Draft202012Validator(experiment_schema())


def as_toml(document: Mapping[str, Any]) -> str:
    """Write a document of any shape as TOML."""
    return "".join(f"{key} = {_inline(value)}\n" for key, value in document.items())


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        items = ", ".join(f"{json.dumps(key)} = {_inline(item)}" for key, item in value.items())
        return f"{{{items}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_inline, value))}]"
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else f"{value:+}"
    return json.dumps(value).replace("\x7f", "\\u007f")
