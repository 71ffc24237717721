"""Values that are stored in files: their base class, and places that accept several forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pydantic import BaseModel, ConfigDict, Discriminator


class Value(BaseModel):
    """An immutable value; an unknown key is a mistake."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        defer_build=True,  # of a hundred models, a verb validates with few
    )


# A place of an experiment file may accept a text, or one of several tables. Each table form is a
# model of its own, recognised by a key that only this form has. So a mistake in a table is reported
# for its form, and not once for every form.

TEXT = "<text>"
"""Name of the text form. Names in angle brackets are not shown in paths."""


def form_by_key(example: str, **forms: str) -> Discriminator:
    """Return the discriminator of the forms; ``forms`` maps each marking key to its form."""
    known = ", ".join(forms)
    return Discriminator(
        _form_of(forms),
        custom_error_type="no_such_form",
        custom_error_message=f"has none of the accepted forms: {example}, or a table with {known}",
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
    """Whether an element of a mistake's path is only the name of a form."""
    return isinstance(part, str) and part.startswith("<") and part.endswith(">")
