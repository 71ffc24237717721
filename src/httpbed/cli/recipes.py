"""``httpbed recipes``: list the programs and the networks that an experiment can name."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from httpbed.base.errors import ConfigError, Mistake, RejectedValueError
from httpbed.cli import options
from httpbed.cli.echo import aligned, echo
from httpbed.cli.experiment_argument import catalog, recipes_option
from httpbed.cli.options import json_option
from httpbed.cli.verb import verb_group
from httpbed.experiment import profiles
from httpbed.programs.catalog import Catalog
from httpbed.programs.recipe import Recipe
from httpbed.trial import program_roots


@verb_group("recipes", invoke_without_command=True)
@recipes_option
@json_option
@click.pass_context
def command(context: click.Context, *, recipe_folders: tuple[Path, ...], as_json: bool) -> None:
    """List the implementations that an experiment can name, or its networks, or check programs.

    Use it to see the names for `implementation = "..."`, and to check your own recipe.
    """
    if context.invoked_subcommand is None:
        _list(catalog(recipe_folders), as_json=as_json)


@command.command("list")
@recipes_option
@json_option
def show(*, recipe_folders: tuple[Path, ...], as_json: bool) -> None:
    """List the implementations that an experiment can name, with their roles and HTTP versions."""
    _list(catalog(recipe_folders), as_json=as_json)


def _list(known: Catalog, *, as_json: bool) -> None:
    recipes = sorted(known.recipes.values(), key=lambda one: one.name)
    if as_json:
        echo(json.dumps([_as_json(recipe) for recipe in recipes], indent=1))
        return
    rows = [["implementation", "roles", "HTTP", "upstream", "installed", "from"]]
    rows += [_row(recipe) for recipe in recipes]
    for line in aligned(rows):
        echo(line)


def _as_json(recipe: Recipe) -> dict[str, Any]:
    is_here, where = program_roots.state(recipe)
    return {
        **recipe.model_dump(by_alias=True, mode="json"),
        "is_here": is_here,
        "where": where,
    }


def _row(recipe: Recipe) -> list[str]:
    is_here, why = program_roots.state(recipe)
    return [
        recipe.name,
        "/".join(recipe.roles),
        ", ".join(recipe.http_versions),
        ", ".join(recipe.upstream_http_versions) or "-",
        "yes" if is_here else f"no: {why}",
        recipe.install.summary(),
    ]


@command.command("profiles")
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=options.complete_profiles)
@json_option
def show_profiles(*, names: tuple[str, ...], as_json: bool) -> None:
    """List the networks that links can name, with their figures and sources.

    Use it to choose a `profile = "..."` for a link of an experiment, or a --profile of httpbed
    link. With a NAME, it also says how the figures follow from the source.
    """
    known = profiles.all_profiles()
    chosen = {name: known[name] for name in _existing(names)} or known
    if as_json:
        values = {name: one.model_dump() for name, one in chosen.items()}
        echo(json.dumps({"schema": 1, "profiles": values}, indent=1))
        return
    for name, one in chosen.items():
        echo(f"{name}: {one.title}")
        echo(f"    {_link_words(one.link)}")
        echo(f"    {one.kind}: {one.source}")
        if names:
            echo(f"    {one.taken}")


def _existing(names: Iterable[str]) -> list[str]:
    mistakes, existing = [], []
    for name in names:
        try:
            existing.append(profiles.known(name))
        except RejectedValueError as error:
            mistakes.append(Mistake("NAME", error.reason, error.remedy))
    if mistakes:
        raise ConfigError(mistakes)
    return existing


def _link_words(link: Mapping[str, Any]) -> str:
    """Return a link in one line: its keys with their values, directions in parentheses."""
    parts = []
    for key, value in link.items():
        if isinstance(value, Mapping):
            parts.append(f"{key} ({_link_words(value)})")
        else:
            parts.append(f"{key} {value}")
    return ", ".join(parts)
