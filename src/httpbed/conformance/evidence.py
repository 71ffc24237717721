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
from httpbed.conformance.cells import STEADY_S, Cell


@dataclass(frozen=True)
class Run:
    """One trial of a network: what was sent in it."""

    cell: Cell
    flight: Flight
    strained: bool = False
    """Whether the machine was too busy while it ran."""

    @cached_property
    def pipe(self) -> Pipe:
        """What the network holds."""
        return self.cell.pipe(self.flight.full_bytes)

    @cached_property
    def loss(self) -> float:
        """Share of packets that were lost in the steady state; as asked, if that was none."""
        lost = self.flight.packets.lost[self.flight.packets.sent_s >= STEADY_S]
        return float(lost.mean()) if lost.any() else self.cell.loss

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
class Runs:
    """All trials of a conformance test."""

    every: Sequence[Run]

    def of(self, name: str) -> list[Run]:
        """Those of a network."""
        return [run for run in self.every if run.cell.name == name]

    def grid(self) -> dict[Cell, list[Run]]:
        """Those with independent loss, by network."""
        cells = dict.fromkeys(run.cell for run in self.every if run.cell.loss)
        return {cell: [run for run in self.every if run.cell == cell] for cell in cells}

    def held(self) -> float | None:
        """Where the window is held in the network that has room for any."""
        at = [run.held for run in self.of("start") if run.held is not None]
        return float(np.median(at)) if at else None


@dataclass(frozen=True)
class Evidence:
    """What a conformance test left."""

    runs: Runs
    manifest: Mapping[str, Any]
    blind: Sequence[str]
    """Trials of which nothing can be said, each with the reason."""
    invalid: bool
    """Whether the bed was the reason in any of them."""
