"""The descriptors of the checks on page loads."""

from __future__ import annotations

from httpbed.experiment.check import CheckDescriptor

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
UNANNOUNCED = CheckDescriptor(
    "HTTP/3 not announced",
    "subject",
    "page load",
    "Servers that announced no HTTP/3 to the browser (Alt-Svc), so that it requested less at once.",
    is_note=True,
)
SCREEN = CheckDescriptor(
    "screen",
    "subject",
    "page load",
    "A script in the browser saw the viewport, pixel ratio and user agent that the trial asks for.",
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
RECORDING = CheckDescriptor(
    "recording",
    "subject",
    "recorded site",
    "How the replayed page differs from the recorded one, and what requests its resources.",
    is_note=True,
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
