"""Claims about the campaigns of two experiments: judged together, and refused with the reason."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

import campaigns
from campaigns import Ending
from httpbed.addons.claims import judging
from httpbed.addons.claims.judging import ArmJudgement
from httpbed.store.results import Results

FOLDER = Path(__file__).parents[3] / "experiments"
BLOCKS = campaigns.VERSIONS.replace("replicates = 5", "replicates = 8")
SIZES = ["10 kB", "100 kB", "1 MB", "10 MB"]
OURS = BLOCKS.replace('loss = ["0 %", "2 %"]', f"size = {SIZES}")
OURS = OURS.replace('{ factor = "loss" }', '"1 %"').replace('"1 MB"\n', '{ factor = "size" }\n')
THEIRS = OURS.replace("versions-under-loss", "elsewhere")
CONTRAST = 'compare = { of = { http_version = "3" }, to = { http_version = "2" } }\n'
CLAIM = '[[claim]]\nid = "a"\nsays = "a claim"\nmetric = "request_time"\n' + CONTRAST
RANKS = (
    CLAIM
    + 'trend = { across = ["size"], other = { experiment = "elsewhere" } }\nexpect = "> 0.5"\n'
)
FALL = (
    CLAIM
    + 'over = ["size"]\ntake = "largest"\n'
    + 'minus_other = { experiment = "elsewhere" }\nexpect = "< 0"\n'
)
RATIOS = dict(zip(SIZES, (0.5, 0.8, 1.1, 1.6), strict=True))


def campaign(text: str, ratios: Mapping[str, float], blocks: int = 8) -> Results:
    """Return a campaign in which HTTP/3 takes these multiples of HTTP/2's time."""

    def seconds(levels: Mapping[str, str], block: int) -> Ending | float | None:
        noise = 1 + 0.01 * ((block * 5 + len(levels["size"])) % 7)
        ratio = ratios[levels["size"]] if levels["http_version"] == "3" else 1.0
        return ratio * noise if block <= blocks else None

    return campaigns.campaign(seconds, text)


def judged(claim: str, *others: Results) -> ArmJudgement:
    """Judge the claim by our campaign and others."""
    (found,) = judging.judge(replace(campaign(OURS + claim, RATIOS), beside=others))
    return found.main


def test_ratios_rank_as_in_another_experiment() -> None:
    """The correlation is that of blocks of one number; the other order contradicts."""
    same = judged(RANKS, campaign(THEIRS, {one: 2 * ratio for one, ratio in RATIOS.items()}))
    assert (same.verdict, same.estimate and same.estimate.value.value) == ("reproduced", 1.0)
    assert set(same.elsewhere) == {"elsewhere"}
    reverse = dict(zip(SIZES, reversed(RATIOS.values()), strict=True))
    assert judged(RANKS, campaign(THEIRS, reverse)).verdict == "contradicted"


def test_the_largest_falls_from_another_experiment() -> None:
    """The statistic of the other campaign is subtracted; each has its own cells."""
    found = judged(FALL, campaign(THEIRS, dict.fromkeys(SIZES, 3.0)))
    assert found.verdict == "reproduced"
    assert found.estimate is not None
    assert found.estimate.value.value == pytest.approx(1.6 - 3.0, abs=0.1)
    assert judged(FALL, campaign(THEIRS, dict.fromkeys(SIZES, 1.0))).verdict == "contradicted"


def test_fewer_blocks_elsewhere_limit_the_verdict() -> None:
    """A block without partner has no correlation."""
    assert judged(RANKS, campaign(THEIRS, RATIOS, blocks=4)).reason.startswith("n = 4 blocks")


@pytest.mark.parametrize("claim", [RANKS, FALL])
def test_a_claim_without_the_other_campaign_is_not_judged(claim: str) -> None:
    """The reason names the experiment; two campaigns of it are ambiguous."""
    found = judged(claim)
    assert found.verdict == "not run"
    assert found.reason == "needs a campaign of elsewhere: name its folder too"
    two = [campaign(THEIRS, RATIOS)] * 2
    assert judged(claim, *two).reason == "needs one campaign of elsewhere, and 2 are given"


def test_names_that_the_other_experiment_lacks_are_the_reason() -> None:
    """They are known only when its campaign is given."""
    wrong = FALL.replace('"elsewhere" }', '"elsewhere", where = { size = "2 MB" } }')
    assert "'2 MB' is not a level of size" in judged(wrong, campaign(THEIRS, RATIOS)).reason
    other = campaigns.campaign(lambda _levels, _block: 1.0, BLOCKS.replace("versions-", "two-"))
    found = judged(RANKS.replace('"elsewhere"', '"two-under-loss"'), other)
    assert "unknown factor 'size'; known: http_version, loss" in found.reason


@pytest.mark.parametrize(
    ("seconds", "expected"), [(1.2, "reproduced"), (3.0, "contradicted"), (0.9, "reproduced")]
)
def test_any_of_needs_one_claim(seconds: float, expected: str) -> None:
    """As in "within 10 % or 500 ms"."""
    near = CLAIM + 'where = { size = "1 MB" }\n'
    share = near + 'expect = "0.85 .. 1.15"\n'
    time = near.replace('id = "a"', 'id = "b"').replace(" } }\n", ' }, by = "difference" }\n')
    either = '[[claim]]\nid = "either"\nsays = "either"\nany_of = ["a", "b"]\n'
    text = OURS + share + time + 'expect = "-500 ms .. 500 ms"\n' + either
    found = judging.judge(campaign(text, dict.fromkeys(SIZES, seconds)))
    assert found[2].main.verdict == expected


def planted(file: str, ratio: Mapping[str, float]) -> Results:
    """Return a whole campaign of Biswal and Gnawali's, with these ratios by object size or page.

    It has a block more than the file plans: a difference between campaigns needs six.
    """
    text = (FOLDER / "biswal2016" / file).read_text()
    text = re.sub(r"^replicates = 5\b", "replicates = 6", text, flags=re.MULTILINE)

    def ending(levels: Mapping[str, str], block: int) -> Ending:
        key = levels.get("size") or levels["page"]
        several = 1 + 0.01 * int(levels.get("objects", "0"))
        is_h3 = levels["stack"].endswith("-h3")
        noise = 1 + 0.005 * random.Random(f"{levels} {block}").random()  # noqa: S311 - planted
        seconds = noise * (ratio.get(key, 1.0) * several if is_h3 else 1.0)
        return Ending({"network_page_load_time": seconds})

    return campaigns.campaign(ending, text)


SMALL_WIN = {"100 B": 1.4, "1 kB": 1.1, "10 kB": 0.9, "100 kB": 0.6}


@pytest.mark.slow
def test_the_claims_of_biswal_and_gnawali_come_out_on_published_results() -> None:
    """Similar ratios over the campus network; 3.2 on synthetic pages, 1.6 on sites."""
    grid = planted("grid.toml", SMALL_WIN)
    for file, ratio in (("networks.toml", SMALL_WIN), ("sites.toml", {"apache-core": 1.6})):
        results = planted(file, ratio)
        claims = [claim for claim in results.experiment.claims if re.match(r"B-1[26]", claim.id)]
        judged = judging.judge(replace(results, beside=(grid,)), claims)
        assert {claim.stated.id: claim.main.verdict for claim in judged} == {
            claim.id: "reproduced" for claim in claims
        }
        assert len(claims) == 3
