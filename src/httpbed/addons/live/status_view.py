"""``httpbed report --status``: how far a campaign is."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from httpbed.cli.echo import echo
from httpbed.cli.options import CampaignView

if TYPE_CHECKING:  # slow, and not for --help
    from httpbed.report.terminal import Console

Document = Mapping[str, Any]
LINE_EVERY_S = 60.0
"""Between two lines of a watch that is not on a terminal."""


class StatusView(CampaignView):
    """How far a campaign is, why trials failed, and the estimates so far.

    During a run it works at idle priority. With ``--watch`` it uses at most 1 % of a core.
    """

    name = "status"
    options = (
        click.option(
            "--status",
            "shows_status",
            is_flag=True,
            help="Show how far the campaign is, why trials failed, and the estimates so far: during"
            " a run, from another terminal, or to see whether a campaign is complete.",
        ),
        click.option(
            "--watch",
            "watches",
            is_flag=True,
            help="Show the status again after each change, until the run ends; with --json, a line"
            " for each.",
        ),
    )

    def asked_by(self, chosen: Mapping[str, Any]) -> str:
        """Return the first option of the status that is given."""
        if chosen["shows_status"]:
            return "--status"
        return "--watch" if chosen["watches"] else ""

    def show(self, directory: Path, chosen: Mapping[str, Any], *, as_json: bool) -> None:
        """Show the status once, or follow it."""
        from httpbed.addons.live import status
        from httpbed.bed.machine import machine_load
        from httpbed.report.terminal import console
        from httpbed.store import campaign_folder

        if campaign_folder.is_locked(directory):
            machine_load.become_idle()
        if as_json:
            every = status.documents(directory) if chosen["watches"] else [status.once(directory)]
            for document in every:
                echo(json.dumps(document))
        elif chosen["watches"]:
            _watch(directory, console())
        else:
            _print(status.once(directory), console())


def _print(document: Document, out: Console) -> None:
    """Print a status; its first line is one line in a pipe, for scripts."""
    from rich.text import Text

    from httpbed.addons.live import status
    from httpbed.report.terminal import show

    out.print(Text(status.heading(document)), soft_wrap=not out.is_terminal)
    show(out, [status.details(document)])


def _watch(directory: Path, out: Console) -> None:
    """Show the status again after each change; off a terminal, a line at most every minute."""
    from rich.live import Live
    from rich.text import Text

    from httpbed.addons.live import status

    last: Document = {}
    printed_s = -LINE_EVERY_S
    with Live(console=out, auto_refresh=False, transient=True) as live:
        for last in status.documents(directory):
            if out.is_terminal:
                live.update(status.whole(last, out.height), refresh=True)
            elif last["running"] and time.monotonic() - printed_s >= LINE_EVERY_S:
                printed_s = time.monotonic()
                out.print(Text(status.heading(last)), soft_wrap=True)
    _print(last, out)


VIEW = StatusView()
