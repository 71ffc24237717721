"""Claims in an experiment file: what is accepted, and every mistake at its place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import campaigns
from httpbed.addons.claims.region import Region, parse_region
from httpbed.experiment import parser

CLAIM = """
[[claim]]
id = "L-7"
says = "HTTP/3 is faster than HTTP/2 at 2 % loss"
metric = "request_time"
where = { loss = "2 %" }
compare = { of = { http_version = "3" }, to = { http_version = "2" } }
expect = "< 1"
"""
LARGEST = 'over = ["loss"]\ntake = "largest"\n'


def mistakes(claim: str) -> dict[str, str]:
    """Return the mistakes of an experiment with these claims: place -> text."""
    return {
        mistake.place: str(mistake) for mistake in parser.read(campaigns.VERSIONS + claim).mistakes
    }


def changed(old: str, new: str) -> dict[str, str]:
    """Return the mistakes of the claim with one part replaced."""
    assert old in CLAIM
    return mistakes(CLAIM.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "place", "words"),
    [
        ('"request_time"', '"requesttime"', "metric", "must be one of"),
        (
            'loss = "2 %"',
            'lost = "2 %"',
            "where.lost",
            "unknown factor 'lost'; known: http_version",
        ),
        ('loss = "2 %"', 'loss = "3 %"', "where.loss", "'3 %' is not a level of loss; known: 0 %"),
        ('loss = "2 %"', "", "where", "does not choose a level of loss; name the level in where"),
        ('= "3" }', '= "2" }', "compare[0]", "of and to select the same treatments"),
        ('"< 1"', '"< -1"', "expect", "no estimate can lie in '< -1': it is always at least 0"),
        ('"< 1"', '">= 0"', "expect", "no result could contradict it; narrow the region"),
        ('"< 1"', '"2 .. 1"', "expect", "no value lies in '2 .. 1'"),
        ('"< 1"', '"below one"', "expect", "is not a region; write"),
        ('"< 1"', '"< 1 s"', "expect", "is not a number or a percentage"),
        ('"request_time"', '"rtt"\nitems = "median"', "items", "has one value for each trial"),
        ('"request_time"', '"resource_time"', "items", "has a value for each item"),
        ('expect = "< 1"', "", "expect", 'is missing; write a region such as "< 1"'),
        ("expect", 'take = "largest"\nexpect', "take", "name the factors of the cells in over"),
        ("expect", 'over = ["page"]\nexpect', "over[0]", "unknown factor 'page'"),
        ("expect", 'over = ["http_version"]\nexpect', "over[0]", "http_version is also compared"),
        ("expect", 'estimate = "success"\nexpect', "metric", "does not apply to success"),
        ("expect", 'estimate = "mode"\nexpect', "estimate", "must be"),
    ],
)
def test_a_mistake_is_reported_at_its_place(old: str, new: str, place: str, words: str) -> None:
    """The text says what is wrong and what to do."""
    found = changed(old, new)
    assert words in found[f"claim[0].{place}"]


VIOLATION = 'estimate = "violation"\nexpect'
KNEE = 'knee = {{ factor = "{}", at = "{}" }}\nexpect'
FLIP = '"resource_time"\nflip = "resource_time_queued"'


@pytest.mark.parametrize(
    ("old", "new", "place", "words"),
    [
        ('"request_time"', '"rtt"\nestimate = "violation"', "metric", "there is no order"),
        ("} }\nex", f'}}, by = "gain" }}\n{VIOLATION[:-4]}', "compare[0].by", "does not apply"),
        ("expect", f'trend = {{ factor = "loss" }}\n{VIOLATION}', "trend", "does not apply"),
        ("expect", f'over = ["loss"]\ntake = "spread"\n{VIOLATION}', "take", "within blocks"),
        (
            "expect",
            f'over = ["loss"]\nrank_of = {{ loss = "2 %" }}\n{VIOLATION}',
            "rank_of",
            "within blocks; violation has no values of blocks",
        ),
        (
            'where = { loss = "2 %" }',
            KNEE.format("loss", "2 %").removesuffix("expect"),
            "knee.factor",
            "the levels of loss are not numbers above zero; choose such levels in where",
        ),
        ("expect", 'estimate = "correlation"\nexpect', "estimate", "needs the points of a trend"),
        (
            "expect",
            'trend = { factor = "loss" }\nestimate = "correlation"\nexpect',
            "trend",
            "has 1 points; a correlation needs 3; choose more levels in where",
        ),
        ("expect", KNEE.format("page", "2"), "knee.factor", "unknown factor 'page'"),
        ("expect", KNEE.format("http_version", "2"), "knee.factor", "is also compared"),
        ('"request_time"', f"{FLIP}\nitems = 'median'", "items", "compares every item"),
        ('"request_time"', '"resource_time"\nflip = "rtt"', "flip", "one value for each trial"),
        ('"request_time"', '"rtt"\nflip = "resource_time"', "metric", "there are no items"),
        ('"request_time"', '"resource_time"\nflip = "resource_time"', "flip", "own metric"),
        ('"request_time"', f'{FLIP}\nestimate = "variation"', "flip", "does not apply to var"),
        ("compare", f"{VIOLATION[:-6]}# compare", "compare", "there are 0 contrasts"),
    ],
)
def test_a_shape_that_cannot_be_estimated_is_rejected(
    old: str, new: str, place: str, words: str
) -> None:
    """Each at its place, with a way out."""
    assert words in changed(old, new)[f"claim[0].{place}"]


@pytest.mark.parametrize("key", ['rank_of = { loss = "2 %" }', 'take = "spread"'])
def test_shares_of_successes_are_not_compared_within_blocks(key: str) -> None:
    """They have no values of blocks."""
    lines = [
        one for one in CLAIM.splitlines() if not one.startswith(("metric", "compare", "expect"))
    ]
    claim = "\n".join(lines).replace("loss", "http_version").replace("2 %", "3")
    found = mistakes(f'{claim}\nestimate = "success"\nover = ["loss"]\n{key}\nexpect = "> 1"\n')
    assert "success has no values of blocks" in found[f"claim[0].{key.split(maxsplit=1)[0]}"]


@pytest.mark.parametrize(
    ("levels", "at", "key", "words"),
    [
        ('["1.1", "2", "3"]', "3", "at", "'3' does not lie between two of the levels"),
        ('["2", "3"]', "2", "at", "choose levels below and above it in where"),
        ('["1.1", "3"]', "2", "at", "does not lie between"),
    ],
)
def test_a_knee_has_levels_on_both_sides(levels: str, at: str, key: str, words: str) -> None:
    """Otherwise there is no slope to compare."""
    where = f'where = {{ loss = "2 %", http_version = {levels} }}'
    claim = CLAIM.replace('where = { loss = "2 %" }', where)
    claim = "\n".join(line for line in claim.splitlines() if not line.startswith("compare"))
    found = mistakes(f'{claim}\nknee = {{ factor = "http_version", at = "{at}" }}\n')
    assert words in found[f"claim[0].knee.{key}"]


def test_two_claims_of_one_id_are_rejected() -> None:
    """The second one is reported."""
    assert "claim[0] also has the id 'L-7'" in mistakes(CLAIM + CLAIM)["claim[1].id"]


def test_claims_are_checked_beside_one_that_cannot_be_read() -> None:
    """Which may be a part of another: its id is known."""
    unreadable = CLAIM.replace("request_time", "requesttime")
    second = CLAIM.replace('"2 %"', '"3 %"').replace("L-7", "L-8")
    both = '[[claim]]\nid = "L-9"\nsays = "both"\nall_of = ["L-7", "L-8", "L-10"]\n'
    found = mistakes(unreadable + second + both)
    assert set(found) == {"claim[0].metric", "claim[1].where.loss", "claim[2].all_of[2]"}


def test_claims_are_checked_beside_mistakes_elsewhere() -> None:
    """A mistake in the header hides none in a claim."""
    text = campaigns.VERSIONS.replace("replicates =", "replicate =")
    found = {
        mistake.place for mistake in parser.read(text + CLAIM.replace('"2 %"', '"3 %"')).mistakes
    }
    assert {"replicate", "claim[0].where.loss"} <= found


def test_a_region_is_checked_beside_an_unknown_name() -> None:
    """Its unit follows from the claim's keys, which are right."""
    wrong = CLAIM.replace('"2 %"', '"3 %"').replace('"< 1"', '"below one"')
    assert set(mistakes(wrong)) == {"claim[0].where.loss", "claim[0].expect"}


