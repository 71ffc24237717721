"""What aioquic's client and server write on request: TLS secrets, and the events of connections.

aioquic holds the events in memory until a connection has ended. So they are written when the
program ends, also by SIGTERM; a program that is killed leaves none.

Runs beside aioquic_client.py and aioquic_server.py.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.logger import QuicLogger


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options ``--keylog`` and ``--qlog``."""
    parser.add_argument("--keylog", type=Path, help="file for the TLS secrets")
    parser.add_argument("--qlog", type=Path, help="file for the events of all connections")


@contextmanager
def kept(configuration: QuicConfiguration, options: argparse.Namespace) -> Iterator[None]:
    """Keep what the options ask for while the context lasts."""
    if options.keylog:
        configuration.secrets_log_file = options.keylog.open("a", buffering=1)
    if not options.qlog:
        yield
        return
    configuration.quic_logger = logger = QuicLogger()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        yield
    finally:
        with options.qlog.open("w") as file:
            json.dump(logger.to_dict(), file)
