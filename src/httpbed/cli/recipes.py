"""``httpbed recipes``: the programs that can take a role, and whether they do as they promise."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Collection, Iterable
from pathlib import Path

import click

from httpbed.cli.experiment import catalog, json_option, own_programs, recipes_option
from httpbed.host import cache
from httpbed.implementations.catalog import Catalog
from httpbed.matrix import check as checking
from httpbed.matrix import table, ways
from httpbed.matrix.check import Outcome, Tried
from httpbed.matrix.ways import Way
from httpbed.model.errors import ConfigError, HostError, Mistake
from httpbed.trial import programs


@click.group("recipes", invoke_without_command=True)
@recipes_option
@json_option
@click.pass_context
def command(context: click.Context, *, recipe_folders: tuple[Path, ...], as_json: bool) -> None:
    """List the implementations that an experiment can name, or check them.

    Use it to see what `implementation = "..."` may say, and to check a recipe of your own.
    """
    if context.invoked_subcommand is None:
        _list(catalog(recipe_folders), as_json=as_json)


@command.command("list")
@recipes_option
@json_option
def show(*, recipe_folders: tuple[Path, ...], as_json: bool) -> None:
    """List the implementations that an experiment can name, with what they can do."""
    _list(catalog(recipe_folders), as_json=as_json)


def _list(known: Catalog, *, as_json: bool) -> None:
    recipes = sorted(known.recipes.values(), key=lambda one: one.name)
    if as_json:
        said = [recipe.model_dump(by_alias=True, mode="json") for recipe in recipes]
        click.echo(json.dumps(said, indent=1))
        return
    for recipe in recipes:
        roles, versions = "/".join(recipe.roles), ", ".join(recipe.http_versions)
        origin, (_, state) = recipe.install.summary(), programs.state(recipe)
        click.echo(f"{recipe.name:<14} {roles:<14} HTTP {versions:<12} {origin} ({state})")


@command.command("check")
@click.argument("names", nargs=-1, metavar="[IMPLEMENTATION]...")
@click.option(
    "--full",
    is_flag=True,
    help="Every client with every server in every version, direct and through every proxy, instead"
    " of each promise once.",
)
@click.option("--jobs", type=click.IntRange(1, 64), default=1, show_default=True)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Keep what every trial left, to see why one failed.",
)
@recipes_option
@json_option
@click.pass_context
def check(
    context: click.Context,
    *,
    names: tuple[str, ...],
    full: bool,
    jobs: int,
    output: Path | None,
    recipe_folders: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Run what is installed in every role and HTTP version that its recipe declares.

    Use it after writing a recipe, with a build of your own (--program), and after an upgrade:
    before a campaign, for a promise that does not hold costs you its trials.

    Each downloads 1 kB and 1 MB, compared by digest, with the most versatile counterpart that is
    installed; tells its version; and must refuse what it does not declare. With names, only ways
    in which one of those takes part. httpbed toolbox build installs what is missing.

    Exit code: 0 all did as promised; 1 one did not; 2 usage, or a program of your own that cannot
    be run; 3 nothing is installed.
    """
    known = catalog(recipe_folders)
    _require(known, names)
    programs.require(known[name] for name in {*names, *own_programs()})
    found, absent = checking.here(known)
    chosen = ways.every(found) if full else ways.few(found)
    wanted = [way for way in chosen if not names or way.members() & set(names)]
    absent = {name: why for name, why in absent.items() if not names or name in names}
    if not wanted:
        told = "; ".join(f"{name}: {why}" for name, why in absent.items())
        remedy = f"httpbed toolbox build {' '.join(names)}".strip()
        raise HostError(f"nothing can be tried ({told or 'no counterpart is here'})", remedy)
    outcome = asyncio.run(_outcome(known, wanted, names, absent, jobs=jobs, output=output))
    if as_json:
        click.echo(json.dumps(table.as_json(outcome), indent=1))
    else:
        click.echo("\n".join(table.lines(outcome)))
    context.exit(0 if outcome.passed else 1)


def _require(known: Catalog, names: Iterable[str]) -> None:
    unknown = [name for name in names if name not in known.recipes]
    if unknown:
        listed = ", ".join(sorted(known.recipes))
        raise ConfigError(
            Mistake("IMPLEMENTATION", f"no recipe {name!r}; known: {listed}") for name in unknown
        )


async def _outcome(
    known: Catalog,
    wanted: Iterable[Way],
    names: Collection[str],
    absent: dict[str, str],
    *,
    jobs: int,
    output: Path | None,
) -> Outcome:
    found, _ = checking.here(known)
    recipes = [one for one in found if not names or one.name in names]
    bed = checking.make_bed(known, found, say=_say)
    members = await checking.members(bed, recipes)
    with tempfile.TemporaryDirectory(prefix="recipes-", dir=cache.folder()) as scratch:
        folder = output or Path(scratch)
        tried = await checking.try_all(bed, wanted, folder, jobs=jobs, tell=_tell)
    return Outcome(members, tried, absent)


def _tell(tried: Tried) -> None:
    _say(f"{tried.way.title()}: {table.verdict(tried)}")


def _say(line: str) -> None:
    click.echo(line, err=True)
