"""Any claim is either rejected with its mistakes, or judged without an exception."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import campaigns
from campaigns import Ending
from httpbed.addons.claims import claim_checking, claim_outlook, claim_verdict, judging
from httpbed.addons.claims import claims_report as texts
from httpbed.addons.claims.cell_builder import ClaimDesign
from httpbed.addons.claims.compiled_claim import with_arms
from httpbed.addons.claims.judging import JudgedClaim
from httpbed.addons.claims.stated_claim import StatedClaim
from httpbed.store.results import Results


def selections() -> st.SearchStrategy[dict[str, Any]]:
    """Return levels of the factors, one unknown now and then."""
    return st.fixed_dictionaries(
        {},
        optional={
            "http_version": st.sampled_from(["1.1", "2", "3", ["2", "3"], "4"]),
            "loss": st.sampled_from(["0 %", "2 %", ["0 %", "2 %"]]),
        },
    )


CONTRASTS = st.lists(
    st.fixed_dictionaries(
        {
            "of": selections(),
            "to": selections(),
            "by": st.sampled_from(["ratio", "gain", "difference"]),
        }
    ),
    max_size=2,
)
NAMES = st.lists(st.sampled_from(["loss", "http_version", "page"]), max_size=2)
REGIONS = st.sampled_from(
    ["< 1", "> 0.1", ">= 50 %", "= 1", "0.5 .. 2", "< 1 s", "-1 s .. 1 s", "> 1 Mbit/s", "?"]
)
ESTIMATES = ["median", "mean", "variation", "success", "violation", "correlation"]
OTHER_CELLS = st.fixed_dictionaries(
    {},
    optional={
        "experiment": st.sampled_from(["versions-under-loss", "unknown"]),
        "where": selections(),
        "over": NAMES,
    },
)
CLAIMS = st.fixed_dictionaries(
    {"id": st.just("a"), "says": st.just("a claim"), "expect": REGIONS},
    optional={
        "metric": st.sampled_from(["request_time", "goodput", "rtt", "resource_time"]),
        "items": st.sampled_from(["median", "interquartile range"]),
        "where": selections(),
        "compare": CONTRASTS,
        "trend": st.fixed_dictionaries(
            {},
            optional={
                "factor": st.sampled_from(["loss", "http_version"]),
                "metric": st.just("goodput"),
                "other": OTHER_CELLS,
                "across": NAMES,
            },
        ),
        "minus_other": OTHER_CELLS,
        "estimate": st.sampled_from(ESTIMATES),
        "knee": st.fixed_dictionaries(
            {"factor": st.sampled_from(["loss", "http_version"]), "at": st.sampled_from(["2", "5"])}
        ),
        "flip": st.sampled_from(["resource_time", "resource_time_queued", "goodput"]),
        "over": NAMES,
        "share_in": REGIONS,
        "count_in": REGIONS,
        "take": st.sampled_from(["largest", "spread"]),
        "rank_of": selections(),
        "minus": selections(),
        "arm": st.lists(
            st.fixed_dictionaries({"name": st.sampled_from("xy"), "where": selections()}),
            max_size=1,
        ),
    },
)
LEVELS = {"http_version": ["1.1", "2", "3"], "loss": ["0 %", "2 %"]}


def trends(name: str) -> st.SearchStrategy[dict[str, Any]]:
    """Return trends over a factor, or with its levels in another campaign, or a knee of it."""
    fixed = {other: levels[0] for other, levels in LEVELS.items() if other != name}
    other = {"experiment": "versions-under-loss", "where": fixed}
    found: list[dict[str, Any]] = [{"factor": name}, {"across": [name], "other": other}]
    knee = {"knee": {"factor": name, "at": LEVELS[name][1]}}
    return st.sampled_from([*({"trend": one} for one in found), knee])


@st.composite
def plausible(draw: st.DrawFn) -> dict[str, Any]:
    """Return a claim in which each factor has one place, and mostly nothing is missing."""
    claim: dict[str, Any] = {"id": "a", "says": "a claim", "where": {}, "over": [], "compare": []}
    for name, levels in LEVELS.items():
        match draw(st.sampled_from(["one", "several", "over", "compare", "trend"])):
            case "one":
                claim["where"][name] = draw(st.sampled_from(levels))
            case "several":
                claim["where"][name] = levels[:2]
            case "over":
                claim["over"].append(name)
            case "compare":
                by = draw(st.sampled_from(["ratio", "gain", "difference"]))
                claim["compare"].append(
                    {"of": {name: levels[1]}, "to": {name: levels[0]}, "by": by}
                )
            case "trend":
                claim |= draw(trends(name))
    claim["estimate"] = draw(st.sampled_from(["median", *ESTIMATES]))
    if claim["estimate"] != "success":
        claim["metric"] = draw(st.sampled_from(["request_time", "goodput"]))
    if claim["compare"] and draw(st.booleans()):
        claim |= {"metric": "resource_time", "flip": "resource_time_queued"}
    if claim["over"]:
        claim |= draw(statistics_over_cells({name: LEVELS[name][0] for name in claim["over"]}))
    return {**claim, "expect": draw(REGIONS)}


def statistics_over_cells(first: Mapping[str, str]) -> st.SearchStrategy[dict[str, Any]]:
    """Return at most one statistic over cells, perhaps less that of other cells."""
    take = st.sampled_from(["largest", "spread"])
    rank, region = st.just(dict(first)), REGIONS
    found = {"take": take, "rank_of": rank, "share_in": region, "count_in": region}
    other = st.fixed_dictionaries({}, optional={"minus_other": OTHER_CELLS})
    one = st.sampled_from(sorted(found)).flatmap(
        lambda key: st.fixed_dictionaries({key: found[key]})
    )
    return st.builds(lambda own, more: {**own, **more}, st.just({}) | one, other)


OUTCOMES = ("completed", "completed", "completed", "failed", "timed out", "unsupported")


def mixed(levels: Mapping[str, str], block: int) -> Ending | None:
    """Let trials complete, fail, time out or never run; some values are zero."""
    kind = (block * 5 + len(levels["http_version"]) * 3 + len(levels["loss"])) % 11
    if kind >= len(OUTCOMES):
        values = {"request_time": kind / 10.0, "goodput": 1e6 * (kind % 3), "rtt": 0.05}
        return Ending(values) if kind < 10 else None
    done = OUTCOMES[kind] == "completed"
    return Ending({"request_time": 1.0} if done else {}, OUTCOMES[kind], "" if done else "why")


def results(blocks: int) -> Results:
    """Make a campaign of mixed trials."""
    text = campaigns.VERSIONS.replace("replicates = 5", f"replicates = {blocks}")
    return campaigns.campaign(mixed, text)


CAMPAIGNS = [results(blocks) for blocks in (1, 4, 12)]


@settings(max_examples=200)
@given(CLAIMS | plausible() | plausible())
def test_any_claim_is_rejected_or_judged(claim: Mapping[str, Any]) -> None:
    """And what is printed of it is text, without nan."""
    stated = StatedClaim.model_validate(claim)
    design = ClaimDesign.of_tables(CAMPAIGNS[0].experiment.stated(claim_checking.TABLE))
    if found := list(claim_checking.problems({0: stated}, design)):
        assert all(one.reason for _, one in found)
        return
    for campaign in CAMPAIGNS:
        for beside in ((), (CAMPAIGNS[1],)):
            results = replace(campaign, beside=beside)
            judged = judging.judge(results, [stated])
            assert_sound(judged[0])
            assert "nan" not in str(texts.values(results, judged))
    for one in with_arms([stated], design):
        needed = claim_outlook.to_settle(one)
        assert claim_verdict.MIN_BLOCKS <= needed <= claim_outlook.MAX_NEEDED


def assert_sound(judged: JudgedClaim) -> None:
    """Check that a verdict has an estimate, and its interval contains the estimate."""
    for arm in (judged.main, *judged.arms):
        if arm.estimate is None:
            assert arm.verdict in {"open", "not run"}
            assert arm.reason
            continue
        value, low, high = arm.estimate.value, arm.estimate.low, arm.estimate.high
        assert not any(map(math.isnan, (value.value, low, high)))
        assert low <= high
