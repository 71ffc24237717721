"""The live view of a run: a process beside it reads the campaign, for the terminal."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

from httpbed.bed.machine import machine_load
from httpbed.campaign.addition import CampaignAddition, Display, View
from httpbed.cli.echo import say

Show = Callable[[dict[str, Any]], None]


class LiveView(View):
    """The process beside a run; a context manager that ends it.

    Enter it before the campaign is opened: it ends the process after the campaign is closed.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None

    def start(self, directory: Path, display: Display) -> None:
        """Start to read an open campaign, if a terminal shows it."""
        if not display.is_live:
            return
        from httpbed.addons.live import terminal

        def show(status: dict[str, Any]) -> None:
            display.show_status(status, terminal.beside_a_run(status, display.rows))

        self._process = subprocess.Popen(
            # -P: no module of the user's folder stands in for one of ours.
            [sys.executable, "-P", "-m", "httpbed.addons.live.watcher", str(directory)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,  # Ctrl-C lets the trials under way finish, which it shows
        )
        machine_load.become_idle(self._process.pid)
        arguments = (self._process.stdout, show)
        self._reader = threading.Thread(target=_pass_on, args=arguments, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is None:
            return
        if self._process.poll() not in {None, 0}:
            say("note: the live view ended early; httpbed report --status shows the campaign")
        self._process.kill()
        self._process.wait()
        if self._reader:
            self._reader.join()


def _pass_on(lines: IO[str], show: Show) -> None:
    with lines:
        for line in lines:
            if line.endswith("\n"):  # else the process was killed within it
                show(json.loads(line))


@dataclass(frozen=True)
class LiveAddition(CampaignAddition):
    """A run shows its status on the terminal while it lasts."""

    name: str = "live"

    def view(self) -> LiveView:
        """Return the process beside the run."""
        return LiveView()


ADDITION = LiveAddition()
