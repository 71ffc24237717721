"""``httpbed report --status``: how far a campaign is."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from httpbed.base.errors import ConfigError, Mistake, require_none
from httpbed.cli.echo import echo
from httpbed.cli.options import CampaignView

if TYPE_CHECKING:  # slow, and not for --help
    from httpbed.report.terminal import Console

Document = Mapping[str, Any]
LINE_EVERY_S = 60.0
"""Between two lines of a watch that is not on a terminal."""


class StatusView(CampaignView):
    """How far campaigns are, why trials failed, and the estimates so far.

    During a run it works at idle priority. With ``--watch`` it uses at most 1 % of a core.
    """

    name = "status"
    options = (
        click.option(
            "--status",
            "shows_status",
            is_flag=True,
            help="Show how far each DIR is, why trials failed, and the estimates so far: during a"
            " run, from another terminal, or to see whether a campaign is complete.",
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
        given = {
            "--status": chosen["shows_status"],
            "--watch": chosen["watches"],
        }
        return next((option for option, is_given in given.items() if is_given), "")

    def show(
        self, directories: Sequence[Path], chosen: Mapping[str, Any], *, as_json: bool
    ) -> None:
        """Show the status of several campaigns once, or follow that of one."""
        from httpbed.addons.live import watch
        from httpbed.bed.machine import machine_load
        from httpbed.cli.campaign_folders import named_twice
        from httpbed.report.terminal import console
        from httpbed.store import campaign_folder

        watches = chosen["watches"]
        if any(map(campaign_folder.is_locked, directories)):
            machine_load.become_idle()
        mistakes = [*named_twice(directories)]
        if watches and len(directories) > 1:
            mistakes.append(Mistake("--watch", "shows one campaign", "name one folder"))
        if mistakes or not watches:
            _show(_read(directories, mistakes), as_json=as_json)
        elif as_json:
            for document in watch.documents(directories[0]):
                echo(json.dumps(document))
        else:
            _watch(directories[0], console())


def _read(directories: Sequence[Path], mistakes: list[Mistake]) -> list[Document]:
    """Read every campaign; raise ConfigError with the mistakes of all."""
    from httpbed.addons.live import watch

    documents = list[Document]()
    for directory in dict.fromkeys(directories):
        try:
            documents.append(watch.once(directory))
        except ConfigError as error:
            mistakes += error.mistakes
    require_none(mistakes)
    return documents


def _show(documents: Sequence[Document], *, as_json: bool) -> None:
    if as_json:
        for document in documents:
            echo(json.dumps(document))
        return
    from httpbed.report.terminal import console

    for number, document in enumerate(documents):
        if number:
            echo()
        _print(document, console())


def _print(document: Document, out: Console) -> None:
    """Print a status; its first line is one line in a pipe, for scripts."""
    from rich.text import Text

    from httpbed.addons.live import terminal
    from httpbed.report.terminal import show

    out.print(Text(terminal.heading(document)), soft_wrap=not out.is_terminal)
    show(out, [terminal.details(document)])


def _watch(directory: Path, out: Console) -> None:
    """Show the status again after each change; off a terminal, a line at most every minute."""
    from rich.live import Live
    from rich.text import Text

    from httpbed.addons.live import terminal, watch

    last: Document = {}
    printed_s = -LINE_EVERY_S
    with Live(console=out, auto_refresh=False, transient=True) as live:
        for last in watch.documents(directory):
            if out.is_terminal:
                live.update(terminal.whole(last, out.height), refresh=True)
            elif last["running"] and time.monotonic() - printed_s >= LINE_EVERY_S:
                printed_s = time.monotonic()
                out.print(Text(terminal.heading(last)), soft_wrap=True)
    _print(last, out)


VIEW = StatusView()
