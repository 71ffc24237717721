"""Names the congestion control of a sender that httpbed does not know, by the nearest reference.

References are the mean fingerprints (:mod:`.fingerprint`) of senders whose algorithm is known: the
seven of the guests' kernel, and ngtcp2's BBRv3. ``make bench-identify ARGS=--references`` makes
them again. A sender has the name of the nearest reference, unless it is farther from it than its
**bound**: then it is unknown. The bound of a reference is half the distance to the nearest other
one. The distance is a metric, so nothing within the bound of one reference is nearer to another.
A reference far from all others would take in much that is unknown, so no bound is larger than
the median of them. The bounds follow from the references alone: no sender that is tested has a say.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from operator import itemgetter
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from httpbed.addons.conformance.fingerprint import BEGIN_S, Fingerprint, fingerprint
from httpbed.addons.conformance.flight import Floats
from httpbed.addons.conformance.judgement import ConformanceEvidence
from httpbed.addons.conformance.sender import Sender, SenderKey

SCHEMA = 1
UNKNOWN = "unknown"
TITLES: Mapping[str, str] = {
    "reno": "Reno",
    "cubic": "CUBIC",
    "bbr": "BBRv1",
    "bbr3": "BBRv2 or v3",
    "bic": "BIC",
    "htcp": "H-TCP",
    "vegas": "Vegas",
    "westwood": "Westwood",
    UNKNOWN: "an algorithm that httpbed does not know",
}
FILE = Path(__file__).with_name("references.json")


@dataclass(frozen=True)
class Reference:
    """A congestion control that can be named."""

    name: str
    fingerprint: Fingerprint
    curves: Mapping[str, Floats]
    """The window of one of its transfers in each network, every ``STEP_S``."""


@cache
def references() -> tuple[Reference, ...]:
    """Return the references of this version."""
    stated = json.loads(FILE.read_text())["references"]
    return tuple(
        Reference(
            name,
            Fingerprint({network: np.array(rows) for network, rows in table["quantiles"].items()}),
            {network: np.array(curve) for network, curve in table["curves"].items()},
        )
        for name, table in stated.items()
    )


def bounds(known: Sequence[Reference]) -> dict[str, float]:
    """Return the distance from each reference beyond which a sender is unknown."""
    halves = {
        reference.name: min(
            reference.fingerprint.distance(other.fingerprint)
            for other in known
            if other is not reference
        )
        / 2
        for reference in known
    }
    most = median(halves.values())
    return {name: min(half, most) for name, half in halves.items()}


@dataclass(frozen=True)
class Naming:
    """How far a fingerprint is from each reference."""

    distances: Mapping[str, float]
    """By reference, nearest first; empty if the fingerprint is not whole."""
    bound: float
    """Of the nearest reference."""

    @property
    def name(self) -> str:
        """Return the nearest reference, or :data:`UNKNOWN`."""
        if self.nearest and self.distances[self.nearest[0]] <= self.bound:
            return self.nearest[0]
        return UNKNOWN

    @property
    def nearest(self) -> tuple[str, ...]:
        """Return the two nearest references; none if the fingerprint is not whole."""
        return tuple(self.distances)[:2]

    @property
    def confidence(self) -> float | None:
        """Return how much nearer the nearest reference is than the runner-up, from 0 to 1.

        It is no probability: at 0 both are equally near, at 1 the sender equals the reference.
        """
        if len(self.nearest) < 2:
            return None
        first, second = (self.distances[name] for name in self.nearest)
        return 1 - first / second


def name_of(seen: Fingerprint, known: Sequence[Reference]) -> Naming:
    """Name a fingerprint; one that is not whole is unknown."""
    if not seen.is_whole():
        return Naming({}, 0.0)
    far = {reference.name: seen.distance(reference.fingerprint) for reference in known}
    distances = dict(sorted(far.items(), key=itemgetter(1)))
    return Naming(distances, bounds(known)[next(iter(distances))])


@dataclass(frozen=True)
class Identification:
    """What a sender's packets say about its congestion control."""

    sender: Sender
    key: SenderKey
    evidence: ConformanceEvidence
    seen: Fingerprint
    naming: Naming
    held_bytes: float | None
    """The window that something else than congestion control holds; None if nothing does."""

    def nearest_by_network(self) -> dict[str, str]:
        """Return the reference that is nearest in each network that was seen."""
        return {
            network: min(self.distances_in(network).items(), key=itemgetter(1))[0]
            for network in self.seen.networks
        }

    def distances_in(self, network: str) -> dict[str, float]:
        """Return the distances from the references in one network; infinite if it was not seen."""
        alone = self.seen.alone_in(network)
        return {known.name: alone.distance(known.fingerprint) for known in references()}

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values; distances are in factors of two."""
        return {
            "schema": SCHEMA,
            "sender": self.key.as_json(),
            "name": self.naming.name,
            "confidence": self.naming.confidence,
            "distances": dict(self.naming.distances),
            "bound": self.naming.bound,
            "nearest_by_network": self.nearest_by_network(),
            "not_seen": [name for name in BEGIN_S if name not in self.seen.networks],
            "held_window_bytes": self.held_bytes,
            "unreadable": [*self.evidence.unreadable],
            "packets": [asdict(packet) for packet in self.evidence.packets],
            "command": self.evidence.command,
        }


def question(sender: Sender) -> str:
    """Return what a test with this fingerprint asks."""
    return f"Which congestion control does {sender.implementation} send with?"


def identify(sender: Sender, key: SenderKey, evidence: ConformanceEvidence) -> Identification:
    """Name the congestion control of a sender by the transfers of its test."""
    transfers = evidence.transfers.every
    seen = fingerprint(transfers)
    held = (transfer.held_bytes for transfer in transfers)
    first_held = next((size for size in held if size is not None), None)
    return Identification(sender, key, evidence, seen, name_of(seen, references()), first_held)
