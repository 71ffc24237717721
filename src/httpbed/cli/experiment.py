"""What the verbs that take an experiment file have in common: reading it."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import get_args

import click

from httpbed.implementations import catalog as catalogs
from httpbed.implementations.catalog import Catalog
from httpbed.model.crossing import ScaleName
from httpbed.model.errors import ConfigError, Mistake
from httpbed.trial import preparation
from httpbed.trial.preparation import Loaded

MOST_BYTES = 16 * 2**20
"""Of an experiment file: enough for a million samples of jitter."""

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


scale_option = click.option(
    "--scale",
    type=click.Choice(get_args(ScaleName)),
    help="How much of the experiment, as its [scales] say; by default all.",
)


def load(
    file: Path, recipe_folders: tuple[Path, ...], scale: ScaleName | None = None
) -> tuple[Loaded, Catalog]:
    """Read an experiment file and all recipes.

    Raises:
        ConfigError: With every mistake.
    """
    catalog = catalogs.load(recipe_folders)
    try:
        text = _text(file)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError([Mistake(str(file), f"cannot be read: {error}")]) from None
    return preparation.load(text, catalog, file.parent, scale), catalog


def _text(file: Path) -> str:
    """Read a file of bearable length; a pipe, such as that of ``<(...)``, ends by itself, too."""
    about = file.stat()
    if not (stat.S_ISREG(about.st_mode) or stat.S_ISFIFO(about.st_mode)):
        raise ConfigError([Mistake(str(file), "is not a file", "name an experiment file")])
    with file.open("rb") as opened:
        content = opened.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        reason = f"has more than {MOST_BYTES} bytes, as no experiment has"
        raise ConfigError([Mistake(str(file), reason, "name an experiment file")])
    return content.decode()
