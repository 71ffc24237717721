"""The command of a verb: it reports every mistake of its command line at once, in our words.

click stops at the first mistake. So after one, the parameters are processed again, each on its own,
and each mistake becomes one line with its place, the reason and the remedy.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource, iter_params_for_processing
from click.exceptions import NoArgsIsHelpError, NoSuchCommand, NoSuchOption

from httpbed.base.addon import Verb as RegisteredVerb
from httpbed.base.addon import addons, load
from httpbed.base.errors import ConfigError, Mistake, RejectedValueError
from httpbed.cli.options import CheckedPath, suggestion

EXIT_USAGE, EXIT_HOST = 2, 3
"""Exit codes: the command line or a file that it names is wrong, or this machine cannot."""
ABSENT_OPTIONS: Mapping[str, str] = {
    "report -v": "the HTML report has every check and every invalid attempt, and so has --json",
    "run --wait": "begin when the machine is quiet; the same command repeats strained attempts",
}
"""Options as ``VERB --OPTION`` that a verb does not have, and what to do instead."""


@cache
def absent_options() -> Mapping[str, str]:
    """Return the options that verbs do not have, those of addons too, and what to do instead."""
    absent = dict(ABSENT_OPTIONS)
    for addon in addons().values():
        absent |= addon.absent_options
    return absent


URL_FORM = "https://HOST/FILE"
"""What the form of a verb that takes a URL is called by."""
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def of_url(name: str, words: Sequence[str] | None = None) -> RegisteredVerb | None:
    """Return what an addon registered as ``"VERB URL"``, if one of the words is a URL.

    Without words, return it in any case.
    """
    if words is not None and not any(map(_URL.match, words)):
        return None
    known = (verb for addon in addons().values() for verb in addon.verbs)
    return next((verb for verb in known if verb.name == f"{name} URL"), None)


class Verb(click.Command):
    """A click command that raises ConfigError with every mistake of its command line."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Name the form of this verb that takes a URL."""
        super().format_epilog(ctx, formatter)
        if self.name and (registered := of_url(self.name)):
            formatter.write_paragraph()
            address = f"{ctx.command_path} {URL_FORM}"
            formatter.write_text(f"{address} is another form: {registered.purpose}")
            formatter.write_text(f"Its options: {address} --help")

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words after the verb."""
        words = [*args]
        try:
            return super().parse_args(ctx, args)
        except NoArgsIsHelpError:
            raise
        except (click.UsageError, ConfigError, RejectedValueError) as error:
            mistakes = dict.fromkeys(_all(self, ctx, words))
            raise (ConfigError(mistakes) if mistakes else error) from None


class VerbGroup(click.Group):
    """A verb that has verbs of its own, and those that addons register as ``"VERB WORD"``."""

    command_class = Verb

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the verbs below this one."""
        return sorted([*super().list_commands(ctx), *self._of_addons()])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a verb below this one."""
        added = self._of_addons().get(cmd_name)
        return command_of(added) if added else super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs below this one with their whole first sentence, which click would cut."""
        below = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        rows = [
            (name, _first_sentence(command))
            for name, command in below.items()
            if command is not None
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def _of_addons(self) -> dict[str, RegisteredVerb]:
        start = f"{self.name} "
        known = [verb for addon in addons().values() for verb in addon.verbs]
        return {
            verb.name.removeprefix(start): verb for verb in known if verb.name.startswith(start)
        }

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words after the verb, up to the verb below it."""
        try:
            return super().parse_args(ctx, args)
        except NoArgsIsHelpError:
            raise
        except click.UsageError as error:
            raise ConfigError([_mistake(error, ctx)]) from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb below this one."""
        try:
            return super().resolve_command(ctx, args)
        except NoSuchCommand:
            raise ConfigError([no_verb(ctx, args[0], self.list_commands(ctx))]) from None


def _first_sentence(command: click.Command) -> str:
    return " ".join((command.help or "").partition("\n\n")[0].split())


def command_of(registered: RegisteredVerb) -> click.Command:
    """Import a verb's module and return its command."""
    command = load(f"{registered.module}:command")
    assert isinstance(command, click.Command)  # noqa: S101 - the module of a verb has one
    return command


def verb(name: str, **settings: Any) -> Callable[[Callable[..., Any]], Verb]:
    """Declare a verb, as :func:`click.command` declares a command."""
    return click.command(name, cls=Verb, **settings)


def verb_group(name: str, **settings: Any) -> Callable[[Callable[..., Any]], VerbGroup]:
    """Declare a verb that has verbs of its own."""
    return click.group(name, cls=VerbGroup, **settings)


def no_verb(context: click.Context, word: str, known: Sequence[str]) -> Mistake:
    """Return the mistake of a word in the place of a verb."""
    remedy = suggestion(word, known) or f"{context.command_path} --help lists them"
    return Mistake(word, f"is no verb of {context.command_path}", remedy)


def _all(command: click.Command, context: click.Context, words: list[str]) -> Iterator[Mistake]:
    """Yield each mistake: of the words, of the values, of the files that are named."""
    settings: Mapping[str, Any] = command.context_settings
    again = click.Context(command, context.parent, context.info_name, **settings)
    unknown = [*_unknown_options(command, again, words)]
    yield from (_no_option(error, context) for error in unknown)
    try:
        values, rest, order = command.make_parser(again).parse_args(words)
    except click.UsageError as error:
        yield _mistake(error, context)
        return
    named: list[tuple[CheckedPath, Any]] = []
    for parameter in iter_params_for_processing(order, command.get_params(again)):
        try:
            value, rest = parameter.handle_parse_result(again, values, rest)
            if isinstance(parameter.type, CheckedPath):
                named.append((parameter.type, value))
        except click.UsageError as error:
            yield _mistake(error, context)
        except RejectedValueError as error:
            yield Mistake(_place(parameter, again), error.reason, error.remedy)
        except ConfigError as error:
            yield from error.mistakes
    if not unknown:  # whose values are among the other words now
        yield from (_too_many(word, context) for word in rest)
        yield from _in_what_is_named(named, again)


def _unknown_options(
    command: click.Command, context: click.Context, words: list[str]
) -> Iterator[NoSuchOption]:
    """Yield each option that the verb does not have, and take it out of the words."""
    while True:
        try:
            command.make_parser(context).parse_args([*words])
        except NoSuchOption as error:
            yield error
            given = [word for word in words if word.partition("=")[0] == error.option_name]
            if not given:  # one of several letters behind one dash
                return
            words.remove(given[0])
        except click.UsageError:
            return
        else:
            return


def _in_what_is_named(
    named: Sequence[tuple[CheckedPath, Any]], context: click.Context
) -> Iterator[Mistake]:
    for kind, value in named:
        for path in value if isinstance(value, tuple) else (value,):
            yield from kind.mistakes(path, context) if isinstance(path, Path) else ()


def _mistake(error: click.UsageError, context: click.Context) -> Mistake:
    """Return click's error in our words."""
    if isinstance(error, NoSuchOption):
        return _no_option(error, context)
    if isinstance(error, click.MissingParameter):
        return Mistake(_name(error.param, context), "is missing", _missing(error.param, context))
    if isinstance(error, click.BadOptionUsage):
        return _wrong_number_of_values(error.option_name, context)
    if isinstance(error, click.BadParameter):
        return Mistake(_place(error.param, error.ctx or context), error.message)
    return Mistake(context.command_path, error.message)


def _no_option(error: NoSuchOption, context: click.Context) -> Mistake:
    verb = context.command_path.partition(" ")[2]
    takes_url = str(context.command.name).endswith(" URL")
    form = f"{context.command_path} {URL_FORM}" if takes_url else context.command_path
    remedy = absent_options().get(f"{verb} {error.option_name}") or (
        suggestion(error.option_name, error.possibilities or ()) or f"{form} --help lists them"
    )
    return Mistake(error.option_name, f"is no option of {form}", remedy)


def _too_many(word: str, context: click.Context) -> Mistake:
    return Mistake(word, f"is more than {context.command_path} takes", _usage(context))


def _wrong_number_of_values(name: str, context: click.Context) -> Mistake:
    parameters = [
        parameter for parameter in context.command.get_params(context) if name in parameter.opts
    ]
    if not parameters or not isinstance(parameters[0], click.Option):
        return Mistake(name, "has the wrong number of values", _usage(context))
    option = parameters[0]
    if option.is_flag:
        return Mistake(name, "takes no value", f"write {name} alone")
    needed = "a value" if option.nargs == 1 else f"{option.nargs} values"
    return Mistake(name, f"needs {needed}", f"write {name} {option.make_metavar(context)}")


def _place(parameter: click.Parameter | None, context: click.Context) -> str:
    """Return the environment variable that gave an option its value, or the parameter's name."""
    if parameter and context.get_parameter_source(parameter.name) is ParameterSource.ENVIRONMENT:
        return f"${parameter.envvar}"
    return _name(parameter, context)


def _name(parameter: click.Parameter | None, context: click.Context) -> str:
    """Return an option's first name, or an argument as the help shows it."""
    if isinstance(parameter, click.Option):
        return parameter.opts[0]
    return parameter.make_metavar(context) if parameter else context.command_path


def _missing(parameter: click.Parameter | None, context: click.Context) -> str:
    if isinstance(parameter, click.Option):
        return f"add {parameter.opts[0]} {parameter.make_metavar(context)}"
    return _usage(context)


def _usage(context: click.Context) -> str:
    pieces = " ".join(context.command.collect_usage_pieces(context))
    return f"write {context.command_path} {pieces}"
