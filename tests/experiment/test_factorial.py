"""Groups, exclusions and scales: which treatments there are, and what can be wrong with them."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toml_documents
from httpbed.experiment import factorial, parser
from httpbed.experiment.document import scenario_document
from httpbed.experiment.experiment import Experiment
from httpbed.experiment.factorial import Exclusion, Group
from nested import NESTED
from recorded import DEMO

FACTORS = {"a": ["1", "2", "3"], "b": ["x", "y"], "c": ["p", "q"]}

some = st.fixed_dictionaries(
    {},
    optional={name: st.lists(st.sampled_from(levels)) for name, levels in FACTORS.items()},
)
groups = st.lists(st.builds(Group, name=st.just("g"), levels=some), max_size=3)
exclusions = st.lists(
    st.builds(Exclusion, levels=some.filter(bool), reason=st.just("because")), max_size=2
)

GROUPED = """
[[groups]]
name = "clean"
levels = { loss = ["0 %"] }

[[groups]]
name = "lossy"
levels = { loss = ["2 %"], http_version = ["2", "3"] }

[scales.smoke]
replicates = 1
levels = { loss = ["0 %"] }
"""


def told(text: str) -> dict[str, str]:
    """Return the mistakes in an experiment's text: place -> reason."""
    return {mistake.place: str(mistake) for mistake in parser.read(text).mistakes}


def grouped(old: str = "", new: str = "") -> str:
    """Return the demo with groups, one line changed."""
    assert old in GROUPED
    return DEMO + GROUPED.replace(old, new, 1)


@given(groups, exclusions)
def test_the_design_is_the_union_without_what_is_excluded(
    groups: list[Group], exclusions: list[Exclusion]
) -> None:
    """Each treatment once, in the order of the full crossing, whatever the groups' order."""
    names = list(FACTORS)
    full = [
        dict(zip(names, levels, strict=True)) for levels in itertools.product(*FACTORS.values())
    ]
    expected = [
        treatment
        for treatment in full
        if (not groups or any(in_group(group, treatment) for group in groups))
        and not any(in_group(one, treatment) for one in exclusions)
    ]
    assert list(factorial.treatments(FACTORS, groups, exclusions)) == expected
    assert factorial.most(FACTORS, groups) >= len(expected)


def in_group(choice: Group | Exclusion, treatment: dict[str, str]) -> bool:
    """Tell by the definition whether a treatment is in a group, or is excluded."""
    return all(treatment[name] in levels for name, levels in choice.levels.items())


def test_a_grouped_experiment_has_no_mistake() -> None:
    """And neither have editors that know the schema."""
    read = parser.read(grouped())
    assert read.mistakes == ()
    assert len(read.treatments) == 5
    assert toml_documents.schema_errors(read.document) == []


def test_a_scale_keeps_the_order_and_takes_its_own_replicates() -> None:
    """What is run at a scale is an experiment of its own."""
    experiment = parser.read(grouped()).experiment
    assert isinstance(experiment, Experiment)
    smoke = experiment.at_scale("smoke")
    assert smoke.replicates == 1
    assert smoke.factors["loss"] == ["0 %"]
    assert [treatment["http_version"] for treatment in smoke.treatments()] == ["1.1", "2", "3"]
    assert experiment.at_scale(None) == experiment


