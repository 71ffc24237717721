"""Groups, exclusions and scales: the treatments that they select, and their mistakes."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toml_documents
from httpbed.experiment import factorial, parser
from httpbed.experiment.document import scenario_document
from httpbed.experiment.experiment import Experiment
from httpbed.experiment.factorial import Exclusion, Group, Scale
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


def mistakes_by_place(text: str) -> dict[str, str]:
    """Return the mistakes in an experiment's text: place -> reason."""
    return {mistake.place: str(mistake) for mistake in parser.read(text).mistakes}


def grouped(old: str = "", new: str = "") -> str:
    """Return the demo with groups, one line changed."""
    assert old in GROUPED
    return DEMO + GROUPED.replace(old, new, 1)


@given(groups, exclusions)
def test_the_design_is_the_union_of_its_groups_without_exclusions(
    groups: list[Group], exclusions: list[Exclusion]
) -> None:
    """Each treatment occurs once, in the order of the full factorial."""
    names = list(FACTORS)
    full = [
        dict(zip(names, levels, strict=True)) for levels in itertools.product(*FACTORS.values())
    ]
    expected = [
        treatment
        for treatment in full
        if (not groups or any(in_group(group, treatment) for group in groups))
        and not any(in_group(exclusion, treatment) for exclusion in exclusions)
    ]
    assert list(factorial.treatments(FACTORS, groups, exclusions)) == expected
    assert factorial.most(FACTORS, groups) >= len(expected)


def in_group(choice: Group | Exclusion, treatment: dict[str, str]) -> bool:
    """Return by the definition whether a treatment is in a group, or is excluded."""
    return all(treatment[name] in levels for name, levels in choice.levels.items())


def test_a_grouped_experiment_is_valid_for_parser_and_schema() -> None:
    """The published schema accepts it, too."""
    read = parser.read(grouped())
    assert read.mistakes == ()
    assert len(read.treatments) == 5
    assert toml_documents.schema_errors(read.document) == []


def test_a_scale_keeps_the_order_and_has_its_own_replicates() -> None:
    """The reduced experiment is an experiment itself."""
    experiment = parser.read(grouped()).experiment
    assert isinstance(experiment, Experiment)
    smoke = experiment.at_scale("smoke")
    assert smoke.replicates == 1
    assert smoke.factors["loss"] == ["0 %"]
    assert [treatment["http_version"] for treatment in smoke.treatments()] == ["1.1", "2", "3"]
    assert experiment.at_scale(None) == experiment


PARTS = """
[[scales.standard.parts]]
loss = ["2 %"]
http_version = ["3"]

[[scales.standard.parts]]
http_version = ["2"]

[scales.standard]
replicates = 2
"""


def test_a_scale_runs_the_union_of_its_parts_within_the_groups() -> None:
    """Each group and each part is one factorial; a level that no part runs is no level."""
    read = parser.read(grouped() + PARTS)
    assert read.mistakes == ()
    assert toml_documents.schema_errors(read.document) == []
    assert isinstance(read.experiment, Experiment)
    standard = read.experiment.at_scale("standard")
    assert [*standard.treatments()] == [
        {"http_version": "2", "loss": "0 %"},
        {"http_version": "2", "loss": "2 %"},
        {"http_version": "3", "loss": "2 %"},
    ]
    assert standard.factors == {"http_version": ["2", "3"], "loss": ["0 %", "2 %"]}


@given(groups, st.lists(some, max_size=3), some)
def test_a_scale_runs_the_treatments_of_the_design_that_it_matches(
    groups: list[Group], parts: list[dict[str, list[str]]], levels: dict[str, list[str]]
) -> None:
    """The intersected groups give what filtering the whole design gives."""
    scale = Scale(replicates=1, levels=levels, parts=parts)
    kept = factorial.narrowed(FACTORS, levels)
    reduced = factorial.treatments(kept, factorial.scaled(groups, scale))
    whole = factorial.treatments(FACTORS, groups)
    assert [*reduced] == [treatment for treatment in whole if scale.matches(treatment)]


