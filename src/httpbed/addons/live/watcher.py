"""The process beside a run that reads its campaign: prints each status as JSON, serves the page.

    python -m httpbed.addons.live.watcher DIR [DESCRIPTOR]

DESCRIPTOR is an open socket that listens for the page's requests; the environment has the secret
word of its address, because other users can read a command line. The event loop of a run starts
trials, so it computes no statistics. They are computed here, at idle priority. The process ends by
itself when no run holds the campaign any more, so a killed run leaves none behind.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

from httpbed.addons.live.serve_option import VARIABLE
from httpbed.bed.machine import machine_load
from httpbed.cli import library_settings
from httpbed.cli.echo import echo


def main(directory: str, descriptor: str = "") -> None:
    """Follow a campaign until its run ends."""
    machine_load.become_idle()
    library_settings.apply()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Imported at idle priority: statistics take a second of CPU time.
    from httpbed.addons.live import watch

    listening = socket.socket(fileno=int(descriptor)) if descriptor else None
    watch.follow(Path(directory), _tell, listening, os.environ.get(VARIABLE, ""))


def _tell(document: dict[str, Any]) -> None:
    echo(json.dumps(document))


if __name__ == "__main__":
    main(*sys.argv[1:])
