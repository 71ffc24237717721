"""A sender has the name of the nearest reference, or none, by what its packets show."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import pytest

from httpbed.addons.conformance import identification, identification_report
from httpbed.addons.conformance.fingerprint import (
    LASTS_S,
    Conditions,
    Fingerprint,
    fingerprint,
)
from httpbed.addons.conformance.identification import (
    TITLES,
    UNKNOWN,
    Identification,
    bounds,
    identify,
    name_of,
    references,
)
from httpbed.addons.conformance.judgement import ConformanceEvidence
from httpbed.addons.conformance.properties import SenderTransfer, Transfers
from httpbed.addons.conformance.sender import Sender, SenderKey
from httpbed.report import markdown, publish
from ideal_sender import FULL, sent_evenly

NETWORKS = Conditions().networks()
SENDER = Sender("thing", "3", None, "unknown", "reno")
KEY = SenderKey("thing", "1.0 <b>", "", "", "3", "quic", "unknown")


def transfers(windows: Sequence[float], lasts_s: float = LASTS_S) -> list[SenderTransfer]:
    """Repeat a cycle of windows in every network for as long."""
    return [
        SenderTransfer(
            network,
            sent_evenly(
                itertools.islice(itertools.cycle(windows), round(lasts_s / network.rtt_s)),
                network.rtt_s,
            ),
        )
        for network in NETWORKS
    ]


def named(every: Sequence[SenderTransfer], *unreadable: str) -> Identification:
    evidence = ConformanceEvidence(
        Transfers(NETWORKS, every), {}, unreadable, invalid=bool(unreadable)
    )
    return identify(SENDER, KEY, evidence)


def test_every_reference_is_whole_and_has_a_title_and_curves() -> None:
    assert {reference.name for reference in references()} == {*TITLES} - {UNKNOWN}
    for reference in references():
        assert reference.fingerprint.is_whole()
        assert set(reference.curves) == {network.name for network in NETWORKS}


def test_a_reference_has_its_own_name_and_no_other_without_it() -> None:
    stated = bounds(references())
    for reference in references():
        assert name_of(reference.fingerprint, references()).name == reference.name
        others = [other for other in references() if other is not reference]
        for other in others:
            assert reference.fingerprint.distance(other.fingerprint) > stated[other.name]


def test_bounds_are_balls_that_do_not_meet() -> None:
    stated = bounds(references())
    for one, other in itertools.combinations(references(), 2):
        far = one.fingerprint.distance(other.fingerprint)
        assert stated[one.name] + stated[other.name] <= far + 1e-9


def test_the_distance_is_the_factor_between_the_windows() -> None:
    """Growth is about the same, so half of the quantiles differ, by one factor of two."""
    near, far = (fingerprint(transfers([window])) for window in (10, 20))
    assert near.distance(far) == pytest.approx(0.5, abs=0.05)
    assert near.distance(near) == 0.0


def test_the_phase_of_a_cycle_does_not_matter() -> None:
    saw = [*range(20, 41)]
    shifted = saw[9:] + saw[:9]
    one, other = (fingerprint(transfers(windows)) for windows in (saw, shifted))
    assert one.distance(other) < 0.03


def test_a_sender_with_one_window_for_ever_is_unknown_and_held() -> None:
    seen = named(transfers([4]))
    assert seen.naming.name == UNKNOWN
    assert seen.held_bytes is not None
    assert FULL < seen.held_bytes < 8 * FULL


def test_an_unknown_shape_is_unknown() -> None:
    """A window that falls to a tenth twice a second is none of the kernel's."""
    seen = named(transfers([4, 40]))
    assert seen.naming.name == UNKNOWN
    assert seen.naming.distances


@pytest.mark.parametrize("lasts_s", [0.5, 9.0, 30.0])
def test_a_sender_that_ends_early_is_unknown(lasts_s: float) -> None:
    """Such as one that closes at its first loss."""
    seen = named(transfers([20], lasts_s), "brim: it went away")
    assert seen.naming.name == UNKNOWN
    assert not seen.naming.distances
    assert seen.as_json()["not_seen"]
    assert "brim: it went away" in markdown.render(
        identification_report.document(seen, draws=False)
    )


def test_a_sender_that_sends_nothing_is_unknown() -> None:
    seen = named([], "brim: nothing came", "sparse: nothing came", "longer: nothing came")
    assert seen.naming.confidence is None
    assert not list(identification_report.plot(seen))
    assert "<h1>" in publish.in_html(identification_report.document(seen, draws=True))


def test_the_page_escapes_what_a_program_says_of_itself() -> None:
    page = publish.in_html(
        identification_report.document(named(transfers([20, 30, 40])), draws=True)
    )
    assert "<svg" in page
    assert "1.0 <b>" not in page


def test_a_sender_near_a_reference_has_its_name_and_the_runner_up() -> None:
    reno = next(reference for reference in references() if reference.name == "reno")
    moved = {name: rows + 0.05 for name, rows in reno.fingerprint.networks.items()}
    naming = name_of(Fingerprint(moved), references())
    assert naming.name == "reno"
    assert naming.nearest[1] != "reno"
    assert 0 < (naming.confidence or 0) < 1


def test_equal_distances_give_no_confidence() -> None:
    reno = next(reference for reference in references() if reference.name == "reno")
    twins = [reno, replace(reno, name="twin")]
    moved = {name: rows + 1 for name, rows in reno.fingerprint.networks.items()}
    naming = name_of(Fingerprint(moved), twins)
    assert naming.confidence == pytest.approx(0.0)
    assert naming.name == identification.UNKNOWN
