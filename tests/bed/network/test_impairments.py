"""Every impairment is complete: whoever adds a descriptor finds here what it still lacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from httpbed.addons.calibration.cells import all_cells
from httpbed.addons.calibration.envelope import COMPUTED
from httpbed.experiment.impairments.descriptor import Impairment
from httpbed.experiment.impairments.registry import ALL, CAUSES, OPTIONS, Impaired, OneWay
from httpbed.experiment.parser import read

LINKS = Path(__file__).parents[3] / "docs/concepts/links.md"


def names(impairment: Impairment) -> str:
    """Return the field, as the name of a test case."""
    return impairment.field


def test_each_field_of_a_direction_has_one_descriptor() -> None:
    """A direction's fields and the descriptors are the same, and one direction may set each."""
    assert sorted(impairment.field for impairment in ALL) == sorted(Impaired.model_fields)
    assert list(OneWay.model_fields) == list(Impaired.model_fields)


@pytest.mark.parametrize("impairment", ALL, ids=names)
def test_each_impairment_can_be_chosen_calibrated_and_read_about(impairment: Impairment) -> None:
    """It has an option of httpbed link, a row in docs/concepts/links.md, and a cell or a test."""
    field = impairment.field
    assert any(option.path[0] == field for option in impairment.options)
    measured = [cell.link for cell in all_cells("full")]
    assert any(field in link for link in measured) or field in COMPUTED
    assert f"\n| `{field}` |" in LINKS.read_text()


def test_each_reason_for_a_drop_can_be_read_about() -> None:
    """A packet log has the fate alone."""
    _, _, fates = LINKS.read_text().partition("\n## Fates\n")
    fates, _, _ = fates.partition("\n## ")
    assert not [cause.fate for cause in CAUSES if f"`{cause.fate}`" not in fates]


def test_no_two_options_and_no_two_causes_share_a_name() -> None:
    """Options are told apart by name; causes of drops by counter, by fate and by words."""
    assert len({option.name for option in OPTIONS}) == len(OPTIONS)
    for name in ("counter", "fate", "words"):
        assert len({getattr(cause, name) for cause in CAUSES}) == len(CAUSES)


@pytest.mark.parametrize("impairment", ALL, ids=names)
def test_a_misspelled_impairment_is_recognised(impairment: Impairment) -> None:
    """The mistake suggests the right name."""
    text = f'[[topology.links]]\nbetween = ["a", "b"]\n{impairment.field}x = "1"\n'
    remedies = [
        mistake.remedy for mistake in read(text).mistakes if "unknown key" in mistake.reason
    ]
    assert remedies == [f"did you mean '{impairment.field}'?"]
