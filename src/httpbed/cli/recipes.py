"""``httpbed recipes``: the programs that can take a role."""

from __future__ import annotations

import json
from pathlib import Path

import click

from httpbed.cli.experiment import catalog, json_option, recipes_option
from httpbed.trial import programs


@click.command("recipes")
@recipes_option
@json_option
def command(*, recipe_folders: tuple[Path, ...], as_json: bool) -> None:
    """List the implementations that an experiment can name, with what they can do.

    Use it to see what `implementation = "..."` may say, and to check a recipe of your own.
    """
    recipes = sorted(catalog(recipe_folders).recipes.values(), key=lambda one: one.name)
    if as_json:
        said = [recipe.model_dump(by_alias=True, mode="json") for recipe in recipes]
        click.echo(json.dumps(said, indent=1))
        return
    for recipe in recipes:
        roles, versions = "/".join(recipe.roles), ", ".join(recipe.http_versions)
        origin, (_, state) = recipe.install.summary(), programs.state(recipe)
        click.echo(f"{recipe.name:<12} {roles:<14} HTTP {versions:<12} {origin} ({state})")
