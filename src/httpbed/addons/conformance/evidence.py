"""The evidence of a conformance test: the packets that a sender sent in each network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from httpbed.addons.conformance import behaviour
from httpbed.addons.conformance.behaviour import Pipe
from httpbed.addons.conformance.flight import Flight
from httpbed.addons.conformance.networks import STEADY_S, Network


@dataclass(frozen=True)
class SenderTransfer:
    """The packets of one trial."""

    network: Network
    flight: Flight
    strained: bool = False
    """Whether the machine was too busy during the trial."""

    @cached_property
    def pipe(self) -> Pipe:
        """Return the network's rate, round trip and queue in this sender's packets."""
        return self.network.pipe(self.flight.full_bytes)

    @cached_property
    def loss(self) -> float:
        """Return the share of packets lost in the steady state; if none, the network's loss."""
        lost = self.flight.packets.lost[self.flight.packets.sent_s >= STEADY_S]
        return float(lost.mean()) if lost.any() else self.network.loss

    @cached_property
    def rate_pps(self) -> float:
        """Return full packets per second in the steady state."""
        if self.flight.lasts_s <= STEADY_S:
            return 0.0
        return behaviour.steady_pps(self.flight, STEADY_S)

    @cached_property
    def held(self) -> float | None:
        """Return the window in packets at which something else than congestion control stops it."""
        return behaviour.held_at(self.flight, self.pipe)


@dataclass(frozen=True)
class Transfers:
    """All trials of a conformance test."""

    planned: Sequence[Network]
    """Every network of the test, readable or not."""
    every: Sequence[SenderTransfer]

    def of(self, name: str) -> list[SenderTransfer]:
        """Return the transfers in a network."""
        return [transfer for transfer in self.every if transfer.network.name == name]

    def grid(self) -> dict[Network, list[SenderTransfer]]:
        """Return the transfers with independent loss by network; some networks may have none."""
        return {network: self.of(network.name) for network in self.planned if network.loss}

    def held(self) -> float | None:
        """Return where the window is held in the network that has room for any window."""
        at = [transfer.held for transfer in self.of("start") if transfer.held is not None]
        return float(np.median(at)) if at else None


@dataclass(frozen=True)
class ConformanceEvidence:
    """What a conformance test shows."""

    transfers: Transfers
    manifest: Mapping[str, Any]
    unreadable: Sequence[str]
    """Trials that show nothing about the sender, each with the reason."""
    invalid: bool
    """Whether an invalid attempt is one of the reasons."""
