"""A place in an experiment where one of several forms may stand: text, or one of some tables.

Each form is a model of its own, found by a key that only it has; so a slip in one form is told
as that form's, not as a failure to be any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pydantic import Discriminator

from httpbed.experiment.value import Value

TEXT = "<text>"
"""Name of the form that is no table. A name in angle brackets is never part of a path."""


def chosen(example: str, **forms: str) -> Discriminator:
    """Tell forms apart: ``forms`` names each table's form by the key that marks it."""
    known = ", ".join(forms)
    return Discriminator(
        _form_of(forms),
        custom_error_type="no_such_form",
        custom_error_message=f"is none of its forms: {example}, or a table with one of {known}",
    )


def _form_of(forms: Mapping[str, str]) -> Callable[[object], str | None]:
    def form(value: object) -> str | None:
        if isinstance(value, Value):
            return next((form for key, form in forms.items() if hasattr(value, key)), None)
        if isinstance(value, Mapping):
            return next((form for key, form in forms.items() if key in value), None)
        return TEXT

    return form


def is_form(part: str | int) -> bool:
    """Tell whether a part of a mistake's path only names a form."""
    return isinstance(part, str) and part.startswith("<") and part.endswith(">")
