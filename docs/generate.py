"""Writes the reference manual's generated pages: `make docs`.

The commands' page comes from the commands themselves, the experiment's schema from the model.
"""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click

from httpbed import cli
from httpbed.model import profiles
from httpbed.report import network

REFERENCE = Path(__file__).resolve().parent / "reference"


def main() -> None:
    """Write the pages."""
    REFERENCE.mkdir(exist_ok=True)
    (REFERENCE / "commands.md").write_text(commands())
    (REFERENCE / "profiles.md").write_text(networks())
    schema = subprocess.run(["httpbed", "schema"], check=True, capture_output=True, text=True)
    (REFERENCE / "experiment.schema.json").write_text(schema.stdout)


def commands() -> str:
    """Gather every command's help into one page."""
    sections = ["# Commands", "Written by `make docs` from the commands themselves."]
    for module in pkgutil.iter_modules(cli.__path__):
        found = getattr(importlib.import_module(f"httpbed.cli.{module.name}"), "command", None)
        if isinstance(found, click.Command):
            sections += help_of(found, ["httpbed", found.name or module.name])
    return "\n\n".join(sections) + "\n"


KINDS = {
    "paper": "a paper's own test network",
    "preset": "a tool's preset",
    "measured": "a measured network",
    "rule": "made by a stated rule",
}


def networks() -> str:
    """List every profile with its figures, its source and how they became one."""
    sections = ["# Profiles", "Written by `make docs` from `src/httpbed/model/profiles.toml`."]
    for name, profile in profiles.all_profiles().items():
        (facts,) = network.links({"topology": {"links": [{**PATH, "profile": name}]}})
        sections += [
            f"## `{name}`",
            f"{profile.title}; {KINDS[profile.kind]}.",
            "\n".join(
                [
                    f"- Link: {network.sentence(facts)}.",
                    f"- Source: {profile.source}.",
                    f"- Taken: {profile.taken}",
                ]
            ),
        ]
    return "\n\n".join(sections) + "\n"


PATH = {"between": ["client", "server"]}


def help_of(command: click.Command, words: list[str]) -> Iterator[str]:
    """Give a command's section, and those of the commands below it."""
    name = " ".join(words)
    context = click.Context(command, info_name=name, max_content_width=96)
    yield f"## {name}"
    yield f"```text\n{command.get_help(context)}\n```"
    if isinstance(command, click.Group):
        for below in command.commands.values():
            yield from help_of(below, [*words, below.name or ""])


if __name__ == "__main__":
    main()
