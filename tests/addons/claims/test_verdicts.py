"""Verdicts on planted data: what is true is found, and wrong verdicts are as rare as stated."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
import pytest
from scipy import stats

import campaigns
from campaigns import Ending
from httpbed.addons.claims import claim_outlook, claim_verdict, judging
from httpbed.addons.claims import claims_report as claims
from httpbed.addons.claims.cell_location import CellLocation
from httpbed.addons.claims.claim_verdict import false_hypotheses
from httpbed.addons.claims.judging import JudgedClaim
from httpbed.addons.claims.region import Region, parse_region
from httpbed.results.location import pseudo_median

AT_2 = '[[claim]]\nid = "a"\nsays = "a claim"\nmetric = "request_time"\nwhere = { loss = "2 %" }\n'
FASTER = 'compare = { of = { http_version = "3" }, to = { http_version = "2" } }\nexpect = "< 1"\n'
Seconds = Callable[[Mapping[str, str], int], Ending | float | None]


def judged(claim: str, seconds: Seconds, blocks: int = 8) -> JudgedClaim:
    """Judge one claim by a campaign with these request times."""
    text = campaigns.VERSIONS.replace("replicates = 5", f"replicates = {blocks}") + claim
    (found,) = judging.judge(campaigns.campaign(seconds, text))
    return found


def planted(levels: Mapping[str, str], block: int) -> float:
    """HTTP/3 takes 1 s and others 1.5 s at 2 % loss; all take 0.5 s without loss."""
    noise = 1 + 0.01 * ((block * 7 + len(levels["http_version"])) % 5)
    drift = 1 + 0.01 * (block % 3)
    if levels["loss"] == "0 %":
        return 0.5 * drift * noise
    return (1.0 if levels["http_version"] == "3" else 1.5) * drift * noise


EVERY = 'over = ["loss"]\n'
CLAIMS = {
    "a median": ('where = { http_version = "3", loss = "2 %" }\n', "0.9 s .. 1.6 s", "> 2 s"),
    "a mean": (
        'where = { http_version = "3", loss = "2 %" }\nestimate = "mean"\n',
        "0.9 s .. 1.6 s",
        "> 2 s",
    ),
    "a ratio": ('where = { loss = "2 %" }\n{h3}', "0.6 .. 0.75", "> 0.8"),
    "a gain": ('where = { loss = "2 %" }\n{h3 gain}', "30 % .. 40 %", "< 20 %"),
    "a difference": ('where = { loss = "2 %" }\n{h3 difference}', "< 0 s", "> 100 ms"),
    "an equivalence": ('where = { loss = "0 %" }\n{h3}', "0.9 .. 1.1", "< 0.9"),
    "an interaction": ("compare = [{difference}, {loss}]\n", "< -0.2 s", "> 0 s"),
    "every cell": (EVERY + "{h3}", "< 1.1", "< 0.8"),
    "a share": (EVERY + '{h3}share_in = "< 0.8"\n', "= 50 %", "> 80 %"),
    "a count": (EVERY + '{h3}count_in = "< 0.8"\n', "= 1", "= 2"),
    "the largest": (EVERY + '{h3}take = "largest"\n', "0.9 .. 1.1", "< 0.8"),
    "a rank": (
        'where = { loss = "2 %" }\nover = ["http_version"]\nrank_of = { http_version = "3" }\n',
        "= 1",
        "> 1",
    ),
    "a spread": (
        'where = { loss = "2 %" }\nover = ["http_version"]\ntake = "spread"\n',
        "1.3 .. 1.7",
        "< 1.2",
    ),
    "a trend": ('where = { http_version = "2" }\ntrend = { factor = "loss" }\n', "> 0", "< 0"),
    "an average": (
        'where = { loss = "2 %", http_version = ["1.1", "2"] }\n',
        "1.4 s .. 2.2 s",
        "< 1.2 s",
    ),
    "a difference of counts": (
        (
            'over = ["http_version"]\nwhere = { loss = "2 %" }\ncount_in = "< 0.9 s"\n'
            'minus = { loss = "0 %" }\n'
        ),
        "= -3",
        "> 0",
    ),
    "a knee": (
        'where = { loss = "2 %" }\nknee = { factor = "http_version", at = "2" }\n',
        "0.9 .. 1.1",
        "< 0.5",
    ),
    "a violation": ('where = { loss = "2 %" }\n{violated}', "<= 60 %", ""),
    "a violation of the reverse": ('where = { loss = "2 %" }\n{reversed}', "> 0", "<= 20 %"),
    "success": (
        'where = { loss = "2 %", http_version = "3" }\nestimate = "success"\n',
        "> 60 %",
        "",
    ),
}
"""Each form with a region that the planted values lie in, and one that they do not."""
H3, H2 = '{ http_version = "3" }', '{ http_version = "2" }'
PARTS = {
    "h3": f"compare = {{ of = {H3}, to = {H2} }}\n",
    "h3 gain": f'compare = {{ of = {H3}, to = {H2}, by = "gain" }}\n',
    "h3 difference": f'compare = {{ of = {H3}, to = {H2}, by = "difference" }}\n',
    "violated": f'compare = {{ of = {H3}, to = {H2} }}\nestimate = "violation"\n',
    "reversed": f'compare = {{ of = {H2}, to = {H3} }}\nestimate = "violation"\n',
    "difference": f'{{ of = {H3}, to = {H2}, by = "difference" }}',
    "loss": '{ of = { loss = "2 %" }, to = { loss = "0 %" }, by = "difference" }',
}


@pytest.mark.parametrize("form", CLAIMS)
def test_each_form_finds_what_was_planted(form: str) -> None:
    """The true region is reproduced, a false one contradicted."""
    body, true, false = CLAIMS[form]
    for name, part in PARTS.items():
        body = body.replace(f"{{{name}}}", part)
    head = '[[claim]]\nid = "a"\nsays = "a claim"\n'
    head += "" if form == "success" else 'metric = "request_time"\n'
    for region, expected in ((true, "reproduced"), (false, "contradicted")):
        if region:
            found = judged(f'{head}{body}expect = "{region}"\n', planted, blocks=10)
            assert found.main.verdict == expected, found.main


def test_arms_say_with_what_a_claim_holds() -> None:
    """Without loss both versions are equal, so the claim depends on the loss."""
    arm = '[[claim.arm]]\nname = "no loss"\nwhere = { loss = "0 %" }\n'
    found = judged(AT_2 + FASTER.replace("< 1", "< 0.9") + arm, planted)
    assert (found.main.verdict, found.arms[0].verdict) == ("reproduced", "contradicted")
    assert found.robustness == "depends"
    assert judged(AT_2 + FASTER.replace("< 1", "< 1.2") + arm, planted).robustness == "robust"


@pytest.mark.parametrize(("version", "rank"), [("1.1", 2), ("2", 3), ("3", 1)])
def test_cells_are_ranked_by_their_variation(version: str, rank: int) -> None:
    """1 is the steadiest."""
    share = {"1.1": 0.05, "2": 0.4, "3": 0.005}

    def seconds(levels: Mapping[str, str], block: int) -> float:
        return 1 + share[levels["http_version"]] * math.sin(block)

    claim = AT_2 + 'over = ["http_version"]\nestimate = "variation"\n'
    found = judged(
        f'{claim}rank_of = {{ http_version = "{version}" }}\nexpect = "= {rank}"', seconds, 20
    )
    assert found.main.verdict == "reproduced"


@pytest.mark.parametrize("blocks", [1, 2, 4])
def test_few_blocks_give_no_verdict(blocks: int) -> None:
    """A clear reason instead."""
    found = judged(AT_2 + FASTER, planted, blocks).main
    assert found.verdict == "open"
    assert found.reason.startswith(f"n = {blocks} block")
    assert found.reason.endswith("a verdict needs at least 5")


def test_five_blocks_state_their_coverage() -> None:
    """The interval is as wide as the data, and covers 93.75 %."""
    found = judged(AT_2 + FASTER, planted, 5).main
    assert found.estimate is not None
    assert found.estimate.coverage == pytest.approx(0.9375)
    assert found.verdict == "reproduced"


def test_failed_trials_give_no_verdict() -> None:
    """A claim is not judged by trials that have no value."""
    found = judged(AT_2 + FASTER, lambda *_: Ending(outcome="failed", reason="reset"))
    assert found.main.verdict == "open"
    assert found.main.reason == "no block has all the values that it needs"


def test_a_difference_of_shares_is_in_points() -> None:
    """None of the cells below 0.9 s is 100 points less than all of them, not 100 % less."""
    cells = 'over = ["http_version"]\nwhere = { loss = "2 %" }\nshare_in = "< 0.9 s"\n'
    head = f'[[claim]]\nid = "a"\nsays = "a claim"\nmetric = "request_time"\n{cells}'
    texts = []
    for minus in ("", 'minus = { loss = "0 %" }\n'):
        found = judged(f'{head}{minus}expect = "< 0.5"\n', planted, blocks=10)
        texts.append(claims.measured(found.stated, found.main))
    assert texts[0].startswith("0 %")
    assert texts[1].startswith("-100 points")


def test_a_difference_of_gains_is_in_points() -> None:
    gain = f'{{ of = {H3}, to = {H2}, by = "gain" }}'
    head = '[[claim]]\nid = "a"\nsays = "a claim"\nmetric = "request_time"\nexpect = "< 1"\n'
    single = judged(f'{head}where = {{ loss = "2 %" }}\ncompare = {gain}\n', planted, blocks=10)
    assert " %" in claims.measured(single.stated, single.main).split(" (")[0]
    pair = judged(f"{head}compare = [{gain}, {PARTS['loss']}]\n", planted, blocks=10)
    assert claims.measured(pair.stated, pair.main).split(" (")[0].endswith(" points")


def test_timed_out_trials_count_as_long() -> None:
    """HTTP/2 never ends, so HTTP/3 is faster, by an unknown factor."""

    def never(levels: Mapping[str, str], block: int) -> Ending | float:
        late = Ending(outcome="timed out", reason="limit")
        return late if levels["http_version"] == "2" else planted(levels, block)

    found = judged(AT_2 + FASTER, never).main
    assert found.verdict == "reproduced"
    assert found.estimate is not None
    assert (found.estimate.value.beyond, found.estimate.low) == ("<", 0.0)
    mean = judged(AT_2 + FASTER + 'estimate = "mean"\n', never).main
    assert "use the median" in mean.reason


def test_equal_values_have_no_mean() -> None:
    """The sign test still holds; Student's t does not."""
    claim = AT_2.replace('"2 %"', '"2 %", http_version = "3"') + 'expect = "< 2 s"\n'
    assert judged(claim, lambda *_: 1.0).main.verdict == "reproduced"
    found = judged(claim + 'estimate = "mean"\n', lambda *_: 1.0).main
    assert found.verdict == "open"
    assert "all blocks have the same value" in found.reason


