"""The time that a design takes: roughly right, and rising with what makes it longer."""

from __future__ import annotations

import pytest

from httpbed.analysis.duration import BED_S, expected_s
from httpbed.model.scenario import Scenario


def seconds(control: str = "reno", version: str = "2", **said: str) -> float:
    """Expect 10 MB over 10 Mbit/s with changes of the link or the workload."""
    link = {"rate": "10 Mbit/s", "delay": "0 ms", "loss": "0 %"}
    link |= {name: value for name, value in said.items() if name in link}
    scenario = Scenario.model_validate(
        {
            "topology": {
                "hosts": ["client", "server"],
                "links": [{"between": ["client", "server"], **link}],
            },
            "roles": {
                "client": {"implementation": "any", "http_version": version},
                "server": {"implementation": "any", "congestion_control": control},
            },
            "workload": {"kind": "download", "size": said.get("size", "10 MB")},
        }
    )
    return expected_s(scenario, lambda _name, _transport, said: str(said))


def test_a_clean_link_is_filled() -> None:
    """8.28 s are what full packets take."""
    assert 8.2 < seconds() - BED_S < 9.5


def test_loss_and_delay_slow_what_answers_to_loss() -> None:
    """By the models: at 4 % and 100 ms Reno needs minutes for 10 MB, BBR next to nothing more."""
    assert 60 < seconds(loss="4 %", delay="50 ms") < 240
    assert seconds("bbr", loss="4 %", delay="50 ms") < 10
    assert seconds("bbr", "3", loss="4 %", delay="50 ms") < 10
    assert 60 < seconds(version="3", loss="4 %", delay="50 ms") < 240
    assert seconds("cubic", loss="4 %", delay="50 ms") <= seconds(loss="4 %", delay="50 ms")


@pytest.mark.parametrize("change", [{"size": "20 MB"}, {"delay": "5 s"}, {"rate": "1 Mbit/s"}])
def test_more_takes_longer(change: dict[str, str]) -> None:
    """Bytes, round trips and slower links."""
    assert seconds(**change) > seconds() + 5
