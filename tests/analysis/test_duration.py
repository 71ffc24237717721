"""The time that a design takes: roughly right, and rising with what makes it longer."""

from __future__ import annotations

import pytest

from httpbed.analysis.duration import BED_S, expected_s
from httpbed.model.scenario import Scenario


def seconds(
    control: str = "reno", version: str = "2", *, retry: str = "none", **said: str
) -> float:
    """Expect 10 MB over 10 Mbit/s with changes of the link or the workload.

    With a ``retry`` the client's address changes after 5 MB.
    """
    link = {"rate": "10 Mbit/s", "delay": "0 ms", "loss": "0 %"}
    link |= {name: value for name, value in said.items() if name in link}
    changed = {
        "links": ["a", "b"],
        "kind": "address deleted",
        "when": {"delivered": "5 MB"},
    }
    scenario = Scenario.model_validate(
        {
            "topology": {
                "hosts": ["client", "router", "server"],
                "links": [
                    {"name": "a", "between": ["client", "router"], **link},
                    {"name": "b", "between": ["client", "router"], **link},
                    {"between": ["router", "server"]},
                ],
            },
            "handover": None if retry == "none" else changed,
            "roles": {
                "client": {"implementation": "any", "http_version": version, "retry": retry},
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


def test_who_starts_again_fetches_twice_what_it_had() -> None:
    """Half of the file came before the address went; who asks for the rest fetches none twice."""
    assert seconds(retry="restart") - BED_S == pytest.approx(1.5 * (seconds() - BED_S), rel=0.01)
    assert seconds(retry="resume") == pytest.approx(seconds())
