"""The first module of the command: Ctrl-C ends it without a traceback from the first import on.

The imports of the others take up to a second on a busy machine.
"""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Run the command line and exit with the code of the failure, if any."""
    try:
        from httpbed.cli.main import main as run  # what may be interrupted
    except KeyboardInterrupt:
        sys.stderr.write("\nhttpbed: interrupted\n")
        sys.exit(128 + signal.SIGINT)
    run()
