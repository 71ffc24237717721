"""Campaigns whose cells have known ratios, judged by one claim: how often each verdict comes.

The logarithm of a cell's ratio has a centre that is planted, and noise of one of several shapes:
normal, skewed (rare loads take 2.5 times as long), or correlated between the cells of a block.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

import campaigns
from httpbed.addons.claims import judging
from httpbed.addons.claims.judging import ArmJudgement

RARE, STALL = 0.2, 2.5


@dataclass(frozen=True)
class Planted:
    """A claim, and the campaigns that it is judged by."""

    says: str
    claim: str
    """The keys of the claim that make it one about the ratio of every cell, a share, ..."""
    centres: Sequence[float]
    """True ratio of each cell."""
    wrong: Mapping[str, float]
    """The probability that a verdict may have at most."""
    right: Mapping[str, float]
    """The probability that a verdict should have at least."""
    blocks: int = 5
    noise: float = 0.1
    """Standard deviation of the logarithm of a ratio."""
    correlation: float = 0.0
    stalls: bool = False
    missing: int = 0
    """Cells, the last ones, that did not run."""

    def verdicts(self, campaigns_: int, seed: int = 20260103) -> Counter[str]:
        """Count the verdicts of so many campaigns."""
        random = np.random.default_rng(seed)
        return Counter(self.judged(random).verdict for _ in range(campaigns_))

    def judged(self, random: np.random.Generator) -> ArmJudgement:
        """Judge one campaign."""
        seconds = self._seconds(random)
        levels = [f"{index / 100:g} %" for index in range(len(self.centres))]

        def ends(of: Mapping[str, str], block: int) -> float | None:
            cell = levels.index(of["loss"])
            if cell >= len(levels) - self.missing:
                return None
            return float(seconds[int(of["http_version"] == "3"), cell, block - 1])

        (found,) = judging.judge(campaigns.campaign(ends, self._text(levels)), outlook=False)
        return found.main

    def _text(self, levels: Sequence[str]) -> str:
        text = campaigns.VERSIONS.replace('["1.1", "2", "3"]', '["2", "3"]')
        text = text.replace("replicates = 5", f"replicates = {self.blocks}")
        text = text.replace('["0 %", "2 %"]', str(levels).replace("'", '"'))
        return f"""{text}
[[claim]]
id = "planted"
says = "a planted claim"
metric = "request_time"
compare = {{ of = {{ http_version = "3" }}, to = {{ http_version = "2" }} }}
over = ["loss"]
{self.claim}
"""

    def _seconds(self, random: np.random.Generator) -> np.ndarray:
        """Return the times by version, cell and block."""
        shape = (2, len(self.centres), self.blocks)
        own, common = random.standard_normal(shape), random.standard_normal((2, 1, self.blocks))
        rho = self.correlation
        mixed = math.sqrt(rho) * common + math.sqrt(1 - rho) * own
        logs = self.noise / math.sqrt(2) * mixed
        logs[1] += np.log(self.centres)[:, None]
        if self.stalls:
            logs[1] += math.log(STALL) * (random.random(shape[1:]) < RARE)
        return np.exp(logs)


SIDE, FIVE = 0.025, 1 / 32
FASTER, EVERY = 'expect = "< 1"', 'expect = "< 1.05"'
THREE_QUARTERS = 'share_in = "< 1"\nexpect = ">= 75 %"'
HALF = 'share_in = "< 1"\nexpect = ">= 50 %"'
BOTH = {"reproduced": FIVE, "contradicted": FIVE}

ONE_CELL = (
    Planted("one cell, no effect, 5 blocks", FASTER, [1.0], BOTH, {}),
    Planted("one cell, no effect, 10 blocks", FASTER, [1.0], dict.fromkeys(BOTH, SIDE), {}, 10),
    Planted("one cell, 30 % faster", FASTER, [0.7], {}, {"reproduced": 0.9}),
    Planted("one cell, 40 % slower", FASTER, [1.4], {}, {"contradicted": 0.9}),
    Planted(
        "one cell, no effect, 1 % noise",
        FASTER,
        [1.0],
        {"reproduced": SIDE, "contradicted": SIDE},
        {"no difference": 0.9},
        10,
        noise=0.01,
    ),
    Planted(
        "one cell, no effect, rare stalls, 10 blocks",
        FASTER,
        [1.0],
        {"contradicted": 0.06},
        {},
        10,
        noise=0.01,
        stalls=True,
    ),
    Planted(
        "one cell, no effect, rare stalls, 20 blocks",
        FASTER,
        [1.0],
        {"contradicted": 0.08},
        {},
        20,
        noise=0.01,
        stalls=True,
    ),
    Planted(
        "one cell, at the edge of 0.9 .. 1.1",
        'expect = "0.9 .. 1.1"',
        [1.1],
        BOTH,
        {},
        noise=0.05,
    ),
)
SEVERAL = (
    Planted("every one of 18, one of them at the edge", EVERY, [0.8] * 17 + [1.05], BOTH, {}),
    Planted(
        "every one of 18, one of them 24 % slower",
        EVERY,
        [0.75] * 17 + [1.24],
        {"reproduced": 0.001},
        {"contradicted": 0.9},
        noise=0.02,
    ),
    Planted(
        "every one of 18, correlated, three of them at the edge",
        EVERY,
        [0.8] * 15 + [1.05] * 3,
        BOTH,
        {},
        6,
        correlation=0.4,
    ),
    Planted("92 % of 24", THREE_QUARTERS, [0.8] * 22 + [1.25] * 2, {}, {"reproduced": 0.9}),
    Planted("42 % of 24", THREE_QUARTERS, [0.8] * 10 + [1.25] * 14, {}, {"contradicted": 0.9}),
    Planted(
        "71 % of 24, just too few",
        THREE_QUARTERS,
        [0.7] * 17 + [1.4] * 7,
        {"reproduced": SIDE},
        {},
    ),
    Planted(
        "75 % of 24, just enough",
        THREE_QUARTERS,
        [0.7] * 18 + [1.4] * 6,
        {"contradicted": SIDE},
        {},
    ),
    Planted(
        "46 % of 24 and the rest equal: a repetition finds 73 %",
        HALF,
        [0.7] * 11 + [1.0] * 13,
        {"contradicted": SIDE},
        {},
    ),
    Planted(
        "all of 24 equal, correlated: a repetition finds 50 %",
        THREE_QUARTERS,
        [1.0] * 24,
        {"reproduced": SIDE},
        {},
        correlation=0.4,
    ),
    Planted(
        "92 % of 24, 12 of which did not run",
        THREE_QUARTERS,
        [0.8] * 22 + [1.25] * 2,
        {"reproduced": 0.001, "contradicted": 0.001},
        {"not run": 0.999},
        missing=12,
    ),
)
