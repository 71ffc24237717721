"""Arguments and options that verbs share: the experiment file, its scale, recipes, programs."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypeVar, get_args

import click

from httpbed.base import user_file
from httpbed.base.clock import Clock
from httpbed.base.errors import (
    ConfigError,
    Mistake,
    RejectedValueError,
    collected,
    require_none,
    visible,
)
from httpbed.base.user_file import NotAFileError
from httpbed.campaign import preparation, settings
from httpbed.campaign.loaded_experiment import LoadedExperiment
from httpbed.campaign.settings import DesignOptions, Parallelism
from httpbed.cli.echo import echo
from httpbed.cli.options import (
    PATH,
    CheckedPath,
    NumberRange,
    OneOf,
    WholeNumber,
    link_backend_option,
    suggestion,
    with_options,
)
from httpbed.experiment import bodies_path, experiment, kept
from httpbed.experiment.factorial import MAX_BLOCKS, ScaleName
from httpbed.experiment.parser import WHOLE_FILE
from httpbed.programs import catalog as catalogs
from httpbed.programs.catalog import Catalog, second_build
from httpbed.store.campaign import Campaign

Verb = TypeVar("Verb", bound=Callable[..., Any])

MAX_BYTES = 16 * 2**20
"""Largest experiment file: enough for a million samples of jitter."""


def _loaded(file: Path, context: click.Context) -> None:
    load(file, context.params.get("recipe_folders") or ())


EXPERIMENT = CheckedPath(_loaded)
file_argument = click.argument("file", type=EXPERIMENT)
_PROGRAMS = "httpbed.programs"
"""Key of the ``--program`` values in a command's context."""
_AGAINST = "httpbed.against"
"""Key of the second builds in a command's context, by the names of their recipes."""
_RECIPES = "httpbed.recipes"
"""Key of the ``--recipes`` values in a command's context."""


recipe_folders_option = click.option(
    "--recipes",
    "recipe_folders",
    multiple=True,
    type=PATH,
    metavar="DIR",
    help="Add the recipes in this folder, for programs without a built-in recipe.",
)


def recipes_option(function: Verb) -> Verb:
    """Add ``--recipes`` and ``--program``, which together define the available programs."""
    programs = click.option(
        "--program",
        multiple=True,
        metavar="NAME=PATH",
        expose_value=False,
        callback=_keep_programs,
        help="Use your own executable PATH as this implementation.",
    )
    return recipe_folders_option(programs(function))


def _keep_programs(context: click.Context, _: click.Parameter, values: tuple[str, ...]) -> None:
    mistakes, programs = list[Mistake](), dict[str, str]()
    for word in values:
        with collected(mistakes):
            name, path = _executable("--program", word)
            if name in programs:
                reason = f"{name} is given twice"
                raise ConfigError([Mistake("--program", reason, "one executable for each name")])
            programs[name] = path
    require_none(mistakes)
    context.meta[_PROGRAMS] = programs


def _executable(option: str, word: str) -> tuple[str, str]:
    """Return the name of a program, and the path or the name of the user's executable for it.

    Raises:
        ConfigError: The word has another form, or may mean two files.
    """
    name, equals, path = word.partition("=")
    if not (name and equals and path):
        reason = f"{word!r} does not have the form NAME=PATH"
        raise ConfigError([Mistake(option, reason, "write for example curl=./curl")])
    if "/" in path:
        return name, str(Path(path).expanduser().absolute())
    if Path(path).is_file():
        installed = shutil.which(path)
        reason = f"{path!r} may mean ./{path}" + (f" or {installed}" if installed else "")
        raise ConfigError([Mistake(option, reason, f"write {name}=./{path}, or a full path")])
    return name, path


def _against(
    context: click.Context, parameter: click.Parameter, word: str | None
) -> tuple[str, str] | None:
    """Return the name of a program and the path of its second build."""
    del parameter
    if word is None:
        return None
    name, path = _executable("--against", word)
    context.meta[_AGAINST] = {second_build(name): {"of": name, "path": path}}
    return name, path


