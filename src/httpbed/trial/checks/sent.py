"""Checks of what the hosts with programs sent, beside the packets of the experiment's connections.

A program may send what it likes. What it sends must not decide whether an attempt counts: one
packet to an address that no host has would void an attempt that the program dislikes, and the next
might be better. So the host that sent it answers for it, and the bed is not judged then. The bed
answers for frames that no host with programs sent (:func:`astray`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from httpbed.base import units
from httpbed.experiment.check import SENT
from httpbed.experiment.trial import Check
from httpbed.trial.evidence import AttemptEvidence
from httpbed.trial.hops import address
from httpbed.trial.plan import TrialPlan

MAX_FOREIGN_BYTES = 1 << 16
"""A kernel's own packets are far less: ICMP errors are limited to one per second and receiver
(icmp(7)), at most 576 bytes each, and a join of a group is some 50 bytes."""
ASTRAY = ("stray_frames", "malformed_packets")
"""Fields of frames that are no packets."""
FLOOD_PACKETS = 20_000
"""A congestion control loses less than half of its packets in a full queue, for some round trips
at the most. A program that lost more than half of so many packets has none."""

Table = Mapping[str, Any]


def checks(planned: TrialPlan, evidence: AttemptEvidence) -> Iterator[Check]:
    """Check each host with programs; results of older emulators do not say what hosts sent."""
    directions = evidence.link.get("directions", ())
    if not directions or "sent" not in directions[0]:
        return
    foreign = _foreign(planned, evidence)
    most_flows = max(one["sent"]["flows"] for one in directions) if _crowded(directions) else None
    for host in _hosts(planned):
        wrong = [
            what
            for one in directions
            if one["from"] == host
            for what in _wrong(one, foreign[one["link"], host], most_flows)
        ]
        figure = "; ".join(wrong) or "nothing beside the experiment's connections"
        yield SENT.result(
            where=host,
            passed=not wrong,
            figure=figure,
            limit=f"at most {units.format_size(MAX_FOREIGN_BYTES)} beside its connections",
        )


def astray(planned: TrialPlan, link: Table) -> Counter[str]:
    """Count the frames that hosts with programs sent and that are no packets, by their field."""
    directions = [one for one in link["directions"] if one["from"] in _hosts(planned)]
    return Counter(
        {field: sum(one.get("sent", {}).get(field, 0) for one in directions) for field in ASTRAY}
    )


def _hosts(planned: TrialPlan) -> Sequence[str]:
    """Name the hosts with programs."""
    return sorted(set(planned.scenario.hosts.values()))


def _crowded(directions: Sequence[Table]) -> bool:
    """Whether the emulator did not follow some connections, because there were too many."""
    return any(one["sent"]["untracked_packets"] for one in directions)


def _wrong(direction: Table, foreign: int, most_flows: int | None) -> Iterator[str]:
    """List what is wrong with the packets that a host sent into a direction."""
    sent, packets = direction["sent"], direction["packets"]
    if stray := sent["stray_frames"]:
        yield f"{stray} frame(s) that are not IP, as for an address that no host has"
    if malformed := sent["malformed_packets"]:
        yield f"{malformed} malformed packet(s)"
    if (size := sent["other_bytes"] + foreign) > MAX_FOREIGN_BYTES:
        yield f"{units.format_size(size)} that belong to no connection of the experiment"
    if sent["flows"] == most_flows:
        yield f"{sent['flows']} connections, and more than the emulator follows"
    came = packets["in"] + direction["receive_drops"]
    refused = packets.get("queue_dropped", 0) + direction["receive_drops"]
    if came >= FLOOD_PACKETS and refused > came / 2:
        yield f"a flood: {refused} of {came} packets did not fit"


def _foreign(planned: TrialPlan, evidence: AttemptEvidence) -> Counter[tuple[str, str]]:
    """Count the bytes of connections outside all hops, by link and by the host that opened them."""
    hosts = {end.address: end.host for ends in planned.network.ends for end in ends}
    counted: Counter[tuple[str, str]] = Counter()
    for one in evidence.connections:
        if not any(hop.is_between(one) for hop in planned.hops):
            host = hosts.get(address(one["client"]), "")
            counted[one["link"], host] += one["client_bytes"] + one["server_bytes"]
    return counted
