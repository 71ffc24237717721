"""Envelopes of delay and throughput: alike, apart, moved, and none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from httpbed.addons.conformance import (
    bcp133,
    conformance_figures,
    conformance_report,
    envelope_suite,
)
from httpbed.addons.conformance.competition import SharedTransfer, Split
from httpbed.addons.conformance.envelope import Envelope, envelope
from httpbed.addons.conformance.flight import Floats
from httpbed.addons.conformance.judgement import ConformanceEvidence
from httpbed.addons.conformance.properties import PropertyResult, Transfers
from httpbed.addons.conformance.sender import SenderKey
from httpbed.addons.conformance.suites import reach
from httpbed.report import publish

NETWORKS = envelope_suite.networks("standard", "cubic")
MOVED = np.array([5.0, 2.0])


def cloud(seed: int, middle: Sequence[float] = (20.0, 5.0), count: int = 200) -> Floats:
    """Return points around a delay in ms and a throughput in Mbit/s."""
    return np.random.default_rng(seed).normal(middle, (4.0, 1.0), (count, 2))


def region(points: Floats) -> Envelope:
    seen = envelope([points])
    assert seen is not None
    return seen


def test_two_samples_of_one_sender_conform() -> None:
    """Hulls of samples differ at their edges; a sender equals itself exactly."""
    first, second = region(cloud(1)), region(cloud(2))
    assert first.conformance(first) == 1
    assert first.conformance(second) == second.conformance(first)
    assert first.conformance(second) > 0.9


def test_a_sender_elsewhere_does_not_conform_until_it_is_moved() -> None:
    kernel, sender = region(cloud(1)), region(cloud(1) + 8 * MOVED)
    assert sender.conformance(kernel) == 0
    move = sender.moved_to(kernel)
    assert move.conformance == pytest.approx(1)
    assert (move.delay_ms, move.throughput_mbit_s) == pytest.approx(8 * MOVED)


def test_a_sender_at_its_place_is_not_moved() -> None:
    """Of equally good moves the shortest is taken."""
    kernel = region(cloud(1))
    move = kernel.moved_to(kernel)
    assert (move.conformance, move.delay_ms, move.throughput_mbit_s) == (1, 0, 0)


def test_a_far_point_widens_no_envelope() -> None:
    points = cloud(1)
    wide = region(np.vstack([points, [[500.0, 50.0]]]))
    assert not wide.holds(np.array([[400.0, 40.0]]))[0]


@pytest.mark.parametrize(
    "points",
    [np.empty((0, 2)), cloud(1, count=5), np.ones((50, 2)), np.outer(np.arange(50.0), [1, 2])],
    ids=["none", "few", "one place", "a line"],
)
def test_points_without_a_region_have_no_envelope(points: Floats) -> None:
    assert envelope([points]) is None


def transfers(**of: Floats) -> Transfers:
    """Return trials of ``sender`` and of the references, with the same points in each network."""

    def trials(points: Floats) -> Transfers:
        split = Split((5e6, 5e6), 0.03, (0.0, 0.0), (19.0, 19.0), (points, cloud(9)))
        return Transfers(NETWORKS, [], [SharedTransfer(network, split) for network in NETWORKS])

    references = {name: trials(points) for name, points in of.items() if name != "sender"}
    return replace(trials(of["sender"]), references=references)


def by_figure(results: Sequence[PropertyResult]) -> dict[str, PropertyResult]:
    return {result.name: result for result in results if result.network == "beside CUBIC"}


def test_the_suite_compares_with_the_kernel_in_the_senders_place() -> None:
    """Also Reno in CUBIC's place, which shows how far apart the two are."""
    seen = transfers(sender=cloud(3) + 8 * MOVED, reno=cloud(2), cubic=cloud(1))
    results = by_figure(envelope_suite.judge("cubic", seen))
    alike = results["envelope beside CUBIC: conformance"]
    assert alike.observed == 0
    assert (alike.references["reno"] or 0) > 0.9
    assert alike.is_for_the_reader
    later = results["envelope beside CUBIC: more delay"]
    assert later.observed == pytest.approx(40, abs=2)
    assert [plot.name for plot in conformance_figures.plots(seen)] == ["envelopes"]
    assert len([*envelope_suite.notes(seen)]) == len(NETWORKS)


def test_the_figure_of_the_kernel_itself_is_that_of_its_two_flows() -> None:
    """Two samples of the same points conform almost, not by definition."""
    seen = transfers(sender=cloud(3), reno=cloud(2), cubic=cloud(1))
    alike = by_figure(envelope_suite.judge("cubic", seen))["envelope beside CUBIC: conformance"]
    assert alike.references["cubic"] == region(cloud(1)).conformance(region(cloud(9)))
    assert 0.9 < (alike.references["cubic"] or 0) < 1


def test_a_suite_whose_networks_are_all_shared_has_an_outcome() -> None:
    seen = transfers(sender=cloud(3), reno=cloud(2), cubic=cloud(1))
    key = SenderKey("nginx", "1", "0", "", "3", "quic", "cubic")
    evidence = ConformanceEvidence(seen, {"clock": "virtual"}, (), invalid=False)
    judgement = reach(bcp133.CUBIC, key, "standard", evidence, "envelope")
    assert judgement.passed
    assert "8 figures for you to judge" in conformance_report.outcome(judgement)
    assert "<svg" in publish.in_html(conformance_report.document(judgement, draws=True))


def test_the_kernels_sender_is_its_own_reference() -> None:
    seen = transfers(sender=cloud(1), reno=cloud(2))
    results = by_figure(envelope_suite.judge("cubic", seen))
    assert results["envelope beside CUBIC: conformance"].observed == 1


def test_a_sender_without_a_region_is_not_seen() -> None:
    seen = transfers(sender=np.empty((0, 2)), reno=cloud(2), cubic=cloud(1))
    results = envelope_suite.judge("cubic", seen)
    assert {result.observed for result in results} == {None}
    assert {result.n for result in results} == {0}
    assert not conformance_figures.plots(seen)
    assert not [*envelope_suite.notes(seen)]


def test_every_network_of_the_suite_has_its_kernel_beside() -> None:
    for network in NETWORKS:
        (flow,) = network.beside
        assert flow.sender == bcp133.REFERENCES[envelope_suite.KERNELS[network.name]]
