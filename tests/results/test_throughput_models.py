"""The formulae against the figures that their sources print."""

from __future__ import annotations

import pytest

from httpbed.results import throughput_models as models


@pytest.mark.parametrize(("loss", "window"), [(1e-2, 12), (1e-3, 38), (1e-4, 120), (1e-5, 387)])
def test_mathis(loss: float, window: float) -> None:
    """Average windows of Reno."""
    assert models.mathis(loss, 0.1) * 0.1 == pytest.approx(window, rel=0.025)


@pytest.mark.parametrize(("loss", "window"), [(1e-4, 187), (1e-5, 1054), (1e-6, 5926)])
def test_cubic_response(loss: float, window: float) -> None:
    """RFC 8312, table 1: RTT 0.1 s, C = 0.4; there time-outs do not matter."""
    assert models.cubic(loss, 0.1) * 0.1 == pytest.approx(window, rel=0.01)


def test_cubic_is_reno_where_reno_is_faster() -> None:
    """At short round trips and high loss: the Reno-friendly region."""
    assert models.cubic(0.01, 0.02) == models.pftk(0.01, 0.02)


@pytest.mark.parametrize("loss", [0.001, 0.01, 0.04, 0.1])
def test_timeouts_only_slow_down(loss: float) -> None:
    """PFTK is below Mathis, and the more so the higher the loss."""
    assert models.pftk(loss, 0.05) < models.mathis(loss, 0.05)
    assert models.pftk(2 * loss, 0.05) < models.pftk(loss, 0.05) / 2**0.5


def test_the_cubic_curve() -> None:
    """It begins at what the loss left and passes the old window after K (RFC 9438, equation 2)."""
    k_s = (30 / 0.4) ** (1 / 3)
    assert models.cubic_window(0, 100, 70, 10) == pytest.approx(70)
    assert models.cubic_window(k_s, 100, 70, 10) == pytest.approx(100)
    assert models.cubic_window(k_s + 5, 100, 70, 10) == pytest.approx(150)


def test_the_friendly_region_may_go_on_faster() -> None:
    """RFC 9438, section 4.3: a packet per round trip from the old window on, 9/17 until then."""
    until = 3 * 17 / 9 * 0.01
    for faster, later in ((False, 10 + 9 / 17), (True, 11)):
        windows = [models.cubic_window(s, 10, 7, 0.01, faster=faster) for s in (0.04, until + 0.01)]
        assert windows == pytest.approx([7 + 4 * 9 / 17, later])
