"""The process beside a run that reads its campaign, and prints each status as JSON.

    python -m httpbed.addons.live.watcher DIR

The event loop of a run starts trials, so it computes no statistics. They are computed here, at idle
priority. The process ends by itself when no run holds the campaign any more, so a killed run leaves
none behind.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from httpbed.bed.machine import machine_load
from httpbed.cli import library_settings
from httpbed.cli.echo import echo


def main(directory: str) -> None:
    """Follow a campaign until its run ends."""
    machine_load.become_idle()
    library_settings.apply()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Imported at idle priority: statistics take a second of CPU time.
    from httpbed.addons.live import watch

    for document in watch.documents(Path(directory)):
        echo(json.dumps(document))


if __name__ == "__main__":
    main(*sys.argv[1:])
