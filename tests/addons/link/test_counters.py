"""What people see of a link's counters: the table at the end, the line meanwhile."""

from __future__ import annotations

from typing import Any

import pytest

from httpbed.addons.link import link_output


def way(to: str, **counts: int) -> dict[str, Any]:
    """Make one direction of a result, as the emulator tells it."""
    packets = {"in": 100, "delivered": 96, "lost": 4, "queue_dropped": 0, "in_flight": 0}
    sizes = {name: 1000 * count for name, count in (packets | counts).items()}
    return {
        "to": to,
        "packets": packets | counts,
        "bytes": sizes,
        "queue_packets_max": 12,
        "utilisation": 0.5,
    }


def result(*ways: dict[str, Any], late: int = 5) -> dict[str, Any]:
    """Make a result."""
    lateness = {"count": late, "p50": 40_000, "p99": 150_000, "max": 200_000}
    return {
        "directions": list(ways),
        "lateness_ns": lateness,
        "socket_drops": 0,
        "send_failures": 0,
    }


def test_the_table_has_a_column_for_each_way() -> None:
    """The way up comes first, whatever the emulator's order."""
    one = {"queue_packets_max": 1}
    said = result(
        way("command", delivered=100, lost=0) | one, way("far", in_flight=2, delivered=94)
    )
    assert link_output.table(said).splitlines() == [
        "httpbed link                      up                 down",
        "  sent           100 packets, 100 kB  100 packets, 100 kB",
        "  delivered        94 packets, 94 kB  100 packets, 100 kB",
        "  lost                    4 (4.00 %)                    0",
        "  on the way                       2                    0",
        "  largest queue           12 packets             1 packet",
        "  utilisation                50.00 %              50.00 %",
        "  emulator late: p50 40 us, p99 150 us, max 200 us",
    ]


def test_unusual_counters_are_printed_if_there_are_any() -> None:
    """A link without such frames has no line for them."""
    calm = result(way("far"), way("command")) | {"stray_frames": 0, "malformed_packets": 0}
    assert "odd" not in link_output.table(calm)
    told = link_output.table(calm | {"stray_frames": 3, "oversize_frames": 2})
    assert "  odd: 3 stray frames, 2 oversize frames" in told.splitlines()


def test_only_causes_that_were_there_have_a_row() -> None:
    """A calm table for a calm link; nothing that happened is left out."""
    calm = link_output.table(result(way("far"), way("command")))
    assert "queue full" not in calm
    busy = way("far", queue_dropped=7, aqm_dropped=2, down_dropped=1, nat_dropped=4) | {"marked": 5}
    told = link_output.table(result(busy, way("command")))
    for words in ("queue full", "by AQM", "link down", "no mapping", "marked"):
        assert words in told


def test_packets_that_the_machine_could_not_handle_are_reported() -> None:
    """Without the warning the counters would look complete."""
    said = result(way("far"), way("command")) | {"socket_drops": 3}
    assert "3 packets were beyond this machine" in link_output.table(said)


def test_the_meter_tells_what_passed_since_the_last_line() -> None:
    """Rates are of the time between, losses and the queue of now."""
    live = link_output.Meter()
    first = {"at_ns": 0, "directions": [way("far", delivered=0), way("command", delivered=0)]}
    later = {
        "at_ns": 500_000_000,
        "directions": [way("far", delivered=50, in_flight=3), way("command", delivered=0)],
    }
    assert not live.line(first)
    line = live.line(later)
    assert "up   800 kbit/s, 3 on the way, 4 lost" in line
    assert "down      0 bit/s" in line
    assert not live.line(later)


@pytest.mark.parametrize("wanted", [True, False])
def test_the_meter_obeys(wanted: bool) -> None:
    """Whatever the streams are."""
    assert (
        link_output.meter_is_shown(wanted=wanted, stdin=True, stdout=True, stderr=False) is wanted
    )


@pytest.mark.parametrize(
    ("stdin", "stdout", "stderr", "shown"),
    [(1, 1, 1, 0), (0, 1, 1, 1), (1, 0, 1, 1), (0, 0, 1, 1), (0, 0, 0, 0), (1, 1, 0, 0)],
)
def test_the_meter_leaves_the_terminal_to_who_may_be_interactive(
    stdin: int, stdout: int, stderr: int, shown: int
) -> None:
    """A command that reads from and writes to the terminal is left alone with it."""
    streams = {"stdin": bool(stdin), "stdout": bool(stdout), "stderr": bool(stderr)}
    assert link_output.meter_is_shown(wanted=None, **streams) is bool(shown)
