"""What the verbs that take an experiment file have in common: reading it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, get_args

import click

from httpbed.campaign import preparation
from httpbed.campaign.preparation import Loaded
from httpbed.cli.echo import echo
from httpbed.experiment import buckets
from httpbed.experiment.errors import ConfigError, Mistake
from httpbed.experiment.factorial import ScaleName
from httpbed.host import user_file
from httpbed.host.user_file import NotAFileError
from httpbed.programs import catalog as catalogs
from httpbed.programs.catalog import Catalog

Verb = TypeVar("Verb", bound=Callable[..., Any])

MOST_BYTES = 16 * 2**20
"""Of an experiment file: enough for a million samples of jitter."""

file_argument = click.argument("file", type=click.Path(path_type=Path))
_PROGRAMS = "httpbed.programs"
"""Where a command's context keeps what ``--program`` said."""


def recipes_option(function: Verb) -> Verb:
    """Add ``--recipes`` and ``--program``, which together say what programs there are."""
    folders = click.option(
        "--recipes",
        "recipe_folders",
        multiple=True,
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Add the recipes of this folder; use it for programs that httpbed does not know.",
    )
    programs = click.option(
        "--program",
        multiple=True,
        metavar="NAME=PATH",
        expose_value=False,
        callback=_keep_programs,
        help="Run your own executable, on this machine's filesystem, as this implementation.",
    )
    return folders(programs(function))


def _keep_programs(context: click.Context, _: click.Parameter, said: tuple[str, ...]) -> None:
    mistakes, programs = [], dict[str, str]()
    for word in said:
        name, equals, path = word.partition("=")
        if not (name and equals and path):
            mistakes.append(Mistake("--program", f"{word!r} is not NAME=PATH"))
        elif name in programs:
            reason = f"{name} is given twice"
            mistakes.append(Mistake("--program", reason, "one executable for each name"))
        elif "/" not in path and Path(path).is_file():
            found = shutil.which(path)
            reason = f"{path!r} can be ./{path}" + (f" or {found}" if found else "")
            mistakes.append(Mistake("--program", reason, f"write {name}=./{path}, or a whole path"))
        else:
            programs[name] = str(Path(path).expanduser().absolute()) if "/" in path else path
    if mistakes:
        raise ConfigError(mistakes)
    context.meta[_PROGRAMS] = programs


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")
scale_option = click.option(
    "--scale",
    type=click.Choice(get_args(ScaleName)),
    help="How much of the experiment, as its [scales] say; by default all.",
)


def notes(loaded: Loaded) -> list[str]:
    """List what of an experiment means nothing, though it is no mistake, each with the remedy.

    Treatments are only looked at where a token bucket may be among them: it takes a while.
    """
    if "bucket" not in loaded.text and "profile" not in loaded.text:
        return []
    passed = (one for scenario in loaded.scenarios() for one in buckets.bucket_loads(scenario))
    return list(dict.fromkeys(one.warning() for one in passed if one.holds_all))


def tell(loaded: Loaded) -> None:
    """Print these notes beside the output."""
    for note in notes(loaded):
        echo(f"note: {note}", err=True)


def own_programs() -> dict[str, str]:
    """Return what ``--program`` said: name of the implementation -> path of the executable."""
    return dict(click.get_current_context().meta.get(_PROGRAMS, {}))


def program_words() -> list[str]:
    """Return what ``--program`` said, as it can be typed again."""
    own = own_programs().items()
    return [word for name, path in own for word in ("--program", f"{name}={path}")]


def catalog(recipe_folders: tuple[Path, ...]) -> Catalog:
    """Read all recipes, with the user's executables in the place of their programs.

    Raises:
        ConfigError: With every mistake.
    """
    context = click.get_current_context(silent=True)
    programs = context.meta.get(_PROGRAMS, {}) if context else {}
    known = catalogs.load(recipe_folders)
    for name, folder in known.replaced.items():
        echo(f"note: {name} is the recipe in {folder}, not the one before it", err=True)
    return known.with_programs(programs)


def load(
    file: Path, recipe_folders: tuple[Path, ...], scale: ScaleName | None = None
) -> tuple[Loaded, Catalog]:
    """Read an experiment file and all recipes.

    Raises:
        ConfigError: With every mistake.
    """
    known = catalog(recipe_folders)
    try:
        text = _text(file)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError([Mistake(str(file), f"cannot be read: {error}")]) from None
    return preparation.load(text, known, file.parent, scale), known


def _text(file: Path) -> str:
    """Read a file of bearable length; a pipe, such as that of ``<(...)``, ends by itself, too."""
    try:
        content = user_file.read(file, MOST_BYTES)
    except NotAFileError as error:
        raise ConfigError([Mistake(str(file), str(error), "name an experiment file")]) from None
    if len(content) > MOST_BYTES:
        reason = f"has more than {MOST_BYTES} bytes, as no experiment has"
        raise ConfigError([Mistake(str(file), reason, "name an experiment file")])
    return content.decode()
