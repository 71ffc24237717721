"""``httpbed toolbox``: the programs under test: list, show, build and remove; networks, too."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from httpbed.base.errors import ConfigError, Mistake, RejectedValueError, require_none
from httpbed.bed.toolbox import debian, pypi, root_filesystem
from httpbed.bed.toolbox.root_filesystem import Contents, Root
from httpbed.cli import options
from httpbed.cli.echo import aligned, echo, say
from httpbed.cli.experiment_argument import catalog, recipes_option
from httpbed.cli.options import json_option, suggestion
from httpbed.cli.verb import EXIT_HOST, VerbGroup
from httpbed.experiment import profiles
from httpbed.programs import catalog as catalogs
from httpbed.programs.catalog import Catalog
from httpbed.programs.recipe import Recipe
from httpbed.trial import program_roots

_names = click.argument(
    "names", nargs=-1, metavar="[IMPLEMENTATION]...", shell_complete=options.complete_programs
)
expired_option = click.option(
    debian.OPTION,
    "accept_expired",
    is_flag=True,
    help="Install from a package index that has expired, as a snapshot of the archive has.",
)


class _Programs(VerbGroup):
    """Takes the name of a program in place of a verb: ``httpbed toolbox curl``."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the verb below this one, or the one that shows the named program."""
        if args and args[0] not in self.list_commands(ctx) and not args[0].startswith("-"):
            return "show", self.get_command(ctx, "show"), args
        return super().resolve_command(ctx, args)


@click.group("toolbox", cls=_Programs, invoke_without_command=True)
@recipes_option
@json_option
@click.pass_context
def command(context: click.Context, *, recipe_folders: tuple[Path, ...], as_json: bool) -> None:
    """List the implementations that an experiment can name; build, check or remove programs.

    Use it to see the names for `implementation = "..."`, to check your own recipe, and to build
    programs before you go offline or in a CI job; runs build missing ones by themselves. `httpbed
    toolbox NAME` shows one program with its knobs. Each program has its own root filesystem, and
    one more has the tools that set up networks, once per user.
    """
    if context.invoked_subcommand is None:
        _list(catalog(recipe_folders), as_json=as_json)


