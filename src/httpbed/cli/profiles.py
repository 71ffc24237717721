"""``httpbed profiles``: list the networks that links can name, with their sources."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import click

from httpbed.base.errors import ConfigError, Mistake, RejectedValueError
from httpbed.cli import completion
from httpbed.cli.echo import echo
from httpbed.cli.json_option import json_option
from httpbed.cli.verb import verb
from httpbed.experiment import profiles


@verb("profiles")
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=completion.profiles)
@json_option
def command(*, names: tuple[str, ...], as_json: bool) -> None:
    """List the networks that links can name, with their figures and sources.

    Use it to choose a `profile = "..."` for a link of an experiment, or a --profile of httpbed
    link. With a NAME, it also says how the figures follow from the source.
    """
    known = profiles.all_profiles()
    chosen = {name: known[name] for name in _existing(names)} or known
    if as_json:
        values = {name: one.model_dump() for name, one in chosen.items()}
        echo(json.dumps({"schema": 1, "profiles": values}, indent=1))
        return
    for name, one in chosen.items():
        echo(f"{name}: {one.title}")
        echo(f"    {_words(one.link)}")
        echo(f"    {one.kind}: {one.source}")
        if names:
            echo(f"    {one.taken}")


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


def _words(link: Mapping[str, Any]) -> str:
    """Return a link in one line: its keys with their values, directions in parentheses."""
    parts = []
    for key, value in link.items():
        if isinstance(value, Mapping):
            parts.append(f"{key} ({_words(value)})")
        else:
            parts.append(f"{key} {value}")
    return ", ".join(parts)
