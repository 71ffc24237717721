"""Names of the files that the bed writes into an attempt's folder.

The runner writes them; :mod:`httpbed.trial.evidence` reads them and imports no part of the runner.
"""

EVIDENCE = "evidence.json"
"""Exits, bodies, pressure and what else the runner observed."""
LINK_RESULT = "link-result.json"
"""The emulator's result."""
LINK_EVENTS = "link-events.jsonl"
"""The emulator's events that say what happened to a link, and when."""
PACKET_LOG = "packets.tsv"
"""The emulator's packet log (:mod:`httpbed.store.packet_log`)."""
HANDOVER_STEPS = "handover.jsonl"
"""A line for each hand-over step that was carried out; times by CLOCK_MONOTONIC."""
