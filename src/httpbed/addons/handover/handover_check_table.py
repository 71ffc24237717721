"""The descriptors of the checks on hand-overs."""

from __future__ import annotations

from httpbed.experiment.check import CheckDescriptor

HANDOVER_HAPPENED = CheckDescriptor(
    "hand-over took place",
    "bed",
    "The client's network changed when it was due, unless the client had finished.",
    applies="hand-over",
    unit="hand-overs",
)
HANDOVER_PROMPT = CheckDescriptor(
    "hand-overs in time",
    "bed",
    "Each change took place at most {limit} after it was due.",
    applies="hand-over",
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
    "The steps of one repeated hand-over take less time than its period.",
    applies="hand-over",
    unit="s",
)
HANDOVER_COUNT = CheckDescriptor(
    "hand-overs as many as due",
    "bed",
    "At least {limit} of the repeated hand-overs that were due took place.",
    applies="hand-over",
    by_strain=True,
    unit="1",
    limit=0.9,
)
SOCKETS_DESTROYED = CheckDescriptor(
    "sockets of a deleted address",
    "bed",
    "No TCP socket of a deleted address is left after its destruction.",
    applies="hand-over",
    unit="sockets",
)
FIRST_LINK = CheckDescriptor(
    "client on its first link",
    "subject",
    "The client used no other link before the first hand-over.",
    applies="hand-over",
    unit="connections",
)
HANDOVER_FOLLOWED = CheckDescriptor(
    "hand-over followed",
    "subject",
    "What arrived on the new path after each hand-over: the same connection, a new one or nothing.",
    applies="hand-over",
    is_note=True,
)

CHECKS = (
    HANDOVER_HAPPENED,
    HANDOVER_PROMPT,
    HANDOVER_PACE,
    HANDOVER_COUNT,
    SOCKETS_DESTROYED,
    FIRST_LINK,
    HANDOVER_FOLLOWED,
)