def test_missing_cells_may_decide() -> None:
    """A claim about every cell is not reproduced by a part of them."""
    claim = AT_2.replace('where = { loss = "2 %" }\n', EVERY) + FASTER.replace("< 1", "< 1.2")

    def only_2(levels: Mapping[str, str], block: int) -> float | None:
        return planted(levels, block) if levels["loss"] == "2 %" else None

    found = judged(claim, only_2).main
    assert found.verdict == "not run"
    assert found.estimate is not None
    assert (found.estimate.cells, found.estimate.judged_cells) == (2, 1)
    missed = judged(claim.replace("< 1.2", "< 0.5"), only_2)
    assert missed.main.verdict == "contradicted"
    assert "0 of 2 cells" in claims.measured(missed.stated, missed.main)


def test_a_cell_with_one_value_is_a_missing_one() -> None:
    """If nearly all its trials failed, it may lie anywhere, and the others still count."""
    claim = AT_2.replace('where = { loss = "2 %" }\n', EVERY) + FASTER.replace("< 1", "< 1.2")

    def fails_at_0(levels: Mapping[str, str], block: int) -> float | None:
        return planted(levels, block) if levels["loss"] == "2 %" or block == 3 else None

    found = judged(claim, fails_at_0).main
    assert found.verdict == "open"
    assert found.estimate is not None
    assert (found.estimate.cells, found.estimate.judged_cells) == (2, 1)
    assert judged(claim.replace("< 1.2", "< 0.5"), fails_at_0).main.verdict == "contradicted"


