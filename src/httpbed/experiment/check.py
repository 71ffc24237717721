"""The descriptors of all checks on an attempt.

A check compares what an attempt left with what its trial asked for. Here each check has its name,
whom a broken one is blamed on, and what must hold. :mod:`httpbed.trial.checks` observes them;
reports, documentation and tests ask :data:`CHECKS`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from httpbed.experiment.trial import Check

BedOrSubject = Literal["bed", "subject"]
CheckApplies = Literal[
    "every attempt",
    "user-space emulator",
    "kernel backend",
    "scheduled changes",
    "events",
    "hand-over",
    "proxies",
    "download",
    "page load",
    "recorded site",
]
_PLACEHOLDER = re.compile(r"\{\w+\}")


@dataclass(frozen=True)
class CheckDescriptor:
    """What one check is called, whom it judges and what it requires."""

    name: str
    """The name in ``trial.json``, where a part's name replaces ``{part}``. A comma and a place may
    follow there: a direction, hop, link or client."""
    of: BedOrSubject
    """Broken, a check of the bed makes the attempt invalid, one of the subject the outcome
    failed."""
    applies: CheckApplies
    """Which attempts have it."""
    meaning: str
    """What must hold, in one sentence."""
    by_strain: bool = False
    """Whether only a busy machine breaks it, so that the trial is worth another attempt."""
    is_note: bool = False
    """Whether it never breaks, and only explains other results."""

    def result(
        self, *, passed: bool | None, figure: str, limit: str = "", where: str = "", item: str = ""
    ) -> Check:
        """Return the check with what was observed.

        ``where`` is its direction, hop or client, ``item`` what its name has a placeholder for.
        """
        return Check(
            name=self.title(where=where, item=item),
            of=self.of,
            passed=passed,
            figure=figure,
            limit=limit,
        )

    def title(self, *, where: str = "", item: str = "") -> str:
        """Return the name in ``trial.json``."""
        name = _PLACEHOLDER.sub(item, self.name)
        return f"{name}, {where}" if where else name

    def describes(self, name: str) -> bool:
        """Whether a check's name in ``trial.json`` is this one's."""
        return self._pattern.fullmatch(name) is not None

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        name = "[^, ]+".join(map(re.escape, _PLACEHOLDER.split(self.name)))
        return re.compile(f"{name}(?:, .+)?", re.DOTALL)


ROUND_TRIP_TIME = CheckDescriptor(
    "round-trip time",
    "bed",
    "every attempt",
    "The smallest ping on the idle link takes as long as delays and transmission make it.",
)
LATENESS = CheckDescriptor(
    "emulator lateness",
    "bed",
    "user-space emulator",
    "The emulator sends 99 % of the packets at most 5 ms after they are due.",
    by_strain=True,
)
BACKEND = CheckDescriptor(
    "link backend", "bed", "every attempt", "The backend in use is the one that was chosen."
)
FRAMES = CheckDescriptor(
    "frames as on a wire",
    "bed",
    "every attempt",
    "No frame at the emulator is oversize, unstamped, unsent, not IP or malformed.",
)
RECEIVE_DROPS = CheckDescriptor(
    "emulator receive drops",
    "bed",
    "every attempt",
    "The kernel dropped no packet on its way into the emulator's sockets.",
)
CONSERVATION = CheckDescriptor(
    "conservation of packets",
    "bed",
    "user-space emulator",
    "Packets in and their copies equal packets delivered, lost, dropped and in flight.",
)
AS_DRAWN = CheckDescriptor(
    "{impairment} as drawn",
    "bed",
    "every attempt",
    "The lost, copied or damaged packets are those that the seed draws or a trace lists.",
)
SCHEDULED_CHANGES = CheckDescriptor(
    "scheduled changes",
    "bed",
    "scheduled changes",
    "Every change of a link that was due was made at its time, and no other.",
)
CHANGES_BY_EVENTS = CheckDescriptor(
    "changes by events",
    "bed",
    "events",
    "Only events of the experiment changed the link; an event that never happens is no fault.",
)
POSSIBLE_WINDOWS = CheckDescriptor(
    "possible for this link, bytes in any window",
    "bed",
    "every attempt",
    "No direction delivered more bytes in any window than its rate and burst allow.",
)
POSSIBLE_TIMES = CheckDescriptor(
    "possible for this link, times",
    "bed",
    "every attempt",
    "No packet, handshake or request took less time than delays and rates allow.",
)
POSSIBLE_ACKNOWLEDGEMENTS = CheckDescriptor(
    "possible for this link, bytes received",
    "bed",
    "every attempt",
    "No TCP endpoint acknowledged more bytes than the link delivered to it.",
)
POSSIBLE_BODIES = CheckDescriptor(
    "possible for this link, bodies stored",
    "subject",
    "every attempt",
    "No client stored more bytes than its links delivered to it.",
)
KERNEL_LINK = CheckDescriptor(
    "kernel's link",
    "bed",
    "kernel backend",
    "Both ports of the link have the queueing discipline that was chosen.",
)
KERNEL_CONSERVATION = CheckDescriptor(
    "conservation by the kernel's counters",
    "bed",
    "kernel backend",
    "The packets seen at both ports lie between the readings of the kernel's counters.",
)
PRESSURE = CheckDescriptor(
    "CPU pressure",
    "bed",
    "every attempt",
    "A task waited for a CPU during at most half of the client's time.",
    by_strain=True,
)
CONGESTION_CONTROL = CheckDescriptor(
    "sender's congestion control",
    "bed",
    "every attempt",
    "The accepted sockets have the experiment's congestion control; QUIC's is not observed.",
)
HANDOVER_HAPPENED = CheckDescriptor(
    "hand-over took place",
    "bed",
    "hand-over",
    "The client's network changed when it was due, unless the client had finished.",
)
HANDOVER_PROMPT = CheckDescriptor(
    "hand-overs in time",
    "bed",
    "hand-over",
    "Each change took place at most 50 ms after it was due.",
    by_strain=True,
)
HANDOVER_PACE = CheckDescriptor(
    "hand-overs keep pace",
    "bed",
    "hand-over",
    "The steps of one repeated hand-over take less time than its period.",
)
HANDOVER_COUNT = CheckDescriptor(
    "hand-overs as many as due",
    "bed",
    "hand-over",
    "At least 90 % of the repeated hand-overs that were due took place.",
    by_strain=True,
)
SOCKETS_DESTROYED = CheckDescriptor(
    "sockets of a deleted address",
    "bed",
    "hand-over",
    "No TCP socket of a deleted address is left after its destruction.",
)
FIRST_LINK = CheckDescriptor(
    "client on its first link",
    "bed",
    "hand-over",
    "The client used no other link before the first hand-over.",
)
RECORDED_DELAYS = CheckDescriptor(
    "recorded delays",
    "bed",
    "recorded site",
    "Each response was held back as long as it was recorded, and at most 100 ms longer.",
    by_strain=True,
)
CARRIED_OUT = CheckDescriptor(
    "trial carried out",
    "bed",
    "every attempt",
    "httpbed brought the attempt to its end; the check exists only where it did not.",
)
RAN = CheckDescriptor(
    "{part} ran",
    "subject",
    "every attempt",
    "Each server and proxy started, and ran until the client ended.",
)
FOLDERS = CheckDescriptor(
    "parts' folders",
    "subject",
    "every attempt",
    "Each part left only plain files within the bounds of its folder.",
)
ENDED_WELL = CheckDescriptor(
    "{part} ended well",
    "subject",
    "every attempt",
    "Each client ended with exit status 0 and reported no error.",
)
PROTOCOL = CheckDescriptor(
    "protocol used",
    "subject",
    "every attempt",
    "Every request on every hop used the configured HTTP version, by logs, client and packets.",
)
NOT_RESET = CheckDescriptor(
    "connections not reset",
    "subject",
    "every attempt",
    "No server reset a TCP connection before all data had arrived.",
)
TLS_VERSION = CheckDescriptor(
    "TLS version", "subject", "every attempt", "Every connection used TLS 1.3."
)
CONNECTION_COUNT = CheckDescriptor(
    "connection count",
    "subject",
    "every attempt",
    "The client opened as many connections as configured; HTTP/2 and HTTP/3 may open fewer.",
)
RESUMPTION = CheckDescriptor(
    "resumption",
    "subject",
    "every attempt",
    "Connections were resumed and carried early data exactly as the workload says.",
)
PASSED_ON = CheckDescriptor(
    "{part} passed on cleanly",
    "subject",
    "proxies",
    "The proxy reports no error flag and asked upstream once per request.",
)
STATUS_OF_ONE = CheckDescriptor(
    "status of the one answer",
    "subject",
    "download",
    "The only request was answered once, with status 200.",
)
STATUS = CheckDescriptor(
    "status of the answers",
    "subject",
    "every attempt",
    "Every request was answered, with status 200 or the status that retries and sites allow.",
)
LENGTHS = CheckDescriptor(
    "length of the answers",
    "subject",
    "download",
    "Every body has the file's length, where the client stores none or only its last round.",
)
BODY = CheckDescriptor(
    "body as served",
    "subject",
    "download",
    "The file that the client stored has the served file's length and SHA-256.",
)
BODIES = CheckDescriptor(
    "bodies as served",
    "subject",
    "download",
    "The files that the client stored have the served files' lengths and SHA-256.",
)
SITE = CheckDescriptor(
    "site", "subject", "page load", "The site that was served has the digest in the trial."
)
PAGE_REQUESTS = CheckDescriptor(
    "requests of the page",
    "subject",
    "page load",
    "The browser requested all resources of the page and nothing else.",
)
AGREEMENT = CheckDescriptor(
    "browser and log agree",
    "subject",
    "page load",
    "Browser and server log list the same requests with the same protocol and status.",
)
PAGE_BYTES = CheckDescriptor(
    "bytes by browser and log",
    "subject",
    "page load",
    "Browser and server log count the same bytes of all responses.",
)
NOT_KNOWN = CheckDescriptor(
    "not known of the load",
    "subject",
    "page load",
    "What the record of a page load lacks, though no request depends on it.",
    is_note=True,
)
PRIOR_VISIT = CheckDescriptor(
    "visit before",
    "subject",
    "page load",
    "The browser made the prior visit that the trial asks for, in the right HTTP version.",
)
DOCUMENT_LOGGED = CheckDescriptor(
    "document in the log",
    "subject",
    "page load",
    "A server that keeps a log lists the document of the page.",
)
DOCUMENT_CONNECTION = CheckDescriptor(
    "connection of the document",
    "subject",
    "page load",
    "The document came over an earlier connection only in a visit with a warm connection.",
)
CACHED = CheckDescriptor(
    "from the browser's cache",
    "subject",
    "page load",
    "In a repeat view the browser took some resources from its cache.",
)
RECORDED_LENGTHS = CheckDescriptor(
    "lengths of the bodies",
    "subject",
    "recorded site",
    "Every body of a recorded site has its recorded length on the wire.",
)
RECORDED_ORDER = CheckDescriptor(
    "recorded order",
    "subject",
    "recorded site",
    "No resource was requested before the recorded response that led to it.",
)
HANDOVER_FOLLOWED = CheckDescriptor(
    "hand-over followed",
    "subject",
    "hand-over",
    "What arrived on the new path after each hand-over: the same connection, a new one or nothing.",
    is_note=True,
)

CHECKS: tuple[CheckDescriptor, ...] = tuple(
    one for one in list(globals().values()) if isinstance(one, CheckDescriptor)
)
"""Every check that an attempt may have, in the order of a report."""


def descriptor_of(name: str) -> CheckDescriptor | None:
    """Return the descriptor of a check by its name in ``trial.json``; None: no such check."""
    return next((one for one in CHECKS if one.describes(name)), None)
