"""A NAT that forgets its mappings (a rebinding): claims and cells.

The far host sees a datagram's source port. A rebinding is ordered by command, as in a trial; its
time lies between the order and the emulator's answer, by the clock of the probes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from httpbed.addons.calibration.cell import DIRECTIONS, DOWN, UP, Cell, Finding, Flow, Stream, Train
from httpbed.addons.calibration.evidence import CellEvidence, Passage
from httpbed.addons.calibration.grid import FULL_PACKET, SMALL_PACKET
from httpbed.addons.calibration.link_changes import EDGE_S, GAP_S, surely
from httpbed.addons.calibration.packets import Complete, exact
from httpbed.base import units

OWN_PORT = 40_000
"""Of the client: like all that Linux gives its own programs, above :data:`NAT_PORTS`."""
NAT_PORTS = range(1024, 32768)
"""What a translator gives after a rebinding."""


@dataclass(frozen=True)
class SourcePorts:
    """A flow keeps its source port until a rebinding, which gives it a port that it never had."""

    direction: int
    own: int

    def judge(self, evidence: CellEvidence) -> list[Finding]:
        """Compare by number; packets sent around a rebinding may have met either mapping."""
        passage, held = evidence.passages[self.direction], {self.own}
        findings = [self._finding("its own", self._ports_after(passage, evidence, 0), held)]
        for rebindings in range(1, len(evidence.rebindings_s()) + 1):
            ports = self._ports_after(passage, evidence, rebindings)
            first = next(iter(ports.values()), 0)
            given = {first} if first in NAT_PORTS and first not in held else set[int]()
            findings.append(self._finding(f"a new one ({rebindings})", ports, given))
            held |= given
        return findings

    def _ports_after(
        self, passage: Passage, evidence: CellEvidence, rebindings: int
    ) -> dict[int, int]:
        """Return number and port of what was surely sent after so many rebindings."""
        times = evidence.rebindings_s()
        since_s = times[rebindings - 1][1] if rebindings else -math.inf
        until_s = times[rebindings][0] if rebindings < len(times) else math.inf
        sent = surely(passage, since_s, until_s)
        known = zip(passage.number.tolist(), passage.ports.tolist(), strict=True)
        return {number: port for number, port in known if number >= 0 and sent[number]}

    def _finding(self, what: str, ports: dict[int, int], right: set[int]) -> Finding:
        amiss = [number for number, port in ports.items() if port not in right]
        label = f"source port {DIRECTIONS[self.direction]}: {what}"
        return exact(label, amiss if ports else None, ())


@dataclass(frozen=True)
class ResetByRebinding:
    """A TCP stream arrives until a rebinding, and soon after it the sender's reset (RFC 9293).

    The probe reports an end by anything else than a reset as an error. The reset passes the new
    mapping; what the sender still sends to the old port is refused.
    """

    direction: int
    held_s: float
    """Longest time that the link needs for what it holds."""

    def judge(self, evidence: CellEvidence) -> list[Finding]:
        """Compare the time of the last bytes."""
        samples, rebindings, after_s = evidence.stream, evidence.rebindings_s(), None
        if samples is not None and len(samples) and rebindings:
            after_s = float(samples["at"][-1]) / 1e9 - rebindings[0][1]
        label = f"last bytes after the rebinding {DIRECTIONS[self.direction]}"
        reason = "what the link holds still arrives"
        return [Finding(label, "s", 0.0, after_s, self.held_s + EDGE_S, reason)]


def rebindings() -> Iterator[Cell]:
    """Let a NAT forget its mappings under datagrams, twice, and under a TCP stream."""
    train = Train(1800, SMALL_PACKET, GAP_S)
    yield Cell(
        name="NAT rebinding, datagrams",
        link={},
        flows=(Flow(UP, (train,), from_port=OWN_PORT, spin_s=0.0),),
        claims=(SourcePorts(UP, OWN_PORT), Complete(UP)),
        rebindings_s=(0.3, 0.6),
        covers={"change": "NAT rebinding"},
    )
    bit_s, queue_packets = 10**7, 50
    yield Cell(
        name="NAT rebinding, stream",
        link={"rate": units.format_rate(bit_s), "queue": {"limit": f"{queue_packets} packets"}},
        stream=Stream(DOWN, 1.0, until_reset=True),
        claims=(ResetByRebinding(DOWN, queue_packets * FULL_PACKET * 8 / bit_s),),
        rebindings_s=(0.5,),
        covers={"change": "NAT rebinding"},
    )