def test_an_arm_must_differ_from_the_claim() -> None:
    """In the treatments that it selects, and in its name from other arms."""
    same = '[[claim.arm]]\nname = "the same"\nwhere = { loss = "2 %" }\n'
    found = mistakes(CLAIM + same)
    assert "selects the same treatments as the claim itself" in found["claim[0].arm[0]"]
    other = same.replace('"2 %"', '"0 %"')
    assert mistakes(CLAIM + other) == {}
    assert "names two arms" in mistakes(CLAIM + other + other)["claim[0].arm[1].name"]
    unknown = mistakes(CLAIM + same.replace("loss", "lost"))
    assert "unknown factor" in unknown["claim[0].arm[0].where.lost"]


def test_treatments_that_groups_leave_out_are_named() -> None:
    """A claim must not wait for cells that no scale runs."""
    group = '[[groups]]\nname = "one"\nlevels = { http_version = ["1.1", "2"] }\n'
    other = '[[groups]]\nname = "other"\nlevels = { http_version = ["3"], loss = ["0 %"] }\n'
    found = mistakes(group + other + CLAIM)
    assert "no treatment has http_version = '3', loss = '2 %'" in found["claim[0].where"]


def test_a_claim_about_claims_names_them() -> None:
    """Unknown names, nested conjunctions and own estimates are rejected."""
    both = '[[claim]]\nid = "both"\nsays = "both"\nall_of = ["L-7"]\n'
    assert mistakes(CLAIM + both) == {}
    assert "there is no claim 'L-8'" in str(mistakes(CLAIM + both.replace("L-7", "L-8")))
    assert "both has all_of itself" in str(mistakes(CLAIM + both.replace('"L-7"', '"both"')))
    assert mistakes(CLAIM + both.replace("all_of", "any_of")) == {}
    two = mistakes(CLAIM + both + 'any_of = ["L-7"]\n')
    assert "excludes all_of" in two["claim[1].any_of"]
    own = mistakes(CLAIM + both + 'metric = "request_time"\n')
    assert "which has no estimate of its own" in own["claim[1].metric"]


