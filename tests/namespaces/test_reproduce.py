"""A part of a study runs again and is compared with its published results."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import reproduce
from reproduce import Selection

from patience import HTTPBED

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]

SMALLEST = """
[scales.smoke]
replicates = 2
[scales.smoke.levels]
size = ["0 B"]
client = ["curl-h2", "curl-h3"]
path = ["direct"]
loss = ["0 %"]
delay = ["0 ms"]
delay_reading = ["one-way"]

[scales.standard]
"""
SMOKE = re.compile(r"\[scales\.smoke\].*\[scales\.standard\]\n", re.DOTALL)


def test_a_part_of_a_study_is_compared_with_its_published_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each trial has a published counterpart, and two blocks settle no claim."""
    monkeypatch.setattr(reproduce, "HTTPBED", HTTPBED)
    published = reproduce.PUBLISHED / "liu2024/single-stream"
    whole = (reproduce.STUDIES / "liu2024/single-stream.toml").read_text()
    experiment, campaign = tmp_path / "part.toml", tmp_path / "campaigns" / "part"
    experiment.write_text(SMOKE.sub(SMALLEST, whole, count=1))
    seed = reproduce.seed_of(experiment, None)
    claims = reproduce.reproduced(experiment, Selection("smoke"), campaign, published, seed)
    assert {one.now for one in claims} <= {"open", reproduce.NOT_RUN}
    assert None not in {one.published for one in claims}
    assert reproduce.compared_values(published, campaign).values == 4
