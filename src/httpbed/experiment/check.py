"""The descriptors of the checks on an attempt.

A check compares what an attempt left with what its trial asked for. Here each check has its name,
whom a broken one is blamed on, and what must hold. :mod:`httpbed.trial.checks` observes them;
reports, documentation and tests ask :func:`all_checks`, which has those of addons, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from httpbed.base import units
from httpbed.base.addon import Seam, refuse_duplicates
from httpbed.experiment.trial import BedOrSubject, Check

CheckApplies = Literal[
    "every attempt",
    "scheduled changes",
    "events",
    "hand-over",
    "HTTP/3",
    "stated TCP buffers",
    "stated initial window",
    "proxies",
    "one file",
    "download",
    "intervals",
    "upload",
    "page load",
    "recorded site",
]
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class CheckDescriptor:
    """What one check is called, whom it judges and what it requires."""

    name: str
    """The name in ``trial.json``, where a part's name replaces ``{part}``. A comma and a place may
    follow there: a direction, hop, link or client."""
    of: BedOrSubject
    """Broken, a check of the bed makes the attempt invalid, one of the subject the outcome
    failed."""
    requirement: str
    """What must hold, in one sentence; ``{limit}`` stands for :attr:`limit`."""
    applies: CheckApplies = "every attempt"
    """Which attempts have it."""
    by_strain: bool = False
    """Whether only a busy machine breaks it, so that the trial is worth another attempt."""
    is_note: bool = False
    """Whether it never breaks, and only explains other results."""
    is_explicit: bool = False
    """Whether the figure of a broken one says by itself what is wrong."""
    group: str = ""
    """The common name of several checks, which reports may list as one."""
    unit: str = ""
    """Unit of what it measures: ``s``, ``1`` for a share, or what it counts; empty if it measures
    nothing. Of several measured values, a report shows the largest."""
    limit: float = 0.0
    """Bound of what it measures, in :attr:`unit`, where it is the same for all attempts."""

    @property
    def id(self) -> str:
        """What the check is called in files, whatever it was observed at."""
        return _PLACEHOLDER.sub(r"\1", self.name)

    @property
    def meaning(self) -> str:
        """What must hold, with the limit."""
        write = units.format_share if self.unit == "1" else units.format_duration
        return self.requirement.replace("{limit}", write(self.limit))

    def result(  # noqa: PLR0913 - what was observed, and where
        self,
        *,
        passed: bool | None,
        figure: str,
        limit: str = "",
        where: str = "",
        item: str = "",
        measured: float | None = None,
    ) -> Check:
        """Return the check with what was observed.

        ``where`` is its direction, hop or client, ``item`` what its name has a placeholder for.
        ``measured`` is in the descriptor's unit.
        """
        return Check(
            check=self.id,
            item=item,
            name=self.title(where=where, item=item),
            of=self.of,
            passed=passed,
            figure=figure,
            limit=limit,
            measured=measured,
            unit="" if measured is None else self.unit,
        )

    def title(self, *, where: str = "", item: str = "") -> str:
        """Return the name in ``trial.json``."""
        name = _PLACEHOLDER.sub(item, self.name)
        return f"{name}, {where}" if where else name


ROUND_TRIP_TIME = CheckDescriptor(
    "round-trip time",
    "bed",
    "The smallest ping on the idle link takes as long as delays and transmission make it.",
    unit="s",
)
LATENESS = CheckDescriptor(
    "emulator lateness",
    "bed",
    "The emulator sends 99 % of the packets at most {limit} after they are due.",
    by_strain=True,
    unit="s",
    # In a short transfer the p99 is the latest packet. Without real-time priority, 2 to 4 ms are
    # ordinary on two busy cores. They delay one packet, not the transfer, because only arrival
    # times decide rates and losses.
    limit=0.005,
)
BACKEND = CheckDescriptor("link backend", "bed", "The backend in use is the one that was chosen.")
FRAMES = CheckDescriptor(
    "frames as on a wire",
    "bed",
    "No frame at the emulator is oversize, unstamped, unsent, not IP or malformed.",
    unit="frames",
)
RECEIVE_DROPS = CheckDescriptor(
    "emulator receive drops",
    "bed",
    "The kernel dropped no packet on its way into the emulator's sockets.",
    unit="packets",
)
CONSERVATION = CheckDescriptor(
    "conservation of packets",
    "bed",
    "Packets in and their copies equal packets delivered, lost, dropped and in flight.",
    unit="packets",
)
AS_DRAWN = CheckDescriptor(
    "{impairment} as drawn",
    "bed",
    "The lost, copied or damaged packets are those that the seed draws or a trace lists.",
    unit="packets",
)
SCHEDULED_CHANGES = CheckDescriptor(
    "scheduled changes",
    "bed",
    "Every change of a link that was due was made at its time, and no other.",
    applies="scheduled changes",
    unit="changes",
)
CHANGES_BY_EVENTS = CheckDescriptor(
    "changes by events",
    "bed",
    "Only events of the experiment changed the link; an event that never happens is no fault.",
    applies="events",
)
PRESSURE = CheckDescriptor(
    "CPU pressure",
    "bed",
    "Tasks of the trial waited for CPUs that others used, at most {limit} of the client's time.",
    by_strain=True,
    unit="1",
    # Paired with trials that ran alone, trials up to a quarter took 1 % longer at the median, and
    # browsers' loads above it 4 to 39 %.
    limit=0.25,
)
PRESSURE_ALONE = 0.08
"""The most CPU pressure that trials of all kinds have alone on two cores: the kernel's threads and
httpbed count as others."""
SOCKET_DROPS = CheckDescriptor(
    "drops in UDP sockets",
    "bed",
    "The kernel dropped no datagram before a program took it, or the CPU pressure was at most"
    f" {units.format_share(PRESSURE_ALONE)}: then the program was too slow by itself.",
    applies="HTTP/3",
    by_strain=True,
    unit="datagrams",
)
CONGESTION_CONTROL = CheckDescriptor(
    "sender's congestion control",
    "bed",
    "The sender's sockets have the experiment's congestion control; QUIC's is not observed.",
)
TCP_BUFFERS = CheckDescriptor(
    "TCP buffers",
    "bed",
    "The sockets have the experiment's buffers.",
    applies="stated TCP buffers",
)
INITIAL_WINDOW = CheckDescriptor(
    "TCP initial window",
    "bed",
    "A socket had the experiment's window before its first loss; delivered packets enlarge it.",
    applies="stated initial window",
)
CARRIED_OUT = CheckDescriptor(
    "trial carried out",
    "bed",
    "httpbed brought the attempt to its end; the check exists only where it did not.",
)
SENT = CheckDescriptor(
    "packets sent",
    "subject",
    "No program's host sent frames that are not IP, a flood, or many packets of other protocols.",
)
RAN = CheckDescriptor(
    "{part} ran",
    "subject",
    "Each server and proxy started, and ran until the client ended.",
)
FOLDERS = CheckDescriptor(
    "parts' folders",
    "subject",
    "Each part left only plain files within the bounds of its folder.",
)
ENDED_WELL = CheckDescriptor(
    "{part} ended well",
    "subject",
    "Each client ended with exit status 0 and reported no error.",
)
PROTOCOL = CheckDescriptor(
    "protocol used",
    "subject",
    "Every request on every hop used the configured HTTP version, by logs, client and packets.",
)
NOT_RESET = CheckDescriptor(
    "connections not reset",
    "subject",
    "No server reset a TCP connection before all data had arrived.",
    unit="connections",
)
TLS_VERSION = CheckDescriptor("TLS version", "subject", "Every connection used TLS 1.3.")
CONNECTION_COUNT = CheckDescriptor(
    "connection count",
    "subject",
    "The client opened as many connections as configured; HTTP/2 and HTTP/3 may open fewer. A"
    " browser opened and used no more than its pools hold.",
    unit="connections",
)
RESUMPTION = CheckDescriptor(
    "resumption",
    "subject",
    "Connections were resumed and carried early data exactly as the workload says.",
)
PASSED_ON = CheckDescriptor(
    "{part} passed on cleanly",
    "subject",
    "The proxy reports no error flag and asked upstream once per request.",
    applies="proxies",
)
STATUS_OF_ONE = CheckDescriptor(
    "status of the one answer",
    "subject",
    "The only request was answered once, with status 200; an upload with 200, 201 or 204.",
    applies="one file",
)
STATUS = CheckDescriptor(
    "status of the answers",
    "subject",
    "Every request was answered, with status 200 or the status that uploads, retries and sites"
    " allow.",
)
INTERVALS = CheckDescriptor(
    "requests at intervals",
    "subject",
    "The client sent packets as long as its requests were due, less {limit}.",
    applies="intervals",
    limit=0.1,
)
LENGTHS = CheckDescriptor(
    "length of the answers",
    "subject",
    "Every body has the file's length, where the client stores none or only its last round.",
    applies="download",
    unit="bodies",
)
BODY = CheckDescriptor(
    "body as served",
    "subject",
    "The file that the client stored has the served file's length and SHA-256.",
    applies="download",
)
BODIES = CheckDescriptor(
    "bodies as served",
    "subject",
    "The files that the client stored have the served files' lengths and SHA-256.",
    applies="download",
)
METHOD = CheckDescriptor(
    "method of the requests",
    "subject",
    "Every request that the server logged has the upload's method.",
    applies="upload",
)
BODIES_SENT = CheckDescriptor(
    "bodies as sent",
    "subject",
    "The files that the server stored have the lengths and SHA-256 of those that the client sent.",
    applies="upload",
)

CHECK_TABLES = Seam("checks", tuple)


@cache
def all_checks() -> Mapping[str, CheckDescriptor]:
    """Return every check that an attempt may have by its id, those of the bed first."""
    checks = [value for value in globals().values() if isinstance(value, CheckDescriptor)]
    checks += (check for table in CHECK_TABLES.provided() for check in table)
    refuse_duplicates("checks", [check.id for check in checks])
    return {check.id: check for check in sorted(checks, key=lambda check: check.of)}