def test_claims_change_no_trial() -> None:
    """They are no part of what is executed."""
    with_claims, without = (parser.read(campaigns.VERSIONS + text) for text in (CLAIM, ""))
    assert with_claims.treatments == without.treatments


@pytest.mark.parametrize(
    ("text", "unit", "inside", "outside"),
    [
        ("8.28 s .. 9.9 s", "s", (8.28, 9, 9.9), (8.27, 9.91)),
        ("-200 ms .. 1 s", "s", (-0.2, 0, 1), (-0.21,)),
        ("< 1", "1", (0.99, -5), (1, 1.01)),
        (">= 80 %", "1", (0.8, 1), (0.79,)),
        ("= 1", "1", (1,), (0.99, 1.01)),
        ("> 10 Mbit/s", "bit/s", (1.1e7,), (1e7,)),
        ("<= 1 MB/s", "byte/s", (1e6,), (1e6 + 1,)),
    ],
)
def test_regions(
    text: str, unit: str, inside: tuple[float, ...], outside: tuple[float, ...]
) -> None:
    """Ends of ranges belong to them, as do ends with an equals sign."""
    region = parse_region(text, unit)
    assert all(map(region.contains, inside))
    assert not any(map(region.contains, outside))


ENDS = st.tuples(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3))


@given(ENDS, ENDS, st.booleans(), st.booleans())
def test_an_interval_in_a_region_meets_it(
    ends: tuple[float, float], interval: tuple[float, float], low_open: bool, high_open: bool
) -> None:
    """So no interval is both reproduced and contradicted."""
    region = Region(*ends, low_open, high_open)
    least, most = sorted(interval)
    if region.contains_all(least, most):
        assert region.meets(least, most)
    if not region.meets(least, most):
        assert not region.contains(least)
        assert not region.contains(most)


@pytest.mark.parametrize(
    ("keys", "place", "words"),
    [
        ('minus_other = { experiment = "grid" }', "minus_other", "write share_in or take"),
        (
            f'{LARGEST}minus = {{ loss = "0 %" }}\nminus_other = {{ experiment = "grid" }}',
            "minus_other",
            "excludes minus",
        ),
        ('trend = { other = { experiment = "grid" } }', "trend", "other and across belong"),
        ('trend = { across = ["loss"] }', "trend", "needs one of factor, metric and other"),
        ('trend = { across = ["loss"], other = {} }', "trend.other", "the claim's own cells"),
        (
            'trend = { across = ["loss"], other = { where = { lost = "2 %" } } }',
            "trend.other.where.lost",
            "unknown factor 'lost'",
        ),
        (
            'trend = { across = ["loss"], other = { experiment = "grid", over = ["loss"] } }',
            "trend.other.over",
            "whose points are in across",
        ),
        ('trend = { across = ["loss"], other = { experiment = "No Name" } }', "trend.other", ""),
    ],
)
def test_mistakes_in_other_cells(keys: str, place: str, words: str) -> None:
    """Each at its key; the names of another experiment are not known here."""
    text = CLAIM.replace('where = { loss = "2 %" }', keys).replace('"< 1"', '"> 0.5"')
    found = {at: text for at, text in mistakes(text).items() if at.startswith(f"claim[0].{place}")}
    assert any(words in one for one in found.values()), mistakes(text)


def test_cells_of_another_experiment_are_accepted() -> None:
    """Its names are checked when its campaign is judged."""
    keys = (
        LARGEST + 'minus_other = { experiment = "grid", over = ["rtt"], where = { size = "1 kB" } }'
    )
    text = CLAIM.replace('where = { loss = "2 %" }', keys).replace('"< 1"', '"< 0"')
    assert mistakes(text) == {}
