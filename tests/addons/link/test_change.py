"""What a running link is asked to change, and what is said of what cannot be asked."""

from __future__ import annotations

import asyncio

import pytest

from httpbed.addons.link import link_change
from httpbed.base.errors import ConfigError


def mistakes(**said: str | bool) -> dict[str, str]:
    with pytest.raises(ConfigError) as caught:
        link_change.requested({name.replace("_", "-"): value for name, value in said.items()})
    return {mistake.place: mistake.reason for mistake in caught.value.mistakes}


def test_an_option_changes_both_directions_unless_one_has_its_own() -> None:
    """The rule is that of the options with which a link begins."""
    found = link_change.requested(
        {"delay": "50ms", "down-delay": "10ms", "up-state": "down", "ecn": False}
    )
    assert [(each.flag, dict(each.entry)) for each in found] == [
        ("--delay", {"direction": "up", "delay": "50 ms"}),
        ("--down-delay", {"direction": "down", "delay": "10 ms"}),
        ("--up-state", {"direction": "up", "state": "down"}),
    ]


def test_every_mistake_is_reported_at_its_option() -> None:
    """Wrong values are mistakes, and so are options that no running link can change."""
    found = mistakes(loss="400%", down_rate="10mbps", state="off", jitter="5ms", seed="3")
    assert set(found) == {"--loss", "--down-rate", "--state", "--jitter", "--seed"}
    assert set(mistakes()) == {"--change"}


@pytest.mark.parametrize("place", [None, "/nowhere/uplink"])
def test_a_command_without_a_link_gets_the_remedy(place: str | None) -> None:
    """The command is behind no link, or its link has ended."""
    environment = {"HTTPBED_UPLINK": place} if place else {}
    with pytest.raises(ConfigError) as caught:
        asyncio.run(link_change.request(link_change.requested({"delay": "1ms"}), environment))
    assert "httpbed link ... -- COMMAND" in str(caught.value)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        ({"rate_bit_s": 10**6}, "rate 1 Mbit/s"),
        ({"delay_ns": 25_000_000}, "delay 25 ms"),
        ({"loss": 0.04}, "loss 4 %"),
        ({"down": True}, "state down"),
        ({"down": False}, "state up"),
        ({"rebind": True}, "NAT rebound"),
    ],
)
def test_each_change_is_printed(made: dict[str, object], words: str) -> None:
    """The line names option, value and time of the change."""
    event = {"direction": 1, "at_ns": 1_234_567_890, "change": made}
    assert link_change.words(event) == f"down: {words}, 1.235 s after its start"
