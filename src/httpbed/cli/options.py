"""Options, types of values and completions that verbs share; nothing here imports slow libraries.

Options about an experiment are in :mod:`httpbed.cli.experiment_argument`.
"""

from __future__ import annotations

import difflib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click
from click.core import ParameterSource

from httpbed.base import units
from httpbed.base.addon import Seam
from httpbed.base.errors import ConfigError, Mistake, RejectedValueError, collected, require_none
from httpbed.bed.machine.backend import Backend
from httpbed.cli import output_file
from httpbed.store import campaign_folder

if TYPE_CHECKING:  # it imports pyarrow
    from httpbed.store.results import Results

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")


def with_options(options: Sequence[Callable[[Any], Any]]) -> Callable[[Any], Callable[..., Any]]:
    """Return the decorator that adds options to a verb, in their order."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            function = option(function)
        return function

    return add


class NamedPath(click.Path):
    """A file or folder that a user names; never the empty text of a variable without a value."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(path_type=Path, **settings)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        if value == "":
            raise RejectedValueError("is empty", "name a file or a folder; . is this folder")
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            reason = error.message.rstrip(".")
            raise RejectedValueError(reason, "name one that exists and can be read") from None


PATH = NamedPath()


def output_option(
    text: str, *, metavar: str | None = "DIR", check: Check | None = None
) -> Callable[[Any], Any]:
    """Return ``-o`` with this help: where a verb writes.

    Args:
        text: The help.
        metavar: What the help calls the value.
        check: Finds what is wrong with the place, to report it beside other mistakes.
    """
    kind = CheckedPath(check) if check else PATH
    return click.option("-o", "--output", type=kind, metavar=metavar, help=text)


def new_folder_option(text: str) -> Callable[[Any], Any]:
    """Return ``-o`` with this help, for a verb that makes a new folder."""

    def check(folder: Path, _: click.Context) -> None:
        require_none(output_file.new_folder_mistakes("-o", folder))

    return output_option(text, check=check)


def campaign_option(text: str, *, unless: str | None = None) -> Callable[[Any], Any]:
    """Return ``-o`` with this help, for a verb that runs a campaign in the folder.

    Args:
        text: The help.
        unless: The parameter of an option with which no campaign is run in the folder.
    """

    def check(folder: Path, context: click.Context) -> None:
        # Beside a mistake, click leaves a private sentinel as the value of an absent option.
        if not unless or context.get_parameter_source(unless) is not ParameterSource.COMMANDLINE:
            campaign_folder.require_usable(folder)

    return output_option(text, check=check)


def metric_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--metric`` to a verb that compares treatments."""
    from httpbed.experiment.metric import METRICS  # of all addons

    text = "The metric to compare; default: the experiment's, else request_time."
    option = click.option("--metric", type=OneOf(list(METRICS)), metavar="METRIC", help=text)
    return option(function)


_FEW = 8
"""So many words are listed when none is similar."""
_VERY_SIMILAR = 0.75
"""Two words are suggested if both are as similar as this; else the most similar one."""


class OneOf(click.Choice[str]):
    """One of the known words."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the word; reject an unknown one with similar words, or the first few."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            words = list(map(str, self.choices))
            remedy = suggestion(str(value), words) or _first(words)
            raise RejectedValueError(f"{value!r} is unknown", remedy) from None


link_backend_option = click.option(
    "--link-backend",
    "backend",
    type=OneOf(get_args(Backend)),
    envvar="HTTPBED_LINK_BACKEND",
    show_envvar=True,
    help="How the emulator gets packets from the kernel: by packet sockets, where the kernel stamps"
    " them, or by TUN devices. Default: by packet sockets if this machine has them.",
)


def _first(words: Sequence[str]) -> str:
    rest = " ..." if len(words) > _FEW else ""
    return f"known: {', '.join(words[:_FEW])}{rest}"


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return the question whether a similar known word is meant; empty if none is similar.

    The dashes that all options begin with make no two of them similar.
    """
    words = {known_word.lstrip("-"): known_word for known_word in known}
    bare = word.lstrip("-")
    close = difflib.get_close_matches(bare, words, 2, _VERY_SIMILAR)
    close = close or difflib.get_close_matches(bare, words, 1)
    return f"did you mean {' or '.join(map(words.__getitem__, close))}?" if close else ""


def factor_levels(
    words: Iterable[str], option: str, mistakes: list[Mistake]
) -> Iterator[tuple[str, str]]:
    """Yield factor and level of each FACTOR=LEVEL; add a mistake for each other word."""
    for word in words:
        name, equals, level = (part.strip() for part in word.partition("="))
        if equals:
            yield name, level
        else:
            reason = f"{word!r} does not have the form FACTOR=LEVEL"
            mistakes.append(Mistake(option, reason, "write for example http_version=2"))


def meant_level(word: str, levels: Iterable[str]) -> str | None:
    """Return the level that a word is, or is but for its spaces and the case of its letters.

    None if there is none, or if there are several.
    """
    known = list(levels)
    if word in known:
        return word
    alike = [level for level in known if _bare(level) == _bare(word)]
    return alike[0] if len(alike) == 1 else None


def _bare(level: str) -> str:
    return "".join(level.split()).casefold()


class WholeNumber(click.IntRange):
    """A whole number from ``least`` to ``most``; errors say what is accepted."""

    name = "N"

    def __init__(self, least: int, most: int) -> None:
        super().__init__(least, most)
        self._accepted = f"write a whole number from {least} to {most}"
        self._bounds = (least, most)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number; reject anything else."""
        del param, ctx
        least, most = self._bounds
        try:
            number = int(value)
        except ValueError:
            raise RejectedValueError(f"{value!r} is not a whole number", self._accepted) from None
        if number < least:
            raise RejectedValueError(f"{number} is below {least}", self._accepted)
        if number > most:
            raise RejectedValueError(f"{number} is above {most}", self._accepted)
        return number


