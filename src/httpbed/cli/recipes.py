"""``httpbed recipes``: list the programs and the networks that an experiment can name."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from httpbed.base.errors import ConfigError, Mistake, RejectedValueError
from httpbed.cli import options
from httpbed.cli.echo import aligned, echo
from httpbed.cli.experiment_argument import catalog, recipes_option
from httpbed.cli.options import json_option, suggestion
from httpbed.cli.verb import VerbGroup
from httpbed.experiment import profiles
from httpbed.programs.catalog import Catalog
from httpbed.programs.recipe import Recipe
from httpbed.trial import program_roots


class _Programs(VerbGroup):
    """Takes the name of a program in place of a verb: ``httpbed recipes curl``."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the verb below this one, or the one that shows the named program."""
        if args and args[0] not in self.list_commands(ctx) and not args[0].startswith("-"):
            return "show", self.get_command(ctx, "show"), args
        return super().resolve_command(ctx, args)


@click.group("recipes", cls=_Programs, invoke_without_command=True)
@recipes_option
@json_option
@click.pass_context
def command(context: click.Context, *, recipe_folders: tuple[Path, ...], as_json: bool) -> None:
    """List the implementations that an experiment can name, or its networks, or check programs.

    Use it to see the names for `implementation = "..."`, and to check your own recipe. `httpbed
    recipes NAME` shows one program with its knobs.
    """
    if context.invoked_subcommand is None:
        _list(catalog(recipe_folders), as_json=as_json)


@command.command("list")
@recipes_option
@json_option
def show_list(*, recipe_folders: tuple[Path, ...], as_json: bool) -> None:
    """List the implementations that an experiment can name, with their roles and HTTP versions."""
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

    `show` may be left out, unless a program is named as a verb of `httpbed recipes` is.
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
