"""What names a treatment."""

from __future__ import annotations

from httpbed.experiment.factorial import treatment_key


def test_the_key_has_the_levels_in_the_order_of_the_factors() -> None:
    """A table's row has further columns, and may have them in any order."""
    assert treatment_key({"loss": "2 %", "http_version": "3"}) == ("2 %", "3")
    row = {"block": 4, "http_version": "3", "loss": "2 %"}
    assert treatment_key(row, ["loss", "http_version"]) == ("2 %", "3")
