"""Fates: Python draws, packet by packet, what the emulator's Rust draws."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from httpbed.network import fates

GOLDEN = Path(__file__).parents[2] / "crates/link-model/tests/golden/splitmix64.txt"
WORDS = [
    (int(key), int(number), int(word, 16))
    for key, number, word in map(str.split, GOLDEN.read_text().splitlines())
]
MOST = 10**6
"""Draws are made from the first on, and no link of a trial sees more packets than memory holds."""


@pytest.mark.parametrize(
    ("key", "number", "word"), [one for one in WORDS if one[1] <= MOST], ids=str
)
def test_draws_are_those_of_the_emulator(key: int, number: int, word: int) -> None:
    """To the last bit: 53 bits of the golden word, as a share of 1."""
    assert fates.draws(key, number + 1)[number] == (word >> 11) * 2.0**-53


def test_the_golden_file_has_what_can_go_wrong() -> None:
    """Keys at both ends of 64 bits, and more numbers than one vector's worth."""
    assert {0, 1, 2**64 - 1} <= {key for key, _, _ in WORDS}
    assert MOST in {number for _, number, _ in WORDS}


def test_fewer_packets_meet_the_same_fates() -> None:
    """A transfer that ends early shares its losses with one that goes on."""
    assert (fates.draws(7, 1000)[:10] == fates.draws(7, 10)).all()
    long = fates.lost_numbers(7, 0.1, 1000)
    assert [number for number in long if number < 10] == fates.lost_numbers(7, 0.1, 10)


def test_more_loss_only_adds_to_the_lost() -> None:
    """Treatments that differ in loss alone share the packets that both lose."""
    assert set(fates.lost_numbers(7, 0.02, 5000)) < set(fates.lost_numbers(7, 0.04, 5000))


@pytest.mark.parametrize(
    ("probability", "count", "lost"), [(0.0, 9, []), (1.0, 3, [0, 1, 2]), (0.5, 0, [])]
)
def test_the_ends_of_the_scale(probability: float, count: int, lost: list[int]) -> None:
    """Nothing is lost at 0, everything at 1, and no packet has no fate."""
    assert fates.lost_numbers(7, probability, count) == lost


def test_a_draw_that_equals_the_probability_is_no_loss() -> None:
    """Lost is what is drawn below it, as in the emulator."""
    third = float(fates.draws(7, 3)[2])
    assert 2 not in fates.lost_numbers(7, third, 3)
    assert 2 in fates.lost_numbers(7, float(np.nextafter(third, 1)), 3)


def test_draws_are_uniform() -> None:
    """The share of losses comes as near to the probability as 10^5 draws can be told to."""
    draws = fates.draws(20261121, 10**5)
    assert 0 <= draws.min() <= draws.max() < 1
    assert np.histogram(draws, 10, (0, 1))[0] == pytest.approx(10**4, rel=0.05)
