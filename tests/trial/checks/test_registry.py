"""The registry of checks: descriptors and observers agree."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import httpbed.trial
from httpbed.experiment import check as descriptors
from httpbed.experiment.check import CHECK_BY_ID, CHECKS, LATENESS, PRESSURE
from httpbed.experiment.check_descriptor import CheckDescriptor
from recorded import ALL, HANDED_OVER, checks, recorded_evidence

SOURCE = "".join(path.read_text() for path in Path(httpbed.trial.__path__[0]).rglob("*.py"))
NAMED = {name: one for name, one in vars(descriptors).items() if isinstance(one, CheckDescriptor)}


@pytest.mark.parametrize("name", [*ALL, HANDED_OVER])
def test_every_check_of_an_attempt_has_a_descriptor(name: str) -> None:
    """The descriptor decides whom a broken check is blamed on; no two checks share a name."""
    made = checks(recorded_evidence(name), name)
    assert len({check.name for check in made}) == len(made)
    for check in made:
        descriptor = CHECK_BY_ID[check.check]
        assert descriptor.of == check.of
        assert check.name.startswith(descriptor.title(item=check.item))


@pytest.mark.parametrize("constant", NAMED)
def test_every_descriptor_has_an_observer(constant: str) -> None:
    """A check that nothing observes would stand in the documentation only."""
    assert re.search(rf"\b{constant}(\.result\(|, | if | else )", SOURCE)


def test_every_check_has_an_id_of_its_own() -> None:
    """Files name a check by it, so it has no placeholder."""
    assert len(CHECK_BY_ID) == len(CHECKS)
    assert not any("{" in one for one in CHECK_BY_ID)
    assert CHECK_BY_ID["part ran"].title(item="proxy-1") == "proxy-1 ran"


def test_the_meaning_contains_the_limit_that_the_check_asks() -> None:
    """Every limit stands in the sentence, with its unit."""
    limited = [one for one in CHECKS if one.limit]
    assert {one.id for one in CHECKS if "{limit}" in one.requirement} == {one.id for one in limited}
    assert " at most 5 ms " in LATENESS.meaning
    assert " at most 50 % " in PRESSURE.meaning
    assert not any("{" in one.meaning for one in CHECKS)


def test_only_checks_of_the_bed_are_broken_by_strain() -> None:
    """Another attempt on a quiet machine cannot mend what a program did."""
    assert {one.of for one in CHECKS if one.by_strain} == {"bed"}
