"""Arms: another reading, a negative control, and the same side in every arm; and bad input."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

import campaigns
from httpbed.addons.claims import claims_report as claims
from httpbed.addons.claims import judging
from httpbed.addons.claims.judging import JudgedClaim
from httpbed.experiment import parser
from planted_campaigns import Planted

HEAD = '[[claim]]\nid = "a"\nsays = "a claim"\nmetric = "request_time"\n'
ARM = '[[claim.arm]]\nname = "no loss"\nkind = "{}"\nwhere = {{ loss = "0 %" }}\n'
SECONDS = {"0 %": 1.0, "2 %": 2.0}


def judged(claim: str, h3: Mapping[str, float] = SECONDS) -> JudgedClaim:
    """Judge a claim where HTTP/3 takes these seconds by loss, and the others 2 s."""

    def seconds(levels: Mapping[str, str], block: int) -> float:
        base = h3[levels["loss"]] if levels["http_version"] == "3" else 2.0
        return base * (1 + 0.001 * (block % 4))

    text = campaigns.VERSIONS.replace("replicates = 5", "replicates = 8") + HEAD + claim
    (found,) = judging.judge(campaigns.campaign(seconds, text), outlook=False)
    return found


FASTER = """where = { loss = "2 %" }
compare = { of = { http_version = "3" }, to = { http_version = "2" } }
expect = "< 0.9"
"""
TAKES = 'where = { loss = "2 %", http_version = "3" }\nexpect = "1.4 s .. 1.6 s"\n'


def test_a_negative_control_that_gives_the_same_refutes_the_attribution() -> None:
    """HTTP/3 is as much faster without the loss that the claim names."""
    both = judged(FASTER + ARM.format("negative control"), {"0 %": 1.0, "2 %": 1.0})
    assert (both.main.verdict, both.robustness) == ("reproduced", "refuted")
    assert "attribution refuted" in claims.robustness(both)
    only_with_loss = judged(FASTER + ARM.format("negative control"), {"0 %": 2.0, "2 %": 1.0})
    assert only_with_loss.robustness == "no arms"
    assert judged(FASTER + ARM.format("control"), {"0 %": 1.0, "2 %": 1.0}).robustness == "robust"


def test_a_region_between_two_readings_is_open() -> None:
    """2 s by one reading, 1 s by the other; the paper has 1.5 s."""
    found = judged(TAKES + ARM.format("reading"))
    assert found.main.verdict == "open"
    assert "between" in found.main.reason
    assert judged(TAKES + ARM.format("control")).main.verdict == "contradicted"


def test_contradicted_in_every_arm_needs_the_same_side() -> None:
    """Above the region by one arm and below it by another, something between may be right."""
    opposite = judged(TAKES + ARM.format("control"))
    assert opposite.robustness == "open"
    assert "not on one side" in claims.robustness(opposite)
    same = judged(TAKES + ARM.format("control"), {"0 %": 3.0, "2 %": 2.0})
    assert same.robustness == "contradicted"


def test_a_combination_that_no_arm_reproduces_is_contradicted_in_every_arm() -> None:
    """It has no estimate, and so no side."""
    text = campaigns.VERSIONS.replace("replicates = 5", "replicates = 8")
    text += HEAD + FASTER + ARM.format("control")
    text += HEAD.replace('"a"', '"b"') + FASTER + ARM.format("control")
    text += '[[claim]]\nid = "both"\nsays = "both"\nall_of = ["a", "b"]\n'
    *parts, both = judging.judge(campaigns.campaign(lambda *_: 2.0, text), outlook=False)
    assert [one.robustness for one in (*parts, both)] == ["contradicted"] * 3
    assert claims.robustness(both) == "contradicted in every arm"


def mistakes(claim: str) -> str:
    read = parser.read(campaigns.VERSIONS + HEAD + claim)
    return " ".join(map(str, read.mistakes))


def test_an_arm_is_no_other_arm() -> None:
    """A negative control that is a control, too, would be right and wrong at once."""
    control = ARM.format("control")
    twice = control + control.replace("no loss", "none").replace('"control"', '"negative control"')
    assert "selects the same treatments as the arm 'no loss'" in mistakes(FASTER + twice)


@pytest.mark.parametrize("region", ["1 .. 1", "= 1"])
def test_the_ends_of_a_region_of_values_do_not_meet(region: str) -> None:
    """No interval lies in it; a number of cells may be exact."""
    assert "meet" in mistakes(FASTER.replace("< 0.9", region))
    counted = 'over = ["loss"]\ncount_in = "< 0.9"\n' + FASTER.partition("\n")[2]
    assert not mistakes(counted.replace('expect = "< 0.9"', 'expect = "= 1"'))


FEW = {
    "one of 180 cells": (
        Planted("", 'expect = "< 1"', [0.5] * 180, {}, {}, missing=179),
        "not run",
    ),
    "a share over two cells": (
        Planted("", 'share_in = "< 1"\nexpect = ">= 75 %"', [1.0, 1.0], {}, {}),
        "open",
    ),
    "all pairs tied": (
        Planted("", 'expect = "< 1"', [1.0, 1.0], {}, {}, noise=0.0),
        "no difference",
    ),
    "one block": (Planted("", 'expect = "< 1"', [0.5, 0.5], {}, {}, 1), "open"),
}


@pytest.mark.parametrize("case", FEW)
def test_data_that_say_little_settle_nothing(case: str) -> None:
    """Nor do they end in an exception."""
    planted, verdict = FEW[case]
    assert planted.judged(np.random.default_rng(1)).verdict == verdict
