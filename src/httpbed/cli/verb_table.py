"""The verbs by name. Each module is imported when its verb is used: plotting takes a second."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import get_args

import click

from httpbed.base.addon import Group, Verb, addons, refuse_duplicates
from httpbed.base.errors import ConfigError, Mistake
from httpbed.cli.verb import VerbGroup, command_of, no_verb

CORE_VERBS = (
    Verb("demo", "Compare HTTP versions and congestion controls in a minute.", "run", "demo"),
    Verb("run", "Run an experiment, or resume its campaign.", "run", "run"),
    Verb("plan", "Show what a run would do, without doing it.", "run", "plan"),
    Verb(
        "validate", "List all mistakes in an experiment file; print its schema.", "run", "validate"
    ),
    Verb(
        "report", "Print a campaign's results; write its HTML report and figures.", "read", "report"
    ),
    Verb("diff", "Compare two campaigns, treatment by treatment.", "read", "diff"),
    Verb(
        "export",
        "Write campaigns as a table, a dataset, an archive or HAR files.",
        "read",
        "export",
    ),
    Verb("verify", "Compare every file of a campaign with its digest.", "judge", "verify"),
    Verb("doctor", "Test what this machine can do, point by point.", "set up", "doctor"),
    Verb(
        "toolbox",
        "List the programs that an experiment can name; build and check them.",
        "set up",
        "toolbox",
    ),
)
GONE: Mapping[str, str] = {
    "advise": "use httpbed export --dataset, and the query in docs/guides/dataset.md",
    "calibrate": "use httpbed doctor calibrate",
    "capacity": "use httpbed doctor audit",
    "audit": "use httpbed doctor audit",
    "import": "use httpbed pages import FILE.har",
    "merge": "use httpbed export --archive -o ARCHIVE",
    "mirror": "use httpbed pages mirror",
    "profiles": "use httpbed toolbox profiles",
    "recipes": "use httpbed toolbox",
    "schema": "use httpbed validate --schema",
}
"""Verbs of earlier versions, and what to use instead."""
HEADINGS: Mapping[Group, str] = {
    "run": "Run",
    "read": "Read results",
    "judge": "Judge results",
    "look inside": "Look inside",
    "set up": "Set up",
}


@cache
def verbs() -> Mapping[str, Verb]:
    """Return the verbs of the core and of the addons by name: group by group."""
    core = [Verb(v.name, v.purpose, v.group, f"httpbed.cli.{v.module}") for v in CORE_VERBS]
    known = core + [
        one for addon in addons().values() for one in addon.verbs if " " not in one.name
    ]
    refuse_duplicates("verbs", [verb.name for verb in known])
    return {verb.name: verb for group in get_args(Group) for verb in known if verb.group == group}


class Verbs(VerbGroup):
    """A group whose commands are in modules of their own."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the name of every verb."""
        del ctx
        return list(verbs())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a verb's module and return its command."""
        del ctx
        return command_of(verbs()[cmd_name]) if cmd_name in verbs() else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb; click would look for similar ones among imported commands only."""
        if args[0] not in verbs() and not args[0].startswith("-") and not ctx.resilient_parsing:
            gone = GONE.get(args[0])
            raise ConfigError(
                [
                    Mistake(args[0], f"is gone from {ctx.command_path}", gone)
                    if gone
                    else no_verb(ctx, args[0], list(verbs()))
                ]
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs by what a person wants to do, without importing any."""
        del ctx
        for group, heading in HEADINGS.items():
            known = [(verb.name, verb.purpose) for verb in verbs().values() if verb.group == group]
            if known:  # a deleted addon may have been the only one of its group
                with formatter.section(heading):
                    formatter.write_dl(known)