class NumberRange(click.ParamType[tuple[int, int]]):
    """A whole number, or two with a hyphen between them, as the first and the last of a range."""

    name = "FIRST-LAST"

    def __init__(self, most: int) -> None:
        self._number = WholeNumber(1, most)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int]:
        """Return the two numbers; reject anything else."""
        first, _, last = str(value).partition("-")
        bounds = tuple(self._number.convert(one, param, ctx) for one in (first, last or first))
        if bounds[0] > bounds[1]:
            raise RejectedValueError(f"{bounds[0]} is above {bounds[1]}", "write the smaller first")
        return bounds[0], bounds[1]


FORMATS = ("text", "markdown", "json")


def format_mistakes(form: str | None, *, as_json: bool) -> Iterator[Mistake]:
    """Yield the mistake of ``--json`` beside another ``--format``."""
    if as_json and form not in {None, "json"}:
        yield Mistake("--json", f"contradicts --format {form}", "give one of them")


def campaign_place_mistakes(directory: Path | None) -> list[Mistake]:
    """Return why a campaign cannot be put into a folder; nothing without one.

    :raises OSError: when this machine cannot now, for example because the disk is full.
    """
    mistakes = list[Mistake]()
    if directory is not None:
        with collected(mistakes):
            campaign_folder.require_usable(directory)
    return mistakes


def chosen_format(form: str | None, *, as_json: bool) -> str:
    """Return the format that ``--format`` or ``--json`` chooses.

    Raises:
        ConfigError: They contradict each other.
    """
    require_none([*format_mistakes(form, as_json=as_json)])
    return "json" if as_json else form or "text"


def share(context: click.Context, parameter: click.Parameter, text: str | None) -> float | None:
    """Return the share that an option gives, such as ``1 %``."""
    del context, parameter
    return None if text is None else units.parse_share(text)


Check = Callable[[Path, click.Context], object]
"""Reads the path; raises ConfigError."""


class CheckedPath(NamedPath):
    """A path that a verb reads."""

    def __init__(self, check: Check) -> None:
        super().__init__()
        self._check = check

    def mistakes(self, path: Path, context: click.Context) -> Sequence[Mistake]:
        """Return what is wrong with what the path leads to."""
        try:
            self._check(path, context)
        except ConfigError as error:
            return error.mistakes
        return ()


def _open(path: Path, context: click.Context) -> None:
    from httpbed.store import campaign

    del context
    campaign.open_existing(path).design()


CAMPAIGN = CheckedPath(_open)


def read_campaigns(directories: Sequence[Path]) -> list[Results]:
    """Read campaigns.

    Raises:
        ConfigError: With the mistakes of all folders.
    """
    from httpbed.store import query

    mistakes, campaigns = named_twice(directories), list["Results"]()
    twice = {mistake.place for mistake in mistakes}
    for directory in dict.fromkeys(directories):
        if str(directory) in twice:
            continue
        with collected(mistakes):
            campaigns.append(query.read(directory))
    require_none(mistakes)
    return campaigns


def named_twice(directories: Sequence[Path]) -> list[Mistake]:
    """Return a mistake for each name of a folder that the command line names twice."""
    times = Counter(map(os.path.realpath, directories))  # which accepts loops of links
    return [
        Mistake(str(directory), "is named twice", "name each campaign once")
        for directory in dict.fromkeys(directories)
        if times[os.path.realpath(directory)] > 1
    ]


# Completion of names in a shell. Each function returns the known names that begin with what is
# typed, and imports what it needs when a shell asks: once for each press of the tab key.


def complete_profiles(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """Return names of networks."""
    del context, parameter
    from httpbed.experiment import profiles as known

    return beginning(known.all_profiles(), typed)


def complete_programs(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """Return names of implementations."""
    del context, parameter
    from httpbed.programs import catalog

    return beginning(catalog.load().recipes, typed)


def complete_clients(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """Return clients with each of their HTTP versions, such as ``curl:h3``."""
    del context, parameter
    from httpbed.programs import catalog

    recipes = [recipe for recipe in catalog.load().recipes.values() if "client" in recipe.roles]
    words = [
        f"{recipe.name}:h{version[0]}" for recipe in recipes for version in recipe.http_versions
    ]
    return beginning(words, typed)


def beginning(names: Iterable[str], typed: str) -> list[str]:
    """Return the names that begin with what is typed, in order."""
    return sorted(name for name in names if name.startswith(typed))


Option = Callable[[Callable[..., Any]], Callable[..., Any]]
"""Adds an option to a command, as :func:`click.option` does."""


class CampaignView:
    """What ``httpbed report`` shows of a campaign in place of its results, on request."""

    options: tuple[Option, ...] = ()

    def asked_by(self, chosen: Mapping[str, Any]) -> str:
        """Return the option that asks for it, by the values of all options; empty without one."""
        raise NotImplementedError

    def show(self, directory: Path, chosen: Mapping[str, Any], *, as_json: bool) -> None:
        """Show it."""
        raise NotImplementedError


VIEWS = Seam("views of campaigns", CampaignView)
