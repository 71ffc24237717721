"""Fates: Python draws, packet by packet, what the emulator's Rust draws."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpbed.bed.network import fates

GOLDEN = Path(__file__).parents[3] / "crates/link-model/tests/model/golden/splitmix64.txt"
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


def lost_numbers(key: int, probability: float, count: int) -> list[int]:
    return fates.lost({"model": "bernoulli", "key": key, "probability": probability}, count)


def test_fewer_packets_meet_the_same_fates() -> None:
    """A transfer that ends early shares its losses with one that goes on."""
    assert (fates.draws(7, 1000)[:10] == fates.draws(7, 10)).all()
    long = lost_numbers(7, 0.1, 1000)
    assert [number for number in long if number < 10] == lost_numbers(7, 0.1, 10)


def test_more_loss_only_adds_to_the_lost() -> None:
    """Treatments that differ in loss alone share the packets that both lose."""
    assert set(lost_numbers(7, 0.02, 5000)) < set(lost_numbers(7, 0.04, 5000))


@pytest.mark.parametrize(
    ("probability", "count", "lost"), [(0.0, 9, []), (1.0, 3, [0, 1, 2]), (0.5, 0, [])]
)
def test_the_ends_of_the_scale(probability: float, count: int, lost: list[int]) -> None:
    """Nothing is lost at 0, everything at 1, and no packet has no fate."""
    assert lost_numbers(7, probability, count) == lost


def test_a_draw_that_equals_the_probability_is_no_loss() -> None:
    """Lost is what is drawn below it, as in the emulator."""
    third = float(fates.draws(7, 3)[2])
    assert 2 not in lost_numbers(7, third, 3)
    assert 2 in lost_numbers(7, float(np.nextafter(third, 1)), 3)


def test_draws_are_uniform() -> None:
    """The share of losses comes as near to the probability as 10^5 draws can be told to."""
    draws = fates.draws(20261121, 10**5)
    assert 0 <= draws.min() <= draws.max() < 1
    assert np.histogram(draws, 10, (0, 1))[0] == pytest.approx(10**4, rel=0.05)


BURSTS = [
    line.split()
    for line in GOLDEN.with_name("gilbert_elliott.txt").read_text().splitlines()
    if not line.startswith("#")
]
GOLDEN_PACKETS = 2000
"""So many packets each line of the golden file tells of."""


def bursts(to_bad: float, to_good: float, good: float, bad: float, key: int) -> dict[str, Any]:
    """Describe loss in bursts as the emulator is told of it."""
    chances = {"to_bad": to_bad, "to_good": to_good, "loss_good": good, "loss_bad": bad}
    return {"model": "gilbert_elliott", "key": str(key), **chances}


@pytest.mark.parametrize("line", BURSTS, ids=lambda line: " ".join(line[:5]))
def test_bursts_are_those_of_the_emulator(line: list[str]) -> None:
    """The same packets, from the four parameters and the key."""
    to_bad, to_good, good, bad = map(float, line[:4])
    model = bursts(to_bad, to_good, good, bad, int(line[4]))
    assert fates.lost(model, GOLDEN_PACKETS) == [*map(int, line[5:])]


def stepwise(changes: list[float], to_bad: float, to_good: float, *, first: bool) -> list[bool]:
    """Walk through the chain one draw after the other."""
    states, state = [], first
    for draw in changes:
        states.append(state)
        state ^= draw < (to_good if state else to_bad)
    return states


shares = st.sampled_from([0.0, 0.2, 0.5, 0.9, 1.0])


@given(st.lists(st.floats(0, 1, exclude_max=True), max_size=60), shares, shares, st.booleans())
def test_the_chain_is_that_of_one_step_after_the_other(
    changes: list[float], to_bad: float, to_good: float, first: bool
) -> None:
    """However often it changes, and wherever it begins."""
    found = fates.two_states(np.array(changes), to_bad, to_good, first=first)
    assert found.tolist() == stepwise(changes, to_bad, to_good, first=first)


def test_bursts_have_the_length_and_the_share_that_they_are_asked_for() -> None:
    """A mean run of 1 / to_good, and to_bad / (to_bad + to_good) of all packets."""
    lost = fates.lost(bursts(0.01, 0.25, 0.0, 1.0, 3), 10**6)
    runs = 1 + int((np.diff(lost) > 1).sum())
    assert len(lost) / runs == pytest.approx(4, rel=0.03)
    assert len(lost) / 10**6 == pytest.approx(0.01 / 0.26, rel=0.03)


def test_listed_losses_are_those_that_have_come() -> None:
    """Of a list, those packets that there were."""
    assert fates.lost({"model": "listed", "numbers": [3, 17]}, 17) == [3]
    assert fates.lost(None, 100) == []


def test_a_probability_that_changes_keeps_the_draws() -> None:
    """Each packet is compared with what held for its number, the last that was set."""
    model = {"model": "bernoulli", "key": "7", "probability": 0.02}
    low, high = (lost_numbers(7, share, 1000) for share in (0.02, 0.1))
    expected = [n for n in low if n < 400] + [n for n in high if 400 <= n < 700]
    found = fates.lost(model, 1000, [(400, 0.5), (400, 0.1), (700, 0.0)])
    assert found == expected
    assert fates.lost(model, 1000, [(2000, 1.0)]) == low


def test_bursts_that_change_lose_alike_in_both_states() -> None:
    """By the first of each packet's two draws."""
    model = bursts(0.1, 0.1, 0.0, 0.5, 7)
    drawn = fates.draws(7, 2000)[::2]
    expected = [n for n in fates.lost(model, 1000) if n < 300]
    expected += [n for n in range(300, 1000) if drawn[n] < 0.2]
    assert fates.lost(model, 1000, [(300, 0.2)]) == expected


def test_a_list_that_changes_is_replaced_by_the_draws_of_key_0() -> None:
    """As a link for which no loss was described."""
    key_0 = lost_numbers(0, 0.3, 100)
    assert fates.lost(None, 100, [(0, 0.3)]) == key_0
    listed = {"model": "listed", "numbers": [3, 17, 60]}
    assert fates.lost(listed, 100, [(50, 0.3)]) == [3, 17, *(n for n in key_0 if n >= 50)]


def test_copies_and_damage_have_their_own_draws() -> None:
    """Damage takes two of each packet: whether, and where."""
    chance = {"probability": 0.1, "key": "7"}
    assert fates.chosen(chance, 50, 1) == lost_numbers(7, 0.1, 50)
    drawn = fates.draws(7, 100)[::2]
    assert fates.chosen(chance, 50, 2) == [n for n in range(50) if drawn[n] < 0.1]
    assert fates.chosen(None, 50, 1) == fates.chosen(None, 50, 2) == []
