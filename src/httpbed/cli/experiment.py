"""What the verbs that take an experiment file have in common: reading it."""

from __future__ import annotations

from pathlib import Path

import click

from httpbed.implementations import catalog as catalogs
from httpbed.implementations.catalog import Catalog
from httpbed.model.errors import ConfigError, Mistake
from httpbed.trial import preparation
from httpbed.trial.preparation import Loaded

file_argument = click.argument("file", type=click.Path(path_type=Path))
recipes_option = click.option(
    "--recipes",
    "recipe_folders",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Add the recipes of this folder; use it for programs that httpbed does not know.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")


def load(file: Path, recipe_folders: tuple[Path, ...]) -> tuple[Loaded, Catalog]:
    """Read an experiment file and all recipes.

    Raises:
        ConfigError: With every mistake.
    """
    catalog = catalogs.load(recipe_folders)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError([Mistake(str(file), f"cannot be read: {error}")]) from None
    return preparation.load(text, catalog, file.parent), catalog
