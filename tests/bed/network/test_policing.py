"""Policing: how an experiment asks for it; crates/link-model/tests has what comes of it."""

from __future__ import annotations

import pytest

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