against_option = click.option(
    "--against",
    callback=_against,
    metavar="NAME=PATH",
    help="Run every treatment with a second build of this program, too, and compare the two: build"
    " old is that of --program, or the toolbox's, and build new is PATH.",
)


scale_option = click.option(
    "--scale",
    type=OneOf(get_args(ScaleName)),
    help="How much of the experiment to run, by its [scales]; default: all of it.",
)
for_claims_option = click.option(
    "--for-claims",
    is_flag=True,
    help="Run only the trials that its claims need: the treatments of each claim and control arm,"
    " with the fewest blocks that can settle it. With --scale: of claims and arms whose treatments"
    " the scale runs.",
)
replicates_option = click.option(
    "--replicates",
    type=WholeNumber(1, MAX_BLOCKS),
    metavar="N",
    help="The number of blocks; default: the experiment's, or its scale's. With --for-claims: the"
    " most blocks.",
)

blocks_option = click.option(
    "--blocks",
    type=NumberRange(MAX_BLOCKS),
    metavar="FIRST-LAST",
    help="Run only these blocks, such as 4-6, each as it is in the whole campaign: parts of it run"
    " on several days or machines, and httpbed export --archive joins them.",
)


def _until(context: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    del context, parameter
    if text is not None:
        experiment.parse_width(text)
    return text


until_option = click.option(
    "--until",
    callback=_until,
    metavar='"ci SHARE"',
    help="Stop a treatment, from its sixth block on, once the half-width of its 95 % interval is at"
    ' most this share of its median, such as "ci 5 %". The number of replicates is then the most.'
    " Such intervals miss the true median in up to 7 % of cases, not in 5 %.",
)


_CLOCK_HELP = (
    "In virtual time, each trial runs in a guest in which computing takes no time: it gives the"
    " same numbers again, however busy the machine."
)


def choosing_clock_option(words: Iterable[str], text: str) -> Callable[[Verb], Verb]:
    """Declare the option with these words and its help."""
    return click.option("--clock", type=OneOf(tuple(words)), help=f"{text} {_CLOCK_HELP}")


clock_option = choosing_clock_option(
    get_args(Clock),
    "The clock of the trials; default: that of the experiment or campaign, if there is one, else"
    " real.",
)


def design_options(*, of_clock: bool = True) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the options that choose trials of a design; the verb gets them as ``design``.

    Without ``of_clock`` the verb has an option of its own for the clock.
    """
    options = [scale_option, for_claims_option, replicates_option, blocks_option, until_option]
    options += [clock_option] * of_clock
    names = [field.name for field in fields(DesignOptions) if of_clock or field.name != "clock"]
    return lambda function: with_options(options)(
        _gathered(function, "design", names, DesignOptions)
    )


def _gathered(
    function: Callable[..., Any], parameter: str, names: Iterable[str], make: Callable[..., Any]
) -> Callable[..., Any]:
    """Return a function that takes these options, and hands on one value that is made of them."""

    @functools.wraps(function)
    def gathered(*arguments: Any, **values: Any) -> Any:
        made = make(**{name: values.pop(name) for name in names})
        return function(*arguments, **{parameter: made}, **values)

    return gathered


def _kept(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> frozenset[str]:
    """Return the kinds of files to keep; raise ConfigError with every other word."""
    del context, parameter
    words = [word.strip() for value in values for word in value.split(",")]
    require_none([_unknown_kind(word) for word in words if word not in kept.KINDS])
    return frozenset(words)


def _unknown_kind(word: str) -> Mistake:
    if not word:
        remedy = "put single commas between values"
        return Mistake("--keep", "one of its values is empty", remedy)
    known = suggestion(word, kept.KINDS) or f"known: {', '.join(kept.KINDS)}"
    return Mistake("--keep", f"{word!r} is unknown", known)


keep_option = click.option(
    "--keep",
    multiple=True,
    callback=_kept,
    metavar="KIND,...",
    help="Keep further files of every trial: "
    + "; ".join(f"{kind.name}, {kind.meaning}" for kind in kept.KINDS.values())
    + ". Programs that cannot write what is asked for are named before the first trial.",
)


def trial_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that each trial is planned with.

    The verb gets them as ``of_trials``: fields of :class:`~httpbed.trial.attempt_plan.PlanOptions`
    by their names. The backend is None if none was named.
    """
    gathered = _gathered(function, "of_trials", ("keep", "backend"), dict)
    return with_options([keep_option, link_backend_option])(gathered)


AUTO = "auto"
MAX_JOBS = 64


class JobsType(click.ParamType[Parallelism]):
    """A number of trials, or ``auto``."""

    name = "N|auto"

    def convert(
        self, value: str | Parallelism, param: click.Parameter | None, ctx: click.Context | None
    ) -> Parallelism:
        """Return the parallelism; reject any other word."""
        del param, ctx
        if isinstance(value, Parallelism):
            return value
        if value == AUTO:
            return settings.adapted_parallelism()
        if not value.isdecimal() or not 1 <= int(value) <= MAX_JOBS:
            reason = f"{value!r} is no number of trials"
            remedy = f"write a whole number from 1 to {MAX_JOBS}, or {AUTO}"
            raise RejectedValueError(reason, remedy)
        return Parallelism(int(value))


def jobs_option(text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare the option with its help; the default is as many as do not disturb each other."""
    return click.option(
        "--jobs",
        type=JobsType(),
        metavar=JobsType.name,
        default=AUTO,
        show_default=True,
        help=text,
    )


def notes(loaded: LoadedExperiment) -> list[str]:
    """List conditions that have no effect although they are no mistake, each with the remedy.

    Examine treatments only if one of the conditions may be among them, because it takes time.
    """
    may_upload = "upload" in loaded.text and "congestion_control" in loaded.text
    if "bucket" not in loaded.text and "profile" not in loaded.text and not may_upload:
        return []
    warnings = dict[str, None]()
    for scenario in loaded.scenarios():
        loads = bodies_path.bucket_loads(scenario)
        warnings |= dict.fromkeys(load.warning() for load in loads if load.holds_all)
        warnings |= dict.fromkeys(bodies_path.unused_controls(scenario))
    return list(warnings)


def print_notes(loaded: LoadedExperiment) -> None:
    """Print the notes of :func:`notes` to stderr."""
    for note in notes(loaded):
        echo(f"note: {note}", err=True)


def print_gaps(loaded: LoadedExperiment, catalog: Catalog, keep: frozenset[str]) -> None:
    """Print to stderr which programs do not write what ``--keep`` asks for.

    Raises:
        ConfigError: No program writes it.
    """
    for note in preparation.keep_notes(loaded, catalog, keep):
        echo(f"note: {note}", err=True)


def own_programs() -> dict[str, str]:
    """Return the values of ``--program``: name of the implementation -> path of the executable."""
    return dict(click.get_current_context().meta.get(_PROGRAMS, {}))


def recipe_words(recipe_folders: Iterable[Path]) -> list[str]:
    """Return the ``--recipes`` options as words of a command line."""
    return [word for folder in recipe_folders for word in ("--recipes", str(folder))]


def source_words(recipe_folders: Iterable[Path]) -> list[str]:
    """Return the ``--recipes`` and ``--program`` options as words of a command line."""
    given = [("--program", f"{name}={path}") for name, path in own_programs().items()]
    return [*recipe_words(recipe_folders), *(word for option in given for word in option)]


def program_sources() -> dict[str, Any]:
    """Return where a campaign's recipes and programs come from, for its manifest."""
    given = click.get_current_context().meta
    return {
        "recipe_folders": list(map(str, given.get(_RECIPES, ()))),
        "own_programs": own_programs(),
        "second_builds": given.get(_AGAINST, {}),
    }


def catalog(recipe_folders: tuple[Path, ...], mistakes: list[Mistake] | None = None) -> Catalog:
    """Read all recipes; the user's executables replace the programs that they name.

    Those of the executables go into ``mistakes``, if given: the caller goes on without them, so
    that names of recipes are compared, too.

    Raises:
        ConfigError: With every mistake.
    """
    context = click.get_current_context(silent=True)
    programs = context.meta.get(_PROGRAMS, {}) if context else {}
    if context:
        context.meta[_RECIPES] = recipe_folders
    known = catalogs.load(recipe_folders)
    for name, folder in known.replaced.items():
        echo(f"note: the recipe of {name} in {folder} replaces an earlier one", err=True)
    try:
        return known.with_programs(programs)
    except ConfigError as error:
        if mistakes is None:
            raise
        mistakes += error.mistakes
        return known


def catalog_of(campaign: Campaign, recipe_folders: tuple[Path, ...]) -> Catalog:
    """Read the recipes that a campaign ran, with the user's executables and second builds it had.

    What the command line gives takes precedence. An executable that is gone is left out: then a
    trial that needs it is refused.

    Raises:
        ConfigError: With every mistake.
    """
    manifest = campaign.manifest
    folders = recipe_folders or tuple(
        path for path in map(Path, manifest.get("recipe_folders", ())) if path.is_dir()
    )
    had = {
        name: path
        for name, path in manifest.get("own_programs", {}).items()
        if Path(path).is_file() and name not in own_programs()
    }
    known = catalog(folders).with_programs(had)
    builds = [
        build
        for build in manifest.get("second_builds", {}).values()
        if Path(build["path"]).is_file()
    ]
    for build in builds:
        known = known.with_second_build(build["of"], build["path"])
    for name, path in [*had.items(), *((build["of"], build["path"]) for build in builds)]:
        echo(f"note: {name} is {visible(path)}, as when {campaign.directory} ran", err=True)
    return known


def load(
    file: Path,
    recipe_folders: tuple[Path, ...],
    options: DesignOptions = DesignOptions(),  # noqa: B008 - it is immutable
) -> tuple[LoadedExperiment, Catalog]:
    """Read an experiment file and all recipes.

    Raises:
        ConfigError: With every mistake.
    """
    mistakes, further = list[Mistake](), list[Mistake]()
    with collected(mistakes):
        known = catalog(recipe_folders, further)
    with collected(mistakes):
        content = text(file)
    if mistakes:
        raise ConfigError([*further, *mistakes])
    with collected(further):
        loaded = preparation.load(content, known, file.parent, options)
    require_none(
        replace(mistake, place=str(file)) if mistake.place == WHOLE_FILE else mistake
        for mistake in further
    )
    return loaded, known


def placed(mistakes: Iterable[Mistake], file: Path) -> Iterator[Mistake]:
    """Name the file of mistakes, where a verb reads more than one."""
    for mistake in mistakes:
        place = str(file) if mistake.place == WHOLE_FILE else f"{file}: {mistake.place}"
        yield replace(mistake, place=place)


def text(file: Path) -> str:
    """Return a file's text, up to ``MAX_BYTES``; also of a pipe, such as ``<(...)``.

    Raises:
        ConfigError: It is no file, too large, or not UTF-8.
    """
    try:
        content = user_file.read(file, MAX_BYTES)
        if len(content) <= MAX_BYTES:
            return content.decode()
        reason = f"has more than {MAX_BYTES} bytes: too large for an experiment file"
    except NotAFileError as error:
        reason = str(error)
    except UnicodeDecodeError as error:
        reason = f"is not a TOML file: byte {error.start} is not UTF-8"
    except OSError as error:
        reason = f"cannot be read: {error.strerror}"
    raise ConfigError([Mistake(str(file), reason, "name an experiment file")])
