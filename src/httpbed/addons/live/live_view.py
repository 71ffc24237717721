"""The live view of a run: a process beside it reads the campaign, for the terminal and the page."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

from httpbed.addons.live import serve_option
from httpbed.bed.machine import machine_load
from httpbed.campaign.addition import CampaignAddition, Display, Option, View
from httpbed.campaign.settings import RunSettings
from httpbed.cli.echo import say

Show = Callable[[dict[str, Any]], None]
ENDS_S = 30.0
"""How long the process may take, after the run, to serve the last status and to end."""


class LiveView(View):
    """The process beside a run; a context manager that waits for its end.

    Enter it before the campaign is opened: the process ends after the campaign is closed.
    """

    def __init__(self, port: int | None) -> None:
        """Listen on the port of the page: 0 is a free one, None no page."""
        self._listening = None if port is None else serve_option.listen(port)
        self._secret = serve_option.new_secret()
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None

    def start(self, directory: Path, display: Display) -> None:
        """Start to read an open campaign, if a terminal or a page shows it."""
        from httpbed.addons.live import terminal

        def show_it(status: dict[str, Any]) -> None:
            display.show_status(status, terminal.beside_a_run(status, display.rows))

        show: Show | None = show_it if display.is_live else None
        if show is None and self._listening is None:
            return
        if self._listening is not None:
            say(f"live: {serve_option.address(self._listening, self._secret)}")
        passed = [self._listening.fileno()] if self._listening else []
        self._process = subprocess.Popen(
            # -P: no module of the user's folder stands in for one of ours.
            [
                sys.executable,
                "-P",
                "-m",
                "httpbed.addons.live.watcher",
                str(directory),
                *map(str, passed),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if show else subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
            pass_fds=passed,
            env={**os.environ, serve_option.VARIABLE: self._secret},
            start_new_session=True,  # Ctrl-C lets the trials under way finish, which it shows
        )
        machine_load.become_idle(self._process.pid)
        if show and self._process.stdout:
            arguments = (self._process.stdout, show)
            self._reader = threading.Thread(target=_pass_on, args=arguments, daemon=True)
            self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self._process is not None:
            self._end(self._process, at_once=kind is not None or self._listening is None)
        if self._listening is not None:
            self._listening.close()

    def _end(self, process: subprocess.Popen[str], *, at_once: bool) -> None:
        if process.poll() not in {None, 0}:
            say("note: the live view ended early; httpbed report --status shows the campaign")
        if at_once:
            process.kill()
        try:
            process.wait(ENDS_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if self._reader:
            self._reader.join()


def _pass_on(lines: IO[str], show: Show) -> None:
    with lines:
        for line in lines:
            if line.endswith("\n"):  # else the process was killed within it
                show(json.loads(line))


@dataclass(frozen=True)
class LiveAddition(CampaignAddition):
    """A run shows its status while it lasts: on the terminal, and with ``--serve`` on a page."""

    name: str = "live"

    def options(self) -> tuple[Option, ...]:
        """Return the option ``--serve``."""
        return (serve_option.serve_option,)

    def view(self, settings: RunSettings) -> LiveView:
        """Return the process beside the run."""
        return LiveView(settings.added.get("port"))


ADDITION = LiveAddition()