EXCLUDE = '[[exclude]]\nreason = "r"\nlevels = '


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        (grouped('{ loss = ["0 %"] }', '{ lost = ["0 %"] }'), "groups[0].levels.lost", "unknown"),
        (grouped('["2", "3"]', '["2", "4"]'), "groups[1].levels.http_version[1]", "1.1, 2, 3"),
        (grouped('["2", "3"]', "[]"), "groups[1].levels.http_version", "names no level"),
        (
            grouped('["2", "3"]', '["2", "2"]'),
            "groups[1].levels.http_version",
            "lists a level twice",
        ),
        (grouped('"lossy"', '"clean"'), "groups[1].name", "groups[0] is also named"),
        (grouped('["2 %"]', '["0 %"]'), "factors.loss", "'2 %' is in no group"),
        (grouped("levels = { loss", "level = { loss"), "groups[0].level", "unknown key"),
        (grouped('name = "clean"', ""), "groups[0].name", "missing"),
        (DEMO + EXCLUDE + '{ loss = ["9 %"] }', "exclude[0].levels.loss[0]", "not a level"),
        (DEMO + EXCLUDE + "{}", "exclude[0].levels", "at least 1"),
        (DEMO + EXCLUDE + '{ loss = ["2 %"] }', "factors.loss", "'2 %' is excluded from every"),
        (DEMO + EXCLUDE + '{ loss = ["0 %", "2 %"] }', "exclude", "leaves no treatment"),
        (grouped() + EXCLUDE + '{ loss = ["2 %"], http_version = ["1.1"] }', "exclude[0]", "no tr"),
        (
            grouped() + EXCLUDE + '{ loss = ["2 %"] }',
            "groups[1]",
            "every treatment of group 'lossy' is excluded",
        ),
        (grouped("replicates = 1", ""), "scales.smoke.replicates", "missing"),
        (grouped("scales.smoke", "scales.tiny"), "scales.tiny", "'smoke', 'standard' or 'full'"),
        (
            grouped('1\nlevels = { loss = ["0 %"]', '1\nlevels = { lost = ["0 %"]'),
            "scales.smoke.levels.lost",
            "unknown factor",
        ),
        (
            grouped() + EXCLUDE + '{ loss = ["0 %"] }',
            "scales.smoke",
            "leaves no treatment",
        ),
        (
            grouped('1\nlevels = { loss = ["0 %"]', '1\nlevels = { http_version = ["3"]'),
            "scales.smoke",
            "leaves out report.base",
        ),
        (
            DEMO.replace('{ http_version = "2" }', '{ http_version = "2", loss = "0 %" }')
            + EXCLUDE
            + '{ http_version = ["2"], loss = ["0 %"] }',
            "report.base",
            "no treatment has these levels",
        ),
    ],
)
def test_each_mistake_is_named_where_it_stands(text: str, place: str, reason: str) -> None:
    """With what is known, so that the next try is right."""
    found = told(text)
    assert place in found
    assert reason in found[place]


def test_mistakes_of_groups_hide_no_others() -> None:
    """Those of header, groups, exclusions, scales and scenario are told together."""
    text = grouped('{ loss = ["0 %"] }', '{ lost = ["0 %"] }').replace("10 Mbit/s", "10")
    text = text.replace("replicates = 5", "replicates = 0") + EXCLUDE + '{ loss = ["9 %"] }'
    assert set(told(text)) >= {
        "replicates",
        "groups[0].levels.lost",
        "exclude[0].levels.loss[0]",
        "topology.links[0].rate",
    }


def test_many_factors_are_few_treatments_where_groups_say_so() -> None:
    """What is never run counts for nothing: 2^30 combinations, of which a group takes one."""
    factors = {f"f{n}": ["1", "2"] for n in range(30)}
    one = Group(name="one", levels={name: ["1"] for name in factors})
    assert factorial.most(factors, [one, one]) == 2
    assert len([*factorial.treatments(factors, [one, one])]) == 1


def test_levels_are_tables_with_factors_in_them() -> None:
    """So that the network's, the path's and the congestion control's levels stay factors."""
    read = parser.read(NESTED)
    assert read.mistakes == ()
    assert len(read.treatments) == 2**5
    assert toml_documents.schema_errors(read.document) == []
    levels = {"path": "envoy", "client": "curl-h3", "access": "slow", "control": "bbr"}
    said = scenario_document(read.document, {**levels, "delay": "25 ms"})
    assert said["roles"]["client"] == {"implementation": "curl", "http_version": "3"}
    assert said["roles"]["proxies"][0]["congestion_control"] == "bbr"
    assert said["roles"]["server"]["congestion_control"] == "reno"
    assert said["topology"]["links"][0]["delay"] == "25 ms"


@pytest.mark.parametrize(
    ("old", "new", "place", "reason"),
    [
        ('"25 ms"', '"25"', "factors.delay[1]", "unit is missing"),
        ('"25 ms"', '"25"', "factors.delay[1]", "(used at topology.links[0])"),
        ('http_version = "3"', 'http_version = "4"', "factors.client.curl-h3.http_version", "'3'"),
        ('rate = "1 Mbit/s"', 'rate = "1"', "factors.access.slow.rate", "unit is missing"),
        ('factor = "control" } }]', 'factor = "cc" } }]',
         "factors.path.envoy.proxies[0].congestion_control", "unknown factor 'cc'"),
        ('implementation = "curl", http_version = "2"', 'factor = "path"',
         "factors.client.curl-h2", "refer back to this one"),
        ('control = ["reno", "bbr"]', 'control = ["reno"]\nother = ["1"]', "factors.other",
         "no place refers to this factor"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_level_is_named_where_it_stands(
    old: str, new: str, place: str, reason: str
) -> None:
    """Through as many factors as stand for each other on the way."""
    assert old in NESTED
    found = told(NESTED.replace(old, new, 1))
    assert place in found
    assert reason in found[place]
