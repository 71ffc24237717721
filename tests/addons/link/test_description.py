"""What ``httpbed link`` prints about the link before the command runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from httpbed.addons.link import described_link, link_output
from httpbed.experiment import profiles


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({}, "each way no rate limit, no delay, no loss"),
        (
            {"rate": "10mbit", "delay": "50ms", "loss": "4%"},
            "each way 10 Mbit/s, 50 ms, 4 % loss, queue 1000 packets",
        ),
        (
            {"delay": "20ms", "down-rate": "20mbit", "queue": "1bdp", "down-discipline": "codel"},
            "up no rate limit, 20 ms, no loss; down 20 Mbit/s, 20 ms, no loss, CoDel queue 1 BDP",
        ),
        (
            {"loss-to-bad": "1%", "loss-to-good": "30%"},
            "each way no rate limit, no delay, 3.2 % loss in bursts of 3.3 packets on average",
        ),
    ],
)
def test_the_link_is_described_as_typed(said: dict[str, str], sentence: str) -> None:
    """In the spelling of experiment files; a queue is described where something can wait."""
    assert link_output.sentence(described_link.describe(said)) == sentence


@pytest.mark.parametrize("name", profiles.all_profiles())
def test_a_profile_is_described_with_its_figures(name: str) -> None:
    """The title alone does not say what is emulated."""
    described = described_link.describe({}, profile=name)
    sentence = link_output.sentence(described)
    assert sentence.startswith(f"{name} ({profiles.all_profiles()[name].title}): ")
    rate = profiles.all_profiles()[name].link.get("rate")
    if isinstance(rate, str):
        assert rate in sentence


def test_an_option_replaces_a_profile_s_figure(tmp_path: Path) -> None:
    """The figures are those that the link has."""
    trace = tmp_path / "slow.trace"
    trace.write_text("5\n")
    said = link_output.sentence(described_link.describe({"loss": "7%"}, profile="3g-us"))
    assert said.endswith("each way 3.54 Mbit/s, 47 ms, 7 % loss, queue 1000 packets")
    traced = link_output.sentence(described_link.describe({}, traces=(str(trace), str(trace))))
    assert traced.startswith(f"each way rate of the trace {trace}, ")
