"""``httpbed toolbox``: list, build and remove the root filesystems of programs under test."""

from __future__ import annotations

import json
from pathlib import Path

import click

from httpbed.base.errors import ConfigError, HostError, Mistake
from httpbed.bed.toolbox import debian, pypi, root_filesystem
from httpbed.bed.toolbox.root_filesystem import Contents, Root
from httpbed.cli import options
from httpbed.cli.echo import echo, say
from httpbed.cli.experiment_argument import catalog, recipes_option
from httpbed.cli.options import json_option
from httpbed.cli.verb import verb_group
from httpbed.programs import catalog as catalogs
from httpbed.programs.catalog import Catalog
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
_UNABLE = 3


@verb_group("toolbox")
def command() -> None:
    """List, build or remove the root filesystems with the programs under test.

    Use it before you go offline, to prepare a CI job, to see disk usage, or to replace a damaged
    one. Runs build missing ones by themselves. Each program has its own root filesystem, and one
    more has the tools that set up networks, once per user.
    """


@command.command("list")
@json_option
def show(*, as_json: bool) -> None:
    """List the finished root filesystems, the oldest first."""
    roots = root_filesystem.find_all()
    if as_json:
        echo(json.dumps([_as_json(root) for root in roots], indent=2))
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
    """Build the root filesystems of implementations, by default of all, and print their paths.

    Programs that cannot be installed are reported, and the others are still built; the exit code is
    3 if you named such a program. Programs that are compiled, such as httpbed-quiche and quic-go,
    are built only if you name them, or when a run first needs them.

    A package index that has expired is refused: somebody on the way to the archive may withhold
    newer packages. With the option it is used, and the manifest of every campaign says so.
    """
    known = catalog(recipe_folders)
    needed = _needed(known, names)
    roots, failures = program_roots.build(needed, say=say, accept_expired=accept_expired)
    _locate([roots[contents] for contents in needed if contents in roots], as_json=as_json)
    for contents, failure in failures.items():
        say(f"{' and '.join(needed[contents])} not built: {failure}")
    for name in names:
        if known[name].install.own:
            built = program_roots.own_executable(known[name], say, accept_expired=accept_expired)
            say(f"{name} is {built}")
    if failures and (names or not roots):
        raise SystemExit(_UNABLE)


@command.command()
@_names
@recipes_option
@json_option
def path(*, names: tuple[str, ...], recipe_folders: tuple[Path, ...], as_json: bool) -> None:
    """Print the paths of the root filesystems of implementations, by default of all."""
    roots = []
    for contents, recipes in _needed(catalog(recipe_folders), names).items():
        root = root_filesystem.find(contents)
        if root is None:
            raise HostError(
                f"the toolbox of {' and '.join(recipes)} is not built",
                f"httpbed toolbox build {' '.join(names)}".strip(),
            )
        roots.append(root)
    _locate(roots, as_json=as_json)


@command.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--all", "every", is_flag=True, help="Remove all root filesystems.")
@json_option
def remove(names: tuple[str, ...], *, every: bool, as_json: bool) -> None:
    """Remove root filesystems by name, as `list` shows it; none may be in use."""
    there = {root.name: root for root in root_filesystem.find_all()}
    chosen = tuple(there) if every else names
    if not (names or every):
        remedy = "name the root filesystems to remove, or add --all"
        raise ConfigError([Mistake("NAME", "is missing", remedy)])
    if unknown := [name for name in chosen if name not in there]:
        raise ConfigError(
            Mistake(name, "no toolbox has this name", "see httpbed toolbox list")
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


def _locate(roots: list[Root], *, as_json: bool) -> None:
    if as_json:
        echo(json.dumps([_as_json(root) for root in roots], indent=2))
        return
    for root in roots:
        echo(root.path)


def _as_json(root: Root) -> dict[str, object]:
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
