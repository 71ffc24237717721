"""``httpbed toolbox``: the root filesystems that hold the programs under test."""

from __future__ import annotations

import json

import click

from httpbed.host import toolbox
from httpbed.implementations import catalog
from httpbed.model.errors import ConfigError, HostError, Mistake

_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group("toolbox")
def command() -> None:
    """Show, build or remove the root filesystems with the programs under test.

    One is built per suite from the packages that the recipes name, once per user; runs build
    what they miss.
    """


@command.command("list")
@_json
def show(*, as_json: bool) -> None:
    """List the finished ones, the oldest first."""
    roots = toolbox.find_all()
    if as_json:
        click.echo(json.dumps([_as_json(root) for root in roots], indent=2))
        return
    for root in roots:
        click.echo(f"{root.name}  {root.built}  {', '.join(sorted(root.packages))}")


@command.command()
@_json
def build(*, as_json: bool) -> None:
    """Build those that the recipes need, and say where they are."""
    roots = [
        toolbox.ensure(suite, packages, say=_say)
        for suite, packages in sorted(catalog.load().installs().items())
    ]
    _locate(roots, as_json=as_json)


@command.command()
@_json
def path(*, as_json: bool) -> None:
    """Say where those are that the recipes need."""
    roots = []
    for suite, packages in sorted(catalog.load().installs().items()):
        root = toolbox.find(suite, packages)
        if root is None:
            raise HostError(f"the toolbox of {suite} is not built", "httpbed toolbox build")
        roots.append(root)
    _locate(roots, as_json=as_json)


@command.command()
@click.argument("names", nargs=-1)
@click.option("--all", "every", is_flag=True, help="Remove all of them.")
@_json
def remove(names: tuple[str, ...], *, every: bool, as_json: bool) -> None:
    """Remove some by name, as `list` shows it; none may be in use."""
    there = {root.name: root for root in toolbox.find_all()}
    chosen = tuple(there) if every else names
    if unknown := [name for name in chosen if name not in there]:
        raise ConfigError(
            Mistake(name, "there is no such toolbox", "see httpbed toolbox list")
            for name in unknown
        )
    for name in chosen:
        toolbox.remove(there[name])
        _say(f"removed {name}")
    if as_json:
        click.echo(json.dumps({"schema": 1, "removed": list(chosen)}))


def _locate(roots: list[toolbox.Root], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps([_as_json(root) for root in roots], indent=2))
        return
    for root in roots:
        click.echo(root.path)


def _as_json(root: toolbox.Root) -> dict[str, object]:
    return {
        "schema": 1,
        "name": root.name,
        "suite": root.suite,
        "path": str(root.path),
        "packages": sorted(root.packages),
        "versions": root.versions,
        "built": root.built,
    }


def _say(line: str) -> None:
    click.echo(line, err=True)
