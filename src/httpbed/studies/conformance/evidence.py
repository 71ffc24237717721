"""What the trials of a conformance test show: each network with what was sent in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from httpbed.analysis.sender import behaviour
from httpbed.analysis.sender.behaviour import Pipe
from httpbed.analysis.sender.flight import Flight
from httpbed.studies.conformance.networks import STEADY_S, Network


@dataclass(frozen=True)
class Transfer:
    """One trial of a network: what was sent in it."""

    network: Network
    flight: Flight
    strained: bool = False
    """Whether the machine was too busy while it ran."""

    @cached_property
    def pipe(self) -> Pipe:
        """What the network holds."""
        return self.network.pipe(self.flight.full_bytes)

    @cached_property
    def loss(self) -> float:
        """Share of packets that were lost in the steady state; as asked, if that was none."""
        lost = self.flight.packets.lost[self.flight.packets.sent_s >= STEADY_S]
        return float(lost.mean()) if lost.any() else self.network.loss

    @cached_property
    def rate_pps(self) -> float:
        """Full packets per second in the steady state."""
        if self.flight.lasts_s <= STEADY_S:
            return 0.0
        return behaviour.steady_pps(self.flight, STEADY_S)

    @cached_property
    def held(self) -> float | None:
        """Where something other than congestion control holds the window, in packets."""
        return behaviour.held_at(self.flight, self.pipe)


@dataclass(frozen=True)
class Transfers:
    """All trials of a conformance test."""

    planned: Sequence[Network]
    """Every network of the test, also one of which no trial can be read."""
    every: Sequence[Transfer]

    def of(self, name: str) -> list[Transfer]:
        """Those of a network."""
        return [transfer for transfer in self.every if transfer.network.name == name]

    def grid(self) -> dict[Network, list[Transfer]]:
        """Those with independent loss, by network; none of one that nothing shows."""
        return {network: self.of(network.name) for network in self.planned if network.loss}

    def held(self) -> float | None:
        """Where the window is held in the network that has room for any."""
        at = [transfer.held for transfer in self.of("start") if transfer.held is not None]
        return float(np.median(at)) if at else None


@dataclass(frozen=True)
class Evidence:
    """What a conformance test left."""

    transfers: Transfers
    manifest: Mapping[str, Any]
    blind: Sequence[str]
    """Trials of which nothing can be said, each with the reason."""
    invalid: bool
    """Whether the bed was the reason in any of them."""
