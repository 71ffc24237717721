"""The time that a design takes: roughly right, and rising with what makes it longer."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

import pytest

from httpbed.experiment.scenario import Scenario
from httpbed.results.duration import BED_S, expected_s

CHANGED = {
    "links": ["a", "b"],
    "kind": "address deleted",
    "when": {"delivered": "5 MB"},
    "sockets": "destroyed",
}


def seconds(
    control: str = "reno",
    version: str = "2",
    *,
    retry: str = "none",
    handover: Mapping[str, object] | None = None,
    notices_s: float = inf,
    **text: str,
) -> float:
    """Expect 10 MB over 10 Mbit/s with changes of the link, the workload or the address.

    When nobody tells the client that its address is gone, it ``notices`` after so long.
    """
    link = {"rate": "10 Mbit/s", "delay": "0 ms", "loss": "0 %"}
    link |= {name: value for name, value in text.items() if name in link}
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
            "handover": handover,
            "roles": {
                "client": {"implementation": "any", "http_version": version, "retry": retry},
                "server": {"implementation": "any", "congestion_control": control},
            },
            "workload": {"kind": "download", "size": text.get("size", "10 MB")},
        }
    )
    return expected_s(scenario, lambda _name, _quic, text: str(text), lambda *_: notices_s)


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
    assert seconds(handover=None, notices_s=inf, **change) > seconds() + 5


def test_who_starts_again_fetches_twice_what_it_had() -> None:
    """Half of the file came before the address went; who asks for the rest fetches none twice."""
    again = seconds(retry="restart", handover=CHANGED)
    assert again - BED_S == pytest.approx(1.5 * (seconds() - BED_S), rel=0.01)
    assert seconds(retry="resume", handover=CHANGED) == pytest.approx(seconds())
    often = CHANGED | {"when": {"every": "1 s"}}
    assert seconds(retry="restart", handover=often) == inf
    assert seconds(retry="resume", handover=often) == pytest.approx(seconds())
    late = CHANGED | {"when": {"every": "60 s"}}
    assert seconds(retry="restart", handover=late) == pytest.approx(seconds())


@pytest.mark.parametrize(
    ("kind", "tcp_s", "quic_s"),
    [
        ("address deleted", 20, 20),
        ("blackhole", inf, inf),
        ("route", 0, 0),
        ("NAT rebinding", 0, 0),
    ],
)
def test_whom_nobody_tells_waits(kind: str, tcp_s: float, quic_s: float) -> None:
    """Until it notices; on a link that drops everything, for ever."""
    untold = CHANGED | {"kind": kind, "sockets": "kept"}
    for version, added_s in [("2", tcp_s), ("3", quic_s)]:
        found = seconds(version=version, retry="resume", handover=untold, notices_s=20)
        assert found == pytest.approx(seconds(version=version) + added_s)


def test_a_link_that_works_again_holds_nobody_for_ever() -> None:
    """Of two that take turns."""
    turns = {"links": ["a", "b"], "kind": "blackhole", "when": {"every": "1 s"}}
    assert seconds(handover=turns) < inf
