"""The verbs by name, each loaded when it is asked for: plotting takes a second to import."""

from __future__ import annotations

import importlib
import keyword

import click

VERBS = {
    "demo": "Compare HTTP/1.1, HTTP/2 and HTTP/3 in two minutes.",
    "run": "Run an experiment, or resume its campaign.",
    "compare": "Compare programs in one line, and get the experiment file to go on from.",
    "plan": "Show what a run would do, without doing it.",
    "validate": "List all mistakes in an experiment file.",
    "status": "Show how far a campaign is.",
    "report": "Print what a campaign found; write its page and figures.",
    "export": "Print a campaign as a tidy table, or write its loads as HAR files.",
    "verify": "Compare every file of a campaign with what was written.",
    "import": "Turn HAR files into observations, and audit what is claimed of them.",
    "link": "Run any command behind an emulated link.",
    "calibrate": "Run the emulated link against arithmetic, and certify it.",
    "capacity": "Measure how many page loads this machine carries side by side.",
    "conformance": "Tell whether a sender's congestion control behaves as its name says.",
    "doctor": "Say what this machine can do, each point tried.",
    "toolbox": "Show, build or remove the programs under test.",
    "recipes": "List the programs that an experiment can name, or check them.",
    "pages": "List, make or check the pages that experiments can load by name.",
    "mirror": "Make a page of your own self-contained, so that experiments can load it.",
    "schema": "Print the JSON Schema of an experiment file.",
}
"""In the order in which one meets them, with what each is for."""


class Verbs(click.Group):
    """A group whose commands are modules of this package."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name every verb."""
        del ctx
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a verb."""
        del ctx
        if cmd_name not in VERBS:
            return None
        # A module cannot be imported by a name that is a word of the language.
        name = f"{cmd_name}_" if keyword.iskeyword(cmd_name) else cmd_name
        command = importlib.import_module(f"httpbed.cli.{name}").command
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs without loading any."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))
