"""Descriptors of metrics."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from httpbed.experiment.metric import METRICS, Metric


def test_every_metric_has_a_title_and_a_meaning() -> None:
    """Both are printed in every report."""
    for name, metric in METRICS.items():
        assert metric.name == name
        assert metric.title.strip() == metric.title != ""
        assert metric.meaning.strip() == metric.meaning != ""
        assert "\n" not in metric.meaning + metric.title
    assert len({metric.title for metric in METRICS.values()}) == len(METRICS)


@pytest.mark.parametrize(("unit", "form"), [("1", "quantity"), ("s", "count"), ("byte", "share")])
def test_a_metric_without_a_unit_must_declare_its_form(unit: str, form: str) -> None:
    """Otherwise a count would be printed as a percentage."""
    with pytest.raises(ValidationError, match="do not go together"):
        Metric.model_validate(
            {"name": "x", "title": "x", "unit": unit, "form": form, "better": "lower"}
            | {"meaning": "x"}
        )


def test_rates_have_an_upper_bound_and_durations_a_lower_bound_after_a_timeout() -> None:
    """A trial that timed out transferred less than everything, and took longer than the limit."""
    sides = {name: metric.side for name, metric in METRICS.items() if metric.side}
    assert sides["goodput"] == sides["page_throughput"] == "<"
    assert {METRICS[name].unit for name, side in sides.items() if side == ">"} == {"s"}
    assert all(METRICS[name].better == "lower" for name, side in sides.items() if side == ">")