@command.command("show")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@recipes_option
@json_option
@click.pass_context
def show(
    context: click.Context,
    *,
    names: tuple[str, ...],
    recipe_folders: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Show programs with their knobs: what an experiment may vary, and upstream's default.

    `show` may be left out, unless a program is named as a verb of `httpbed toolbox` is.
    """
    above = context.parent.params if context.parent else {}
    recipes = catalog((*above.get("recipe_folders", ()), *recipe_folders)).recipes
    if unknown := [name for name in names if name not in recipes]:
        words = [*recipes, *command.list_commands(context)]
        known = f"known: {', '.join(recipes)}"
        raise ConfigError(
            Mistake(name, "is no program", suggestion(name, words) or known) for name in unknown
        )
    chosen = [recipes[name] for name in dict.fromkeys(names)]
    if as_json or above.get("as_json"):
        echo(json.dumps([_as_json(recipe) for recipe in chosen], indent=1))
        return
    for recipe in chosen:
        for line in _described(recipe):
            echo(line)


def _described(recipe: Recipe) -> Iterator[str]:
    is_here, why = program_roots.state(recipe)
    yield f"{recipe.name}: {', '.join(recipe.roles)}" + f" ({recipe.homepage})" * bool(
        recipe.homepage
    )
    facts = {
        "HTTP": ", ".join(recipe.http_versions),
        "upstream": ", ".join(recipe.upstream_http_versions),
        "workloads": ", ".join(recipe.workloads),
        "QUIC control": ", ".join(_quic_controls(recipe)),
        "from": recipe.install.summary(),
        "needs": f"version {recipe.version.least}"
        if recipe.version and recipe.version.least
        else "",
        "installed": "yes" if is_here else f"no: {why}",
        "note": recipe.note,
    }
    yield from aligned([[name, value] for name, value in facts.items() if value])
    yield f"  knobs{'' if recipe.knobs else ': none'}"
    for name, knob in recipe.knobs.items():
        yield f"    {name}: {knob.domain()}; default {knob.default}"
        yield f"      {knob.meaning}" + f" ({knob.source})" * bool(knob.source)


def _quic_controls(recipe: Recipe) -> tuple[str, ...]:
    control = recipe.congestion_control.quic
    return ((control.fixed,) if control.fixed else control.allowed()) if control else ()


def _list(known: Catalog, *, as_json: bool) -> None:
    recipes = sorted(known.recipes.values(), key=lambda recipe: recipe.name)
    if as_json:
        echo(json.dumps([_as_json(recipe) for recipe in recipes], indent=1))
        return
    rows = [["implementation", "roles", "HTTP", "upstream", "here", "from"]]
    rows += [_row(recipe) for recipe in recipes]
    for line in aligned(rows):
        echo(line)
    say("httpbed toolbox NAME shows a program with its packages and knobs, and why it is not here")


def _as_json(recipe: Recipe) -> dict[str, Any]:
    is_here, where = program_roots.state(recipe)
    return {
        **recipe.model_dump(by_alias=True, mode="json"),
        "is_here": is_here,
        "where": where,
    }


def _row(recipe: Recipe) -> list[str]:
    is_here, _ = program_roots.state(recipe)
    return [
        recipe.name,
        "/".join(recipe.roles),
        ", ".join(recipe.http_versions),
        ", ".join(recipe.upstream_http_versions) or "-",
        "yes" if is_here else "no",
        recipe.install.source(),
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
        values = {name: profile.model_dump() for name, profile in chosen.items()}
        echo(json.dumps({"schema": 1, "profiles": values}, indent=1))
        return
    for name, profile in chosen.items():
        echo(f"{name}: {profile.title}")
        echo(f"    {_link_words(profile.link)}")
        echo(f"    {profile.kind}: {profile.source}")
        if names:
            echo(f"    {profile.taken}")


def _existing(names: Iterable[str]) -> list[str]:
    mistakes, existing = [], []
    for name in names:
        try:
            existing.append(profiles.known(name))
        except RejectedValueError as error:
            mistakes.append(Mistake("NAME", error.reason, error.remedy))
    require_none(mistakes)
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


@command.command("roots")
@json_option
def show_roots(*, as_json: bool) -> None:
    """List the finished root filesystems, the oldest first."""
    roots = root_filesystem.find_all()
    if as_json:
        echo(json.dumps([_root_as_json(root) for root in roots], indent=2))
        return
    for root in roots:
        contents = ", ".join([*sorted(root.packages), *sorted(map(pypi.named, root.pypi))])
        echo(f"{root.name}  {root.built}  {contents}")


@command.command()
@_names
@recipes_option
@expired_option
@json_option
def build(
    *,
    names: tuple[str, ...],
    recipe_folders: tuple[Path, ...],
    accept_expired: bool,
    as_json: bool,
) -> None:
    """Build the root filesystems of implementations, by default of all, and print where they are.

    Programs that cannot be installed are reported, and the others are still built; the exit code is
    3 if you named such a program. Programs that are compiled, such as httpbed-quiche and quic-go,
    and those that few experiments need, such as curl-cffi, are built only if you name them, or when
    a run first needs them.

    A package index that has expired is refused: somebody on the way to the archive may withhold
    newer packages. With the option it is used, and the manifest of every campaign says so.
    """
    known = catalog(recipe_folders)
    needed = _needed(known, names)
    roots, failures = program_roots.build(needed, say=say, accept_expired=accept_expired)
    built = [roots[contents] for contents in needed if contents in roots]
    if as_json:
        echo(json.dumps([_root_as_json(root) for root in built], indent=2))
    else:
        for contents in needed:
            if contents in roots:
                echo(f"{roots[contents].path}  {', '.join(needed[contents])}")
    for contents, failure in failures.items():
        say(f"{' and '.join(needed[contents])} not built: {failure}")
    for name in names:
        if known[name].install.own:
            where = program_roots.own_executable(known[name], say, accept_expired=accept_expired)
            say(f"{name} is {where}")
    if failures and (names or not roots):
        raise click.exceptions.Exit(EXIT_HOST)


@command.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--all", "every", is_flag=True, help="Remove all root filesystems.")
@json_option
def remove(names: tuple[str, ...], *, every: bool, as_json: bool) -> None:
    """Remove root filesystems by name, as `roots` shows it; none may be in use."""
    there = {root.name: root for root in root_filesystem.find_all()}
    chosen = tuple(there) if every else names
    if not (names or every):
        remedy = "name the root filesystems to remove, or add --all"
        raise ConfigError([Mistake("NAME", "is missing", remedy)])
    if unknown := [name for name in chosen if name not in there]:
        raise ConfigError(
            Mistake(name, "no toolbox has this name", "see httpbed toolbox roots")
            for name in unknown
        )
    for name in chosen:
        root_filesystem.remove(there[name])
        say(f"removed {name}")
    if as_json:
        echo(json.dumps({"schema": 1, "removed": list(chosen)}))


def _needed(known: Catalog, names: tuple[str, ...]) -> dict[Contents, list[str]]:
    """Return the contents of each needed root filesystem -> the programs that need it."""
    catalogs.require(known, names)
    return {root_filesystem.TOOLS: ["the tools"], **known.installs(names or None)}


def _root_as_json(root: Root) -> dict[str, object]:
    return {
        "schema": 1,
        "name": root.name,
        "suite": root.suite,
        "path": str(root.path),
        "packages": sorted(root.packages),
        "pypi": sorted(root.pypi),
        "versions": root.versions,
        "wheels": dict(root.wheels),
        "index": root.index,
        "index_expired": root.index_expired,
        "built": root.built,
    }