def test_a_conjunction_needs_all_of_its_claims() -> None:
    """One contradicted claim contradicts it."""
    other = (AT_2 + FASTER).replace('id = "a"', 'id = "b"')
    both = '[[claim]]\nid = "both"\nsays = "both"\nall_of = ["a", "b"]\n'
    for expect, expected in (("< 0.9", "reproduced"), ("< 0.5", "contradicted")):
        text = AT_2 + FASTER + other.replace("< 1", expect) + both
        campaign = campaigns.campaign(
            planted, campaigns.VERSIONS.replace("replicates = 5", "replicates = 8") + text
        )
        assert judging.judge(campaign)[2].main.verdict == expected


def test_the_number_of_blocks_that_would_settle_is_found_by_simulation() -> None:
    """Six ratios around 0.95 with a spread of 7 %: twice as many would do, five would not."""
    noise = [0.08, -0.08, 0.06, -0.06, 0.03, -0.03]

    def seconds(levels: Mapping[str, str], block: int) -> float:
        return 0.95 * math.exp(noise[block - 1]) if levels["http_version"] == "3" else 1.0

    found = judged(AT_2 + FASTER, seconds, 6).main
    assert found.verdict == "open"
    assert found.blocks_to_settle is not None
    assert 8 <= found.blocks_to_settle <= 30


