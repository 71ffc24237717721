"""Policing: how an experiment asks for it, and what must come of it."""

from __future__ import annotations

import numpy as np
import pytest

import computed_passages
from httpbed.addons.calibration import arithmetic
from httpbed.addons.calibration.cell import DOWN
from httpbed.addons.calibration.other_cells import policers
from httpbed.addons.calibration.packets import Policed
from httpbed.addons.link import options
from httpbed.bed.network import kernel
from httpbed.bed.network.kernel import KINDS
from httpbed.experiment.impairments.policing import POLICING, Policing
from httpbed.experiment.topology import Link


def test_httpbed_link_takes_a_policer() -> None:
    """Rate and burst are given together, for one direction or both."""
    described = options.describe({"police": "8mbit", "down-police-burst": "64KiB"}, None)
    up, down = described.link.directions()
    assert (up.policing, down.policing) == (None, Policing(rate="8 Mbit/s", burst="64 KiB"))


def test_the_report_describes_a_policer() -> None:
    """In the author's own units."""
    words = POLICING.words({"rate": "8 Mbit/s", "burst": "64 KiB"})
    assert words == "policed to 8 Mbit/s with bursts of 64 KiB"


@pytest.mark.parametrize("kind", KINDS)
def test_the_kernels_disciplines_refuse_a_policer(kind: kernel.Kind) -> None:
    """Neither tbf nor netem drops by a rate without a queue."""
    policing = {"rate": "8 Mbit/s", "burst": "64 KiB"}
    link = Link.model_validate({"between": ["a", "b"], "rate": "9 Mbit/s", "policing": policing})
    assert [one.key for one in kernel.unable(kind, link)] == [("policing",), ("policing",)]


def test_a_policer_passes_its_burst_and_then_its_rate() -> None:
    """8 Mbit/s fill 1000 bytes in 1 ms; a dropped packet takes no tokens."""
    at_s = np.array([0, 0, 0, 0.9e-3, 1e-3, 1e-3, 9e-3, 9e-3, 9e-3])
    assert arithmetic.conforming(at_s, [1000] * 9, 8e6, 2000) == (0, 1, 4, 6, 7)


def test_the_calibration_judges_a_policer_by_the_real_send_times() -> None:
    """One packet that passes too many, or is not counted, fails the cell."""
    (cell,) = policers()
    (claim,) = cell.claims
    assert isinstance(claim, Policed)
    sent, sizes = computed_passages.planned(cell), cell.flows[0].sizes()
    passed = arithmetic.conforming(sent, sizes, claim.bit_s, claim.burst_bytes)
    assert 22 + 28 < len(passed) < 22 + 32, "the burst, and three quarters of the rest"

    def passes(numbers: list[int], counted: set[int]) -> bool:
        seen = computed_passages.seen({DOWN: computed_passages.passage(sent, sizes, sent, numbers)})
        seen.link["directions"][DOWN]["policed_numbers"] = sorted(counted)
        return all(finding.passed for finding in claim.judge(seen))

    dropped = set(range(len(sizes))) - set(passed)
    assert passes(list(passed), dropped)
    assert not passes(sorted({*passed, min(dropped)}), dropped)
    assert not passes(list(passed), dropped - {min(dropped)})


@pytest.mark.parametrize("early_s", [-4e-4, 4e-4])
def test_the_cell_s_verdict_does_not_hang_on_small_delays_of_the_sender(early_s: float) -> None:
    """The same packets pass if all but the burst are sent 0.4 ms earlier or later."""
    (cell,) = policers()
    claim, sent, sizes = cell.claims[0], computed_passages.planned(cell), cell.flows[0].sizes()
    assert isinstance(claim, Policed)
    moved = np.where(sent > sent[0], sent + early_s, sent)
    numbers = [
        arithmetic.conforming(at_s, sizes, claim.bit_s, claim.burst_bytes) for at_s in (sent, moved)
    ]
    assert numbers[0] == numbers[1]