EXCLUDE = '[[exclude]]\nreason = "r"\nlevels = '


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        (grouped('{ loss = ["0 %"] }', '{ lost = ["0 %"] }'), "groups[0].levels.lost", "unknown"),
        (grouped('["2", "3"]', "[]"), "groups[1].levels.http_version", "names no level"),
        (
            grouped('["2", "3"]', '["2", "2"]'),
            "groups[1].levels.http_version",
            "lists '2' more than once",
        ),
        (grouped('"lossy"', '"clean"'), "groups[1].name", "groups[0] is also named"),
        (grouped('["2 %"]', '["0 %"]'), "factors.loss", "'2 %' is in no group"),
        (grouped("levels = { loss", "level = { loss"), "groups[0].level", "unknown key"),
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
        (
            grouped("scales.smoke", "scales.tiny"),
            "scales.tiny",
            "'smoke', 'standard', 'paper' or 'full'",
        ),
        (
            grouped('1\nlevels = { loss = ["0 %"]', '1\nlevels = { lost = ["0 %"]'),
            "scales.smoke.levels.lost",
            "unknown factor",
        ),
        (
            grouped() + PARTS.replace('["3"]', '["4"]'),
            "scales.standard.parts[0].http_version[0]",
            "not a level",
        ),
        (
            grouped() + PARTS.replace('["3"]', '["1.1"]'),
            "scales.standard.parts[0]",
            "no treatment of the scale",
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
def test_each_mistake_of_the_design_is_reported_at_its_place(
    text: str, place: str, reason: str
) -> None:
    """The message lists the known names."""
    mistakes = mistakes_by_place(text)
    assert place in mistakes
    assert reason in mistakes[place]


def test_mistakes_of_groups_do_not_hide_others() -> None:
    """Mistakes in header, groups, exclusions, scales and scenario are reported together."""
    text = grouped('{ loss = ["0 %"] }', '{ lost = ["0 %"] }').replace("10 Mbit/s", "10")
    text = text.replace("replicates = 5", "replicates = 0") + EXCLUDE + '{ loss = ["9 %"] }'
    assert set(mistakes_by_place(text)) >= {
        "replicates",
        "groups[0].levels.lost",
        "exclude[0].levels.loss[0]",
        "topology.links[0].rate",
    }


def test_an_unreadable_group_hides_no_mistake_that_every_choice_has() -> None:
    """One that only some combinations have waits: the group may leave those out."""
    certain = grouped('name = "clean"', "").replace("10 Mbit/s", "10").replace('"2 %"]', '"200 %"]')
    assert set(mistakes_by_place(certain)) >= {
        "groups[0].name",
        "topology.links[0].rate",
        "factors.loss[1]",
    }
    fast = 'fast = { between = ["client", "proxy"]'
    slow_only = NESTED.replace(f'{fast}, delay = {{ factor = "delay" }}', fast)
    wrong = slow_only.replace('"25 ms"', '"25"')
    assert "factors.delay[1]" in mistakes_by_place(wrong)
    unreadable = f'{wrong}\n[[exclude]]\nlevels = {{ access = ["slow"] }}\n'
    assert set(mistakes_by_place(unreadable)) == {"exclude[0].reason"}


@pytest.mark.parametrize(
    ("metric", "applies"),
    [("speed_index", "page load"), ("share", "competitors"), ("proxy_cpu", "proxies")],
)
def test_a_metric_of_the_report_that_no_trial_has_is_a_mistake(metric: str, applies: str) -> None:
    """Its table would be empty after a run of hours."""
    text = DEMO.replace('metric = "request_time"', f'metric = "{metric}"')
    assert text != DEMO
    assert applies in mistakes_by_place(text)["report.metric"]


def test_a_group_may_select_one_of_many_combinations() -> None:
    """A group selects one of 2^30 combinations without generating them."""
    factors = {f"f{n}": ["1", "2"] for n in range(30)}
    one = Group(name="one", levels={name: ["1"] for name in factors})
    assert factorial.most(factors, [one, one]) == 2
    assert len([*factorial.treatments(factors, [one, one])]) == 1


def test_levels_may_be_tables_that_refer_to_further_factors() -> None:
    """Levels of network, path and congestion control stay factors."""
    read = parser.read(NESTED)
    assert read.mistakes == ()
    assert len(read.treatments) == 2**5
    assert toml_documents.schema_errors(read.document) == []
    levels = {"path": "envoy", "client": "curl-h3", "access": "slow", "control": "bbr"}
    document = scenario_document(read.document, {**levels, "delay": "25 ms"})
    assert document["roles"]["client"] == {"implementation": "curl", "http_version": "3"}
    assert document["roles"]["proxies"][0]["congestion_control"] == "bbr"
    assert document["roles"]["server"]["congestion_control"] == "reno"
    assert document["topology"]["links"][0]["delay"] == "25 ms"


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
def test_a_mistake_in_a_nested_level_is_reported_at_that_level(
    old: str, new: str, place: str, reason: str
) -> None:
    """This holds through any number of factors that refer to each other."""
    assert old in NESTED
    mistakes = mistakes_by_place(NESTED.replace(old, new, 1))
    assert place in mistakes
    assert reason in mistakes[place]
