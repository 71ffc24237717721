"""The descriptors of all checks on an attempt.

A check compares what an attempt left with what its trial asked for. Here each check has its name,
whom a broken one is blamed on, and what must hold. :mod:`httpbed.trial.checks` observes them;
reports, documentation and tests ask :data:`CHECKS`.
"""

from __future__ import annotations

from collections.abc import Mapping

from httpbed.experiment.check_descriptor import CheckDescriptor

ROUND_TRIP_TIME = CheckDescriptor(
    "round-trip time",
    "bed",
    "every attempt",
    "The smallest ping on the idle link takes as long as delays and transmission make it.",
    unit="s",
)
LATENESS = CheckDescriptor(
    "emulator lateness",
    "bed",
    "user-space emulator",
    "The emulator sends 99 % of the packets at most {limit} after they are due.",
    by_strain=True,
    unit="s",
    # In a short transfer the p99 is the latest packet. Without real-time priority, 2 to 4 ms are
    # ordinary on two busy cores. They delay one packet, not the transfer, because only arrival
    # times decide rates and losses.
    limit=0.005,
)
BACKEND = CheckDescriptor(
    "link backend", "bed", "every attempt", "The backend in use is the one that was chosen."
)
FRAMES = CheckDescriptor(
    "frames as on a wire",
    "bed",
    "every attempt",
    "No frame at the emulator is oversize, unstamped, unsent, not IP or malformed.",
    unit="frames",
)
RECEIVE_DROPS = CheckDescriptor(
    "emulator receive drops",
    "bed",
    "every attempt",
    "The kernel dropped no packet on its way into the emulator's sockets.",
    unit="packets",
)
CONSERVATION = CheckDescriptor(
    "conservation of packets",
    "bed",
    "user-space emulator",
    "Packets in and their copies equal packets delivered, lost, dropped and in flight.",
    unit="packets",
)
AS_DRAWN = CheckDescriptor(
    "{impairment} as drawn",
    "bed",
    "every attempt",
    "The lost, copied or damaged packets are those that the seed draws or a trace lists.",
    unit="packets",
)
SCHEDULED_CHANGES = CheckDescriptor(
    "scheduled changes",
    "bed",
    "scheduled changes",
    "Every change of a link that was due was made at its time, and no other.",
    unit="changes",
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
    is_explicit=True,
    group="possible for this link",
    unit="1",
)
POSSIBLE_TIMES = CheckDescriptor(
    "possible for this link, times",
    "bed",
    "every attempt",
    "No packet took less time than delay and rate allow.",
    is_explicit=True,
    group="possible for this link",
    unit="1",
)
POSSIBLE_ACKNOWLEDGEMENTS = CheckDescriptor(
    "possible for this link, bytes received",
    "bed",
    "every attempt",
    "No TCP endpoint acknowledged more bytes than the link delivered to it.",
    is_explicit=True,
    group="possible for this link",
    unit="1",
)
POSSIBLE_REQUESTS = CheckDescriptor(
    "possible for this link, requests",
    "subject",
    "every attempt",
    "No handshake and no request took less time than delays and rates allow.",
    is_explicit=True,
    group="possible for this link",
    unit="1",
)
POSSIBLE_BODIES = CheckDescriptor(
    "possible for this link, bodies stored",
    "subject",
    "every attempt",
    "Before the end of its request, the links of each client delivered at least its bodies.",
    is_explicit=True,
    group="possible for this link",
    unit="1",
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
    unit="packets",
)
PRESSURE = CheckDescriptor(
    "CPU pressure",
    "bed",
    "every attempt",
    "Tasks of the trial waited for CPUs that others used, at most {limit} of the client's time.",
    by_strain=True,
    unit="1",
    # Paired with trials that ran alone, trials up to a quarter took 1 % longer at the median, and
    # browsers' loads above it 4 to 39 %. Alone on two cores, all kinds of trials have up to 0.08,
    # because the kernel's threads and httpbed count as others.
    limit=0.25,
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
    unit="hand-overs",
)
HANDOVER_PROMPT = CheckDescriptor(
    "hand-overs in time",
    "bed",
    "hand-over",
    "Each change took place at most {limit} after it was due.",
    by_strain=True,
    unit="s",
    # A client at 10 Mbit/s receives 60 kB in this time: 3 % of the 2 MB after which a study hands
    # it over. Starting a tool takes 2 to 5 ms, and some tens of ms where another process has the
    # CPU.
    limit=0.05,
)
HANDOVER_PACE = CheckDescriptor(
    "hand-overs keep pace",
    "bed",
    "hand-over",
    "The steps of one repeated hand-over take less time than its period.",
    unit="s",
)
HANDOVER_COUNT = CheckDescriptor(
    "hand-overs as many as due",
    "bed",
    "hand-over",
    "At least {limit} of the repeated hand-overs that were due took place.",
    by_strain=True,
    unit="1",
    limit=0.9,
)
SOCKETS_DESTROYED = CheckDescriptor(
    "sockets of a deleted address",
    "bed",
    "hand-over",
    "No TCP socket of a deleted address is left after its destruction.",
    unit="sockets",
)
FIRST_LINK = CheckDescriptor(
    "client on its first link",
    "subject",
    "hand-over",
    "The client used no other link before the first hand-over.",
    unit="connections",
)
RECORDED_DELAYS = CheckDescriptor(
    "recorded delays",
    "bed",
    "recorded site",
    "Each response was held back as long as it was recorded, and at most {limit} longer.",
    by_strain=True,
    unit="s",
    # A longer delay is a pause of the machine; some milliseconds are ordinary.
    limit=0.1,
)
CARRIED_OUT = CheckDescriptor(
    "trial carried out",
    "bed",
    "every attempt",
    "httpbed brought the attempt to its end; the check exists only where it did not.",
)
SENT = CheckDescriptor(
    "packets sent",
    "subject",
    "every attempt",
    "No program's host sent frames that are not IP, a flood, or many packets of other protocols.",
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
    unit="connections",
)
TLS_VERSION = CheckDescriptor(
    "TLS version", "subject", "every attempt", "Every connection used TLS 1.3."
)
CONNECTION_COUNT = CheckDescriptor(
    "connection count",
    "subject",
    "every attempt",
    "The client opened as many connections as configured; HTTP/2 and HTTP/3 may open fewer.",
    unit="connections",
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
    unit="bodies",
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
    unit="requests",
)
AGREEMENT = CheckDescriptor(
    "browser and log agree",
    "subject",
    "page load",
    "Browser and server log list the same requests with the same protocol and status.",
    unit="requests",
)
PAGE_BYTES = CheckDescriptor(
    "bytes by browser and log",
    "subject",
    "page load",
    "Browser and server log count the same bytes of all responses.",
    unit="bytes",
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
    unit="resources",
)
RECORDED_LENGTHS = CheckDescriptor(
    "lengths of the bodies",
    "subject",
    "recorded site",
    "Every body of a recorded site has its recorded length on the wire.",
    unit="bodies",
)
RECORDED_ORDER = CheckDescriptor(
    "recorded order",
    "subject",
    "recorded site",
    "No resource was requested before the recorded response that led to it.",
    unit="resources",
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
CHECK_BY_ID: Mapping[str, CheckDescriptor] = {one.id: one for one in CHECKS}
