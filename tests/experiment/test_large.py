"""Large experiments: parsing takes time linear in the file, and reports every mistake."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from pydantic import ValidationError

from httpbed.experiment import parser
from httpbed.experiment.document import ExperimentDocument, scenario_document
from httpbed.experiment.scenario import Scenario, ScenarioReader

HEAD = """
schema = 1
name = "large"
question = "How?"
replicates = 1
seed = 1

[factors]
http_version = ["1.1", "2"]
{factors}

[topology]
hosts = ["client", "server"]

[[topology.links]]
between = ["client", "server"]
rate = {rate}
delay = {delay}

[roles.client]
implementation = "curl"
http_version = {{ factor = "http_version" }}

[roles.server]
implementation = "nginx"

[workload]
kind = "download"
{size}
"""


def experiment_text(
    factors: str, rate: str = '"10 Mbit/s"', delay: str = '"1 ms"', more: str = ""
) -> str:
    return HEAD.format(factors=factors, rate=rate, delay=delay, size='size = "1 MB"') + more


def levels(count: int) -> str:
    entries = ", ".join(f'"{number} ms"' for number in range(1, count + 1))
    return experiment_text(f"delay = [{entries}]", delay='{ factor = "delay" }')


def wrong(count: int) -> str:
    return levels(count).replace(' ms"', ' mz"')


def missing(count: int) -> str:
    return levels(count).replace('size = "1 MB"', "")


def named(count: int) -> str:
    """Vary a table; each level lacks a key."""
    entries = ", ".join(f'n{one} = {{ bucket = "{one} Mbit/s" }}' for one in range(1, count + 1))
    return experiment_text(f"net = {{ {entries} }}", rate='{ factor = "net" }')


def grouped(count: int) -> str:
    """Put each level into its own group; one level is unknown."""
    groups = "".join(
        f'\n[[groups]]\nname = "g{number}"\nlevels = {{ delay = ["{number} ms"] }}\n'
        for number in range(1, count + 1)
    )
    return levels(count).replace('["1 ms", ', "[") + groups


def excluded(count: int) -> str:
    """Exclude one HTTP version at each level."""
    entries = "".join(
        f'\n[[exclude]]\nreason = "x"\n'
        f'levels = {{ delay = ["{number} ms"], http_version = ["2"] }}\n'
        for number in range(2, count + 1)
    )
    return levels(count) + entries


SHAPES = {
    levels: lambda _: 0,
    wrong: lambda count: count,
    missing: lambda _: 1,
    named: lambda count: count,
    grouped: lambda _: 2,
    excluded: lambda _: 0,
}


def calls(work: Callable[[], Any]) -> int:
    """Count the function calls of some work, including those of C functions."""
    total = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal total
        total += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return total


@pytest.mark.parametrize("shape", SHAPES)
def test_twice_the_levels_need_twice_the_calls(shape: Callable[[int], str]) -> None:
    """Counting calls needs no clock; quadratic work would quadruple them."""
    parser.read(shape(3))  # what is looked up once
    texts = [shape(100), shape(200)]
    few, many = (calls(partial(parser.read, text)) for text in texts)
    assert many < 2.3 * few


@pytest.mark.parametrize(("shape", "count"), SHAPES.items())
def test_every_mistake_is_reported_once(
    shape: Callable[[int], str], count: Callable[[int], int]
) -> None:
    """Many treatments may share the part with the mistake."""
    mistakes = parser.read(shape(40)).mistakes
    assert len(mistakes) == count(40)
    assert len({mistake.place for mistake in mistakes}) == len(mistakes)


def test_mistakes_of_several_parts_are_all_reported() -> None:
    """A part that is invalid in all treatments does not hide one that is invalid in some."""
    text = wrong(3).replace('size = "1 MB"', "").replace('"nginx"', '"nginx"\nhttp = 1')
    places = [mistake.place for mistake in parser.read(text).mistakes]
    assert places == [
        "factors.delay[0]",
        "roles.server.http",
        "workload.size",
        "factors.delay[1]",
        "factors.delay[2]",
    ]


def test_treatments_share_equal_parts() -> None:
    """Shared parts equal those that an ordinary document gives."""
    read = parser.read(levels(3))
    assert isinstance(read.document, ExperimentDocument)
    documents = [scenario_document(read.document, treatment) for treatment in read.treatments]
    assert documents == [
        scenario_document(dict(read.document), treatment) for treatment in read.treatments
    ]
    assert len({id(document["workload"]) for document in documents}) == 1
    assert len({id(document["topology"]) for document in documents}) == 3
    assert len({id(document["roles"]) for document in documents}) == 2


def test_scenarios_read_by_parts_equal_those_read_whole() -> None:
    """Values and mistakes are equal, and each mistake is new once."""
    read = parser.read(levels(2))
    scenarios = ScenarioReader()
    for treatment in read.treatments:
        document = scenario_document(read.document, treatment)
        assert scenarios.may_have_new_mistake(document)
        assert scenarios.read(document) == Scenario.model_validate(document)
    document = {**document, "workload": {"kind": "download"}, "roles": {}}
    assert scenarios.may_have_new_mistake(document)
    assert not scenarios.may_have_new_mistake(document)
    assert scenarios.may_have_new_mistake({**document, "workload": {"kind": "page"}})
    with pytest.raises(ValidationError) as whole:
        Scenario.model_validate(document)
    with pytest.raises(ValidationError) as parts:
        scenarios.read(document)
    assert parts.value.errors() == whole.value.errors()


def test_a_product_beyond_the_bound_is_refused_before_it_is_made() -> None:
    """A small file may state any number of treatments; a campaign's, too."""
    extra = "".join(
        f'x{factor} = ["1 %", "2 %", "3 %", "4 %", "5 %", "6 %"]\n' for factor in range(20)
    )
    text = levels(3).replace("[factors]\n", f"[factors]\n{extra}")
    for read in (parser.read(text), parser.read_valid(text)):
        assert [mistake.place for mistake in read.mistakes if "treatments" in mistake.reason] == [
            "factors"
        ]
        assert not read.treatments
    assert parser.read_valid(text).experiment is None


def test_too_many_blocks_are_refused() -> None:
    """Each block repeats all treatments."""
    text = re.sub("(?m)^replicates = .*$", "replicates = 10000", levels(20))
    assert [mistake.place for mistake in parser.read(text).mistakes] == ["replicates"]
