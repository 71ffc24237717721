"""``httpbed pages``: list, build and check the pages that experiments can name."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import click

from httpbed.addons.pages.page import NamedPage
from httpbed.addons.pages.sites import catalog as sites
from httpbed.addons.pages.sites import corpus
from httpbed.base import folders
from httpbed.base.errors import HostError, Mistake, require_none
from httpbed.cli import options
from httpbed.cli.echo import aligned, echo, say
from httpbed.cli.experiment_argument import catalog, recipes_option
from httpbed.cli.options import json_option
from httpbed.cli.verb import verb_group

browser_option = click.option(
    "--browser",
    metavar="NAME",
    default="chromium-headless-shell",
    show_default=True,
    help="The implementation that loads the page.",
)
server_option = click.option(
    "--server",
    metavar="NAME",
    default="nginx",
    show_default=True,
    help="The implementation that serves the page.",
)


def _complete(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    del context, parameter
    return options.beginning(sites.names(), typed)


_names = click.argument("names", nargs=-1, metavar="[PAGE]...", shell_complete=_complete)
_UNABLE, _WRONG = 3, 1
_SEED = 1
"""Seed of generated pages; pages of the corpus are the same for every seed."""


@verb_group("pages", invoke_without_command=True)
@json_option
@click.pass_context
def command(context: click.Context, *, as_json: bool) -> None:
    """List the pages that an experiment can name; or build or check them.

    Use it to see the names for `page = "..."`, and each page's size and source. Real pages are
    fetched as packages of npm and Debian when they are first needed.
    """
    if context.invoked_subcommand is not None:
        return
    if as_json:
        echo(
            json.dumps({"schema": 1, "pages": [_as_json(name) for name in sites.names()]}, indent=1)
        )
        return
    rows = [["page", "requests", "kB", "from", "groups"]]
    for line in aligned(rows + [_row(name) for name in sites.names()]):
        echo(line)


@command.command()
@_names
@click.option("--all", "every", is_flag=True, help="Build all pages.")
def make(*, names: tuple[str, ...], every: bool) -> None:
    """Build the sites of pages in advance.

    Use it before you go offline, or when a run must not wait. Pages that cannot be fetched are
    reported, and the others are still built; the exit code is then 3.
    """
    failures = []
    for name in _chosen(names, every=every):
        try:
            made = sites.ensure(NamedPage(name=name), _SEED, Path(), say)
            echo(f"{name}: {made.folder}")
        except HostError as error:
            failures.append(name)
            say(f"{name} is not built: {error}")
    if failures:
        raise SystemExit(_UNABLE)


@command.command()
@_names
@click.option("--all", "every", is_flag=True, help="Check all pages.")
@browser_option
@server_option
@recipes_option
def check(
    *,
    names: tuple[str, ...],
    every: bool,
    browser: str,
    server: str,
    recipe_folders: tuple[Path, ...],
) -> None:
    """Load pages, and compare the browser's requests with each page's list.

    Use it with your own browser or a new one. The exit code is 1 if any page makes more or fewer
    requests than listed.
    """
    from httpbed.addons.pages.mirror import loader  # a list needs no trials

    chosen, known = _chosen(names, every=every), catalog(recipe_folders)
    loader.require(known, browser=browser, server=server)
    loads = loader.BrowserLoader(known, browser, server, say)
    wrong = False
    parent = folders.cache() / "work"
    parent.mkdir(parents=True, exist_ok=True)
    for name in chosen:
        made = sites.ensure(NamedPage(name=name), _SEED, Path(), say)
        with tempfile.TemporaryDirectory(dir=parent) as scratch:
            load = loads.load_page({"name": name}, made, Path(scratch))
        differences = loader.differences(made, load)
        echo(f"{name}: {'as listed' if not differences else ''}".rstrip())
        for line in differences:
            echo(f"  {line}")
        wrong = wrong or bool(differences)
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
        mistakes = [Mistake("pages", "no page is named", "name pages, or use --all")]
    require_none(mistakes)
    return known if every else list(names)


def _as_json(name: str) -> dict[str, Any]:
    outline = sites.outline(NamedPage(name=name), Path())
    values: dict[str, Any] = {"name": name, "requests": outline.requests, "bytes": outline.weight}
    entry = corpus.read().sites.get(name)
    if entry:
        values |= {
            "source": str(corpus.read().packages[entry.package]),
            "groups": entry.groups,
            "by_type": {kind: kept.model_dump() for kind, kept in entry.by_type.items()},
            "sha256": entry.sha256,
        }
    return values


def _row(name: str) -> list[str]:
    values = _as_json(name)
    cells = [name, str(values["requests"]), f"{values['bytes'] / 1000:.0f}"]
    groups = ", ".join(values.get("groups", []))
    return [*cells, values.get("source", "generated from the seed"), groups]
