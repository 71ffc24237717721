"""The verbs by name. Each module is imported when its verb is used: plotting takes a second."""

from __future__ import annotations

import importlib
import keyword

import click

from httpbed.cli.verb import VerbGroup, no_verb
from httpbed.experiment.errors import ConfigError

VERBS = {
    "demo": "Compare HTTP versions and congestion controls in a minute.",
    "run": "Run an experiment, or resume its campaign.",
    "compare": "Compare programs in one line, and keep the experiment file.",
    "plan": "Show what a run would do, without doing it.",
    "validate": "List all mistakes in an experiment file.",
    "status": "Show how far a campaign is.",
    "report": "Print a campaign's results; write its HTML report and figures.",
    "claims": "Judge the claims of a campaign.",
    "advise": "Say what was best in the measured conditions nearest to yours.",
    "gate": "Fail if a campaign is worse than a baseline, or contradicts its claims.",
    "diff": "Compare two campaigns, treatment by treatment.",
    "export": "Write campaigns as a table, as a dataset with dictionary, or as HAR files.",
    "worker": "Run blocks of campaigns on this machine, as one of several.",
    "merge": "Write campaigns without their artifacts, as one small archive.",
    "verify": "Compare every file of a campaign with its digest.",
    "import": "Turn HAR files into observations, and audit claims on them.",
    "link": "Run any command behind an emulated link.",
    "calibrate": "Compare the emulated link with arithmetic, and certify it.",
    "audit": "Test whether trials side by side give the numbers of trials one at a time.",
    "capacity": "Measure how many page loads may run side by side on this machine.",
    "conformance": "Test whether a sender's congestion control behaves as its name says.",
    "doctor": "Test what this machine can do, point by point.",
    "toolbox": "List, build or remove the installed programs under test.",
    "recipes": "List the programs that an experiment can name, or check them.",
    "profiles": "List the networks that links can name, with their sources.",
    "pages": "List, build or check the pages that experiments can name.",
    "mirror": "Make your own page self-contained, so that experiments can load it.",
    "schema": "Print the JSON Schema of an experiment file.",
}
"""Each verb with its purpose, in the order in which a new user needs them."""


class Verbs(VerbGroup):
    """A group whose commands are modules of this package."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the name of every verb."""
        del ctx
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a verb's module and return its command."""
        del ctx
        if cmd_name not in VERBS:
            return None
        # A module cannot have the name of a Python keyword ("import").
        name = f"{cmd_name}_" if keyword.iskeyword(cmd_name) else cmd_name
        command = importlib.import_module(f"httpbed.cli.{name}").command
        return command if isinstance(command, click.Command) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb; click would look for similar ones among imported commands only."""
        if args[0] not in VERBS and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise ConfigError([no_verb(ctx, args[0], list(VERBS))])
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs without importing any."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))
