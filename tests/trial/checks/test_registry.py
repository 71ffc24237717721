"""The registry of checks: descriptors and observers agree."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import httpbed.trial
from httpbed.experiment import check as descriptors
from httpbed.experiment.check import CARRIED_OUT, CHECKS, CheckDescriptor, descriptor_of
from recorded import ALL, HANDED_OVER, checks, recorded_evidence

SOURCE = "".join(path.read_text() for path in Path(httpbed.trial.__path__[0]).rglob("*.py"))
NAMED = {name: one for name, one in vars(descriptors).items() if isinstance(one, CheckDescriptor)}


@pytest.mark.parametrize("name", [*ALL, HANDED_OVER])
def test_every_check_of_an_attempt_has_a_descriptor(name: str) -> None:
    """The descriptor decides whom a broken check is blamed on; no two checks share a name."""
    made = checks(recorded_evidence(name), name)
    assert len({check.name for check in made}) == len(made)
    for check in made:
        descriptor = descriptor_of(check.name)
        assert descriptor is not None
        assert descriptor.of == check.of


@pytest.mark.parametrize("constant", NAMED)
def test_every_descriptor_has_an_observer(constant: str) -> None:
    """A check that nothing observes would stand in the documentation only."""
    assert re.search(rf"\b{constant}(\.result\(|, | if | else )", SOURCE)


def test_every_name_belongs_to_one_descriptor() -> None:
    """A name from a file leads back to the check that it is a result of."""
    for one in CHECKS:
        title = one.title(where="client->server", item="proxy-1")
        assert [other for other in CHECKS if other.describes(title)] == [one]
    assert descriptor_of("an unknown check") is None
    assert descriptor_of("trial carried out") is CARRIED_OUT


def test_only_checks_of_the_bed_are_broken_by_strain() -> None:
    """Another attempt on a quiet machine cannot mend what a program did."""
    assert {one.of for one in CHECKS if one.by_strain} == {"bed"}
