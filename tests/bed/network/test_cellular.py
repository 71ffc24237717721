"""Traces of cellular links: the same from the same seed, with the mean and outages asked for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from httpbed.bed.network import fates, link_file
from httpbed.experiment.impairments.rate import CellularModel


def model(mean: str = "10 Mbit/s", **said: str) -> CellularModel:
    return CellularModel.model_validate({"mean": mean, **said})


def rates(model: CellularModel, keys: int = 40) -> list[float]:
    """Return the mean rates in Mbit/s of several traces."""
    counts = [len(fates.cellular_trace(model, key)) for key in range(keys)]
    return [count * 1504 * 8 / model.duration / 1e6 for count in counts]


def test_the_mean_is_the_one_asked_for() -> None:
    """Within three standard errors over forty traces, however much the rate varies."""
    for variation in ("0 %", "50 %", "100 %"):
        found = rates(model(variation=variation, memory="1 s"))
        error = np.std(found) / np.sqrt(len(found))
        assert np.mean(found) == pytest.approx(10, abs=3 * error + 0.03 * 10)


def test_outages_take_their_share_of_the_time() -> None:
    """Their mean length is as asked; gaps between Poisson deliveries are far shorter."""
    said = model(variation="0 %", outages="20 %", outage="500 ms")
    gaps = [np.diff(fates.cellular_trace(said, key)) / 1e3 for key in range(40)]
    outages = np.concatenate([gap[gap > 0.04] for gap in gaps])
    assert outages.sum() / (40 * said.duration) == pytest.approx(0.2, rel=0.15)
    assert outages.mean() == pytest.approx(0.52, rel=0.15)


def test_a_constant_rate_is_a_poisson_process() -> None:
    """Without variation the number of deliveries in a second varies as Poisson says."""
    times = fates.cellular_trace(model(variation="0 %", duration="10 min", mean="2 Mbit/s"), 1)
    counts = np.bincount(times // 1000)[:600]
    assert counts.var() / counts.mean() == pytest.approx(1, abs=0.2)


def test_the_rate_forgets_in_the_time_asked_for() -> None:
    """After its memory the rate's logarithm is correlated with itself by 1/e."""
    said = model("100 Mbit/s", memory="2 s", duration="60 s", variation="60 %")
    series = [np.log(fates._rates(said, key, 3000)) for key in range(60)]
    lagged = [np.corrcoef(one[:-100], one[100:])[0, 1] for one in series]
    assert np.mean(lagged) == pytest.approx(np.exp(-1), abs=0.1)
    assert np.mean([one.std() for one in series]) == pytest.approx(0.6, rel=0.15)


def test_a_seed_gives_one_trace() -> None:
    """Another seed gives another trace; this derivation must never change."""
    said = model("1 Mbit/s", duration="1 s")
    times = fates.cellular_trace(said, 20261121)
    assert times.tolist() == fates.cellular_trace(said, 20261121).tolist()
    assert times.tolist() != fates.cellular_trace(said, 20261122).tolist()
    assert times[:8].tolist() == GOLDEN


GOLDEN = [5, 6, 6, 13, 17, 21, 39, 45]


@settings(deadline=None)
@given(
    st.integers(0, 2**64 - 1),
    st.sampled_from(["1 kbit/s", "20 kbit/s", "1 Mbit/s", "50 Mbit/s"]),
    st.sampled_from(["0 %", "50 %", "100 %"]),
    st.sampled_from(["0 %", "10 %", "99 %"]),
)
def test_every_trace_can_be_read(key: int, mean: str, variation: str, outages: str) -> None:
    """It ascends, has the length asked for, and the emulator's own limits are kept."""
    said = model(mean, variation=variation, outages=outages, duration="20 s")
    times = fates.cellular_trace(said, key)
    assert times[-1] == 20_000
    assert (np.diff(times) >= 0).all()
    facts = link_file.read_trace(fates.trace_text(times).encode())
    assert facts.mean_bit_s > 0
