"""What trials keep of the emulator, and on request (``--keep``): one descriptor for each kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

ProgramRecord = Literal["qlog", "keylog"]
"""The kinds that programs under test write, if their recipes say how."""

LINK_RESULT, CAPTURE, PACKET_LOG = "link-result.json", "link.pcapng", "packets.tsv"
"""The emulator's files in the attempt's artifacts: its result, and on request its capture and its
packet log (:mod:`httpbed.store.packet_log`)."""
KEYS = "keylog.txt"
"""Each program's file of TLS secrets in its folder, and that of all programs beside the capture."""
QLOG_ENDINGS = (".sqlog", ".qlog")
"""JSON text sequences (RFC 7464), and one JSON object: qvis reads a file by its ending."""


@dataclass(frozen=True)
class KeptKind:
    """A kind of file that trials keep on request."""

    name: str
    meaning: str
    """What is kept, for the option's help."""
    place: str
    """Where it is found in an attempt's artifacts."""
    changes_program: bool = False
    """Whether keeping it costs the program under test time with each packet, so that trials with
    and without it must not be compared."""


KINDS: Mapping[str, KeptKind] = {
    kind.name: kind
    for kind in (
        KeptKind(
            "qlog",
            "the events of each QUIC connection, as a program records them, for qvis",
            "PART/*.sqlog or PART/*.qlog",
            changes_program=True,
        ),
        KeptKind("keylog", "the TLS secrets of each connection, for Wireshark", KEYS),
        KeptKind(
            "pcap",
            "every packet as pcapng, with the cause of each drop, for Wireshark",
            CAPTURE,
        ),
        KeptKind(
            "packets",
            "the capture of pcap, and when each packet left the link, for httpbed explain",
            PACKET_LOG,
        ),
    )
}
"""By name."""


def disturbing(names: frozenset[str]) -> list[str]:
    """Return the kinds among ``names`` that change how programs behave, sorted."""
    return sorted(name for name in names if KINDS[name].changes_program)
