"""The descriptors of the checks on page loads."""

from __future__ import annotations

from httpbed.experiment.check import CheckDescriptor

RECORDED_DELAYS = CheckDescriptor(
    "recorded delays",
    "bed",
    "Each response was held back as long as it was recorded, and at most {limit} longer.",
    applies="recorded site",
    by_strain=True,
    unit="s",
    # A longer delay is a pause of the machine; some milliseconds are ordinary.
    limit=0.1,
)
SITE = CheckDescriptor(
    "site", "subject", "The site that was served has the digest in the trial.", applies="page load"
)
PAGE_REQUESTS = CheckDescriptor(
    "requests of the page",
    "subject",
    "The browser requested all resources of the page and nothing else.",
    applies="page load",
    unit="requests",
)
AGREEMENT = CheckDescriptor(
    "browser and log agree",
    "subject",
    "Browser and server log list the same requests with the same protocol and status.",
    applies="page load",
    unit="requests",
)
PAGE_BYTES = CheckDescriptor(
    "bytes by browser and log",
    "subject",
    "Browser and server log count the same bytes of all responses.",
    applies="page load",
    unit="bytes",
)
NOT_KNOWN = CheckDescriptor(
    "not known of the load",
    "subject",
    "What the record of a page load lacks, though no request depends on it.",
    applies="page load",
    is_note=True,
)
UNANNOUNCED = CheckDescriptor(
    "HTTP/3 not announced",
    "subject",
    "Servers that announced no HTTP/3 to the browser (Alt-Svc), so that it requested less at once.",
    applies="page load",
    is_note=True,
)
SCREEN = CheckDescriptor(
    "screen",
    "subject",
    "A script in the browser saw the viewport, pixel ratio and user agent that the trial asks for.",
    applies="page load",
)
PRIOR_VISIT = CheckDescriptor(
    "visit before",
    "subject",
    "The browser made the prior visit that the trial asks for, in the right HTTP version.",
    applies="page load",
)
DOCUMENT_LOGGED = CheckDescriptor(
    "document in the log",
    "subject",
    "A server that keeps a log lists the document of the page.",
    applies="page load",
)
DOCUMENT_CONNECTION = CheckDescriptor(
    "connection of the document",
    "subject",
    "The document came over an earlier connection only in a visit with a warm connection.",
    applies="page load",
)
CACHED = CheckDescriptor(
    "from the browser's cache",
    "subject",
    "In a repeat view the browser took some resources from its cache.",
    applies="page load",
    unit="resources",
)
RECORDING = CheckDescriptor(
    "recording",
    "subject",
    "How the replayed page differs from the recorded one, and what requests its resources.",
    applies="recorded site",
    is_note=True,
)
RECORDED_LENGTHS = CheckDescriptor(
    "lengths of the bodies",
    "subject",
    "Every body of a recorded site has its recorded length on the wire.",
    applies="recorded site",
    unit="bodies",
)
RECORDED_ORDER = CheckDescriptor(
    "recorded order",
    "subject",
    "No resource was requested before the recorded response that led to it.",
    applies="recorded site",
    unit="resources",
)

CHECKS = (
    RECORDED_DELAYS,
    SITE,
    PAGE_REQUESTS,
    AGREEMENT,
    PAGE_BYTES,
    NOT_KNOWN,
    UNANNOUNCED,
    SCREEN,
    PRIOR_VISIT,
    DOCUMENT_LOGGED,
    DOCUMENT_CONNECTION,
    CACHED,
    RECORDING,
    RECORDED_LENGTHS,
    RECORDED_ORDER,
)
