"""``httpbed pages``: list and build the pages that experiments can name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from httpbed.addons.pages.page import NamedPage
from httpbed.addons.pages.sites import catalog as sites
from httpbed.addons.pages.sites import corpus
from httpbed.base.errors import HostError, Mistake, did_you_mean, require_none
from httpbed.cli import options
from httpbed.cli.echo import aligned, echo, say
from httpbed.cli.options import json_option
from httpbed.cli.verb import EXIT_HOST, verb_group


def _complete(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    del context, parameter
    return options.beginning(sites.names(), typed)


_names = click.argument("names", nargs=-1, metavar="[PAGE]...", shell_complete=_complete)
_SEED = 1
"""Seed of generated pages; pages of the corpus are the same for every seed."""


@verb_group("pages", invoke_without_command=True)
@json_option
@click.pass_context
def command(context: click.Context, *, as_json: bool) -> None:
    """List the pages that an experiment can name; or build them.

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
        raise click.exceptions.Exit(EXIT_HOST)


def _chosen(names: tuple[str, ...], *, every: bool) -> list[str]:
    known = sites.names()
    mistakes = [
        Mistake(name, "no page has this name", did_you_mean(name, known, "see httpbed pages"))
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