def test_a_claim_at_the_edge_of_its_region_names_the_most_blocks_that_were_tried() -> None:
    """Five ratios around 1: no number of blocks decides whether they are below it."""
    noise = [0.4, -0.4, 0.2, -0.2, 0.0]

    def seconds(levels: Mapping[str, str], block: int) -> float:
        return math.exp(noise[block - 1]) if levels["http_version"] == "3" else 1.0

    main = judged(AT_2 + FASTER, seconds, 5).main
    assert f"even {claim_outlook.NUMBERS[-1]} blocks" in claims.outlook(main)


RUNS = 1000
FALSE_ALARM = 1e-4
"""Probability that a simulation fails although the rates are as stated."""


def rates(centre: float, region: Region, blocks: int = 8) -> Mapping[str, int]:
    """Count the verdicts on ratios whose logarithms are normal around that of ``centre``."""
    rng = np.random.default_rng(20261122)
    counts = dict.fromkeys(("reproduced", "contradicted", "open"), 0)
    for _ in range(RUNS):
        found = pseudo_median(math.log(centre) + 0.1 * rng.standard_normal(blocks))
        cell = CellLocation(found, found, "logarithm", is_constant=False)
        side = claim_verdict.side_of([cell])
        estimate = claim_verdict.ClaimEstimate(
            cell.value, cell.low(side), cell.high(side), 0.95, (8, 8), 1, 1, False, "1"
        )
        counts[claim_verdict.rule(estimate, region)] += 1
    return counts


def most(probability: float) -> int:
    """Return the largest plausible count of an event of at most this probability."""
    return int(stats.binom.isf(FALSE_ALARM, RUNS, probability))


@pytest.mark.parametrize(("blocks", "side"), [(5, 1 / 32), (6, 0.025), (8, 0.025)])
def test_wrong_verdicts_are_as_rare_as_stated(blocks: int, side: float) -> None:
    """At the edge of its region a claim is neither true nor false: at most 2.5 % on either side."""
    edge = rates(1.0, parse_region("< 1", "1"), blocks)
    assert edge["reproduced"] <= most(side)
    assert edge["contradicted"] <= most(side)
    null = rates(1.0, parse_region("< 0.95", "1"), blocks)
    assert null["reproduced"] <= most(side)
    outside = rates(1.0, parse_region("0.9 .. 1.0", "1"), blocks)
    assert outside["contradicted"] <= most(2 * side)


def test_true_effects_are_found() -> None:
    """Three standard errors from the edge of the region, most verdicts are right."""
    assert rates(0.8, parse_region("< 1", "1"))["reproduced"] > 0.95 * RUNS
    assert rates(1.25, parse_region("< 1", "1"))["contradicted"] > 0.95 * RUNS
    assert rates(1.0, parse_region("0.8 .. 1.25", "1"))["reproduced"] > 0.95 * RUNS


def test_a_bound_on_false_hypotheses_rarely_fails() -> None:
    """Ten of twenty hypotheses are false; the bound exceeds ten in 2.5 % of the cases at most."""
    rng = np.random.default_rng(1)
    p_values = np.hstack([rng.uniform(size=(RUNS, 10)), 1e-3 * rng.uniform(size=(RUNS, 10))])
    found = [false_hypotheses(one, claim_verdict.SIDE) for one in p_values]
    assert sum(one > 10 for one in found) <= most(claim_verdict.SIDE)
    assert np.median(found) >= 8
