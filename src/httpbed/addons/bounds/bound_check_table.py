"""The checks of an attempt against physical bounds."""

from __future__ import annotations

from httpbed.experiment.check import CheckDescriptor

POSSIBLE_WINDOWS = CheckDescriptor(
    "possible for this link, bytes in any window",
    "bed",
    "No direction delivered more bytes in any window than its rate and burst allow.",
    is_explicit=True,
    group="possible for this link",
    unit="1",
)
POSSIBLE_TIMES = CheckDescriptor(
    "possible for this link, times",
    "bed",
    "No packet took less time than delay and rate allow.",
    is_explicit=True,
    group="possible for this link",
    unit="1",
)
POSSIBLE_ACKNOWLEDGEMENTS = CheckDescriptor(
    "possible for this link, bytes received",
    "bed",
    "No TCP endpoint acknowledged more bytes than the link delivered to it.",
    is_explicit=True,
    group="possible for this link",
    unit="1",
)
POSSIBLE_REQUESTS = CheckDescriptor(
    "possible for this link, requests",
    "subject",
    "No handshake and no request took less time than delays and rates allow.",
    is_explicit=True,
    group="possible for this link",
    unit="1",
)
POSSIBLE_BODIES = CheckDescriptor(
    "possible for this link, bodies stored",
    "subject",
    "Before the end of its request, the links of each client delivered at least its bodies.",
    is_explicit=True,
    group="possible for this link",
    unit="1",
)

CHECKS = (
    POSSIBLE_WINDOWS,
    POSSIBLE_TIMES,
    POSSIBLE_ACKNOWLEDGEMENTS,
    POSSIBLE_REQUESTS,
    POSSIBLE_BODIES,
)
