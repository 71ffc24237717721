"""What ``httpbed link``'s options say of the link, and what is said of wrong ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpbed.model import units
from httpbed.model.errors import ConfigError
from httpbed.model.topology import Direction
from httpbed.shell import options
from httpbed.shell.spelling import spelled


def ways(**said: str) -> tuple[Direction, Direction]:
    """Return what the options make of the link, up and down."""
    by_flag = {name.replace("_", "-"): value for name, value in said.items()}
    return options.topology(by_flag).links[0].directions()


def mistakes(**said: str) -> dict[str, str]:
    """Return the mistakes in the options: flag -> reason."""
    with pytest.raises(ConfigError) as caught:
        ways(**said)
    return {mistake.place: mistake.reason for mistake in caught.value.mistakes}


def test_no_option_is_no_impairment() -> None:
    """A link without options only carries packets."""
    up, down = ways()
    assert up == down
    assert (up.rate, up.delay, up.loss) == (None, 0, 0)


def test_an_option_holds_in_each_direction() -> None:
    """As ``up`` and ``down`` of an experiment file do."""
    up, down = ways(rate="10mbit", delay="50ms", loss="4%", queue="64KiB")
    assert up == down
    assert (up.rate, up.delay, up.loss) == (10_000_000, 0.05, 0.04)
    assert up.queue.limit[:2] == (65536, "bytes")


def test_a_way_s_own_option_sets_only_that_way() -> None:
    """And wins over the one for both."""
    up, down = ways(delay="50ms", up_delay="1ms", down_loss="2%")
    assert (up.delay, down.delay) == (0.001, 0.05)
    assert (up.loss, down.loss) == (0, 0.02)


def test_a_way_s_part_keeps_what_was_said_for_both() -> None:
    """Naming a queue's discipline for one way does not forget its size."""
    up, down = ways(queue="20p", up_discipline="droptail")
    assert up.queue == down.queue
    assert up.queue.limit[0] == 20


@pytest.mark.parametrize(
    ("kind", "shell", "file"),
    [
        ("rate", "10mbit", "10 Mbit/s"),
        ("rate", "1.5Gbit", "1.5 Gbit/s"),
        ("rate", "500kbit/s", "500 kbit/s"),
        ("rate", "10 Mbit/s", "10 Mbit/s"),
        ("duration", "50ms", "50 ms"),
        ("duration", "250usec", "250 us"),
        ("duration", "1e-3s", "1e-3 s"),
        ("share", "4%", "4 %"),
        ("amount", "1000p", "1000 packets"),
        ("amount", "64KiB", "64 KiB"),
        ("amount", "2bdp", "2 BDP"),
        ("size", "64kib", "64 KiB"),
    ],
)
def test_shells_spellings_become_the_file_s(kind: str, shell: str, file: str) -> None:
    """Both are read alike."""
    assert spelled(kind, shell) == file
    assert spelled(kind, file) == file


@pytest.mark.parametrize("text", ["10mbps", "10MB/s", "64kb", "10", "", "mbit", "0x10mbit"])
def test_what_is_ambiguous_is_not_guessed(text: str) -> None:
    """``mbps`` is megabytes to tc and megabits to others."""
    assert spelled("rate", text) == text
    assert set(mistakes(rate=text or " ")) == {"--rate"}


@given(st.integers(1_000, 10**9))
def test_every_rate_survives_its_spelling(bit_s: int) -> None:
    """Nothing is rounded between shell and model."""
    assert units.parse_rate(spelled("rate", f"{bit_s}bit")) == bit_s


def test_every_mistake_is_told_at_once_at_its_option() -> None:
    """As one wrote it, for both ways or for one."""
    found = mistakes(rate="10mbps", loss="104%", up_delay="50", queue="0p", down_delay="x")
    assert set(found) == {"--rate", "--loss", "--up-delay", "--queue", "--down-delay"}
    assert "100 %" in found["--loss"]


def test_a_way_s_mistake_is_not_the_other_s() -> None:
    """The option that is right is not blamed."""
    assert set(mistakes(queue="20p", up_discipline="red")) == {"--up-discipline"}


def test_an_option_that_only_adds_needs_the_other() -> None:
    """It would do nothing without."""
    for option in options.OPTIONS:
        if option.needs and option.kind != "flag":
            assert f"--{option.name}" in mistakes(**{option.name.replace("-", "_"): "1ms"})


def test_each_option_has_a_name_of_its_own() -> None:
    """In either way, and beside the verb's other options."""
    flags = [option.flag(way) for option in options.OPTIONS for way in ("", "up", "down")]
    assert len(flags) == len(set(flags))
