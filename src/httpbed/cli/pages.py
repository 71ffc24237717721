"""``httpbed pages``: the pages that experiments can load by name."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import click

from httpbed.cli.echo import echo
from httpbed.cli.experiment_argument import catalog, json_option, recipes_option
from httpbed.experiment.errors import ConfigError, HostError, Mistake
from httpbed.experiment.page import NamedPage
from httpbed.host import folders
from httpbed.studies.interop import table
from httpbed.studies.mirror import agreement
from httpbed.studies.mirror.browser_load import Loader
from httpbed.web.sites import catalog as sites
from httpbed.web.sites import corpus

_names = click.argument("names", nargs=-1, metavar="[PAGE]...")
_UNABLE, _WRONG = 3, 1
_SEED = 1
"""Of pages that are drawn; those of the corpus are the same for every seed."""


@click.group("pages", invoke_without_command=True)
@click.option("--plot", type=click.Path(path_type=Path), help="Draw their sizes into this file.")
@json_option
@click.pass_context
def command(context: click.Context, *, plot: Path | None, as_json: bool) -> None:
    """List the pages that an experiment can load by name, or make or check them.

    Use it to see what `page = "..."` may say, how large each is, and what it is made of. Real pages
    are fetched as packages of npm and Debian when they are first needed.
    """
    if context.invoked_subcommand is not None:
        return
    if plot is not None:
        from httpbed.report import pages_figure  # noqa: PLC0415 - plotting takes a second to import

        pages_figure.write(corpus.read().sites, plot)
    if as_json:
        echo(json.dumps({"schema": 1, "pages": [_told(name) for name in sites.names()]}, indent=1))
        return
    rows = [["page", "requests", "kB", "from", "groups"]]
    for line in table.aligned(rows + [_row(name) for name in sites.names()]):
        echo(line)


@command.command()
@_names
@click.option("--all", "every", is_flag=True, help="Make all of them.")
def make(*, names: tuple[str, ...], every: bool) -> None:
    """Make the sites of some pages ahead, before you go offline or on the clock.

    What cannot be had today is told and keeps nobody from the rest; the exit code is then 3.
    """
    failures = []
    for name in _chosen(names, every=every):
        try:
            made = sites.ensure(NamedPage(name=name), _SEED, Path(), _say)
            echo(f"{name}: {made.folder}")
        except HostError as error:
            failures.append(name)
            _say(f"without {name}: {error}")
    if failures:
        raise SystemExit(_UNABLE)


@command.command()
@_names
@click.option("--all", "every", is_flag=True, help="Check all of them.")
@click.option("--browser", default="chromium-headless-shell", show_default=True)
@click.option("--server", default="nginx", show_default=True)
@recipes_option
def check(
    *,
    names: tuple[str, ...],
    every: bool,
    browser: str,
    server: str,
    recipe_folders: tuple[Path, ...],
) -> None:
    """Load some pages, and tell whether they ask for what their list says.

    Use it with a browser of your own or a new one. The exit code is 1 if any asks for more or less.
    """
    loader = Loader(catalog(recipe_folders), browser, server, _say)
    wrong = False
    parent = folders.cache() / "work"
    parent.mkdir(parents=True, exist_ok=True)
    for name in _chosen(names, every=every):
        made = sites.ensure(NamedPage(name=name), _SEED, Path(), _say)
        with tempfile.TemporaryDirectory(dir=parent) as scratch:
            found = agreement.differences(made.site, loader.load(made.folder, Path(scratch)))
        echo(f"{name}: {'as listed' if not found else ''}".rstrip())
        for line in found:
            echo(f"  {line}")
        wrong = wrong or bool(found)
    if wrong:
        raise SystemExit(_WRONG)


def _chosen(names: tuple[str, ...], *, every: bool) -> list[str]:
    known = sites.names()
    mistakes = [
        Mistake(name, "no page has this name", "see httpbed pages")
        for name in names
        if name not in known
    ]
    if not (names or every):
        mistakes = [Mistake("pages", "none is named", "name some, or all of them with --all")]
    if mistakes:
        raise ConfigError(mistakes)
    return known if every else list(names)


def _told(name: str) -> dict[str, Any]:
    outline = sites.outline(NamedPage(name=name), Path())
    told: dict[str, Any] = {"name": name, "requests": outline.requests, "bytes": outline.weight}
    entry = corpus.read().sites.get(name)
    if entry:
        told |= {
            "source": str(corpus.read().packages[entry.package]),
            "groups": entry.groups,
            "by_type": {kind: kept.model_dump() for kind, kept in entry.by_type.items()},
            "sha256": entry.sha256,
        }
    return told


def _row(name: str) -> list[str]:
    told = _told(name)
    said = [name, str(told["requests"]), f"{told['bytes'] / 1000:.0f}"]
    return [*said, told.get("source", "made from the seed"), ", ".join(told.get("groups", []))]


def _say(line: str) -> None:
    echo(line, err=True)
