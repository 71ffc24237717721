"""What host and guest hand each other of a command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from httpbed.addons.link.run import LinkRequest

STDOUT, STDERR = "stdout", "stderr"
"""Names in the shared folder of what the command prints."""
PCAP, LOG = "capture.pcapng", "packets.log"
"""Names in the shared folder of what the emulator records."""
RANDOM_DEVICE = "random_device.so"
"""Name in the shared folder of the library that the command loads: the loader takes no path with a
space or a colon."""


@dataclass(frozen=True)
class HandedCommand:
    """A command to be run in a guest."""

    request: LinkRequest
    folder: Path
    """The command's working folder."""
    environment: Mapping[str, str]
    """The command's environment."""
