"""The programs' page of the reference manual, from their recipes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from httpbed.experiment.kept import ProgramRecord
from httpbed.programs import catalog
from httpbed.programs.recipe import Recipe
from httpbed.programs.settings import Knob, QuicControl

INTRODUCTION = (
    "Written by `make docs` from `src/httpbed/programs/recipes/`. A knob is a setting that an"
    " experiment may vary, as `knobs` of a role or as `--knob ROLE.NAME=VALUE` of"
    " `httpbed compare`; a knob that is not set keeps the program's default. `httpbed recipes`"
    " lists what is installed. [Add an implementation](../guides/own-implementation.md) explains"
    " recipes."
)


def page() -> str:
    """Return the page: a section for each recipe, by name."""
    recipes = catalog.load().recipes
    sections = ["# Programs", INTRODUCTION]
    for name in sorted(recipes):
        sections += [f"## `{name}`", *about(recipes[name])]
    return "\n\n".join(sections) + "\n"


def about(recipe: Recipe) -> Iterator[str]:
    """Give a recipe's paragraphs: note, abilities, knobs."""
    if recipe.note:
        yield sentence(recipe.note)
    abilities = {
        "Roles": ", ".join(recipe.roles),
        "HTTP versions": ", ".join(recipe.http_versions),
        "As a proxy, to the server": ", ".join(recipe.upstream_http_versions),
        "Workloads": ", ".join(recipe.workloads),
        "Congestion control over QUIC": over_quic(recipe.congestion_control.quic),
        "Writes on request": records(recipe),
        "Homepage": f"<{recipe.homepage}>" if recipe.homepage else "",
    }
    yield "\n".join(f"- {name}: {value}" for name, value in abilities.items() if value)
    if recipe.knobs:
        rows = [row(name, knob) for name, knob in sorted(recipe.knobs.items())]
        yield "\n".join(
            ["| knob | default | values | meaning |", "| --- | --- | --- | --- |", *rows]
        )


def sentence(note: str) -> str:
    """Return a note with a capital at its start and a full stop at its end."""
    return f"{note[0].upper()}{note[1:].rstrip('.')}."


def over_quic(control: QuicControl | None) -> str:
    """Return the algorithms of a sender over QUIC; empty for a program that sends none."""
    if control is None:
        return ""
    if control.fixed:
        return f"{control.fixed}, without a choice"
    return f"{', '.join(control.choices)}; default {control.default}"


def records(recipe: Recipe) -> str:
    """Return what a program writes for `--keep`, and in which roles if not in all."""
    found = []
    for kind in get_args(ProgramRecord):
        roles = [role for role in recipe.roles if kind in recipe.run_in(role).keep]
        if roles:
            found.append(kind + ("" if roles == recipe.roles else f" as a {' or '.join(roles)}"))
    return ", ".join(found)


def row(name: str, knob: Knob) -> str:
    """Return a knob's line of the table."""
    values = ", ".join(f"`{level}`" for level in knob.levels) or f"`{knob.pattern}`"
    return f"| `{name}` | `{knob.default}` | {escaped(values)} | {escaped(knob.meaning)} |"


def escaped(text: str) -> str:
    """Return text whose bars do not end a cell."""
    return text.replace("|", "\\|")
