from __future__ import annotations

import numpy as np
import pytest

from httpbed.addons.explain import evidence
from httpbed.addons.explain.evidence import DifferentPacketsError
from httpbed.store.packet_log import PacketLog


def link(*packets: tuple[int, int, int]) -> PacketLog:
    """Return a link's packets: when each came, when it left (-1: dropped), its bytes."""
    columns = np.array(packets, dtype=np.int64).reshape(-1, 3).T
    count = len(packets)
    none = np.zeros(count, dtype=np.int64)
    in_ns, out_ns, size = columns
    return PacketLog(in_ns, out_ns, size, none, np.arange(count), none)


def test_a_packet_is_followed_over_links_that_drop_and_reorder() -> None:
    first = link((0, 30, 100), (1, -1, 200), (2, 20, 300), (3, 40, 400))
    second = link((21, 50, 300), (31, -1, 100), (41, 60, 400))
    found = evidence.along([first, second])
    assert found.entered(0).tolist() == [0, 1, 2, 3]
    assert found.entered(1).tolist() == [31, -1, 21, 41]
    assert found.left(1).tolist() == [-1, -1, 50, 60]


def test_a_packet_that_is_under_way_at_the_end_has_not_arrived() -> None:
    found = evidence.along([link((0, 10, 100), (1, 11, 100)), link((10, 20, 100))])
    assert found.left(1).tolist() == [20, -1]


def test_one_link_is_a_path_of_its_own() -> None:
    assert evidence.along([link((0, 10, 100))]).left(0).tolist() == [10]


@pytest.mark.parametrize(
    "second", [link((10, 20, 100), (11, 21, 100)), link((10, 20, 999))], ids=["more", "another"]
)
def test_packets_that_join_the_path_are_noticed(second: PacketLog) -> None:
    with pytest.raises(DifferentPacketsError):
        evidence.along([link((0, 10, 100)), second])


def test_a_packet_that_a_link_before_drops_would_have_entered_one_way_later() -> None:
    sent, entered = np.array([0, 10, 11, 40]), np.array([50, 55, -1, -1])
    assert evidence.entries(sent, entered).tolist() == [50, 55, 56, 85]


def test_a_packet_that_is_dropped_before_does_not_enter_ahead_of_those_before_it() -> None:
    sent, entered = np.array([0, 1, 2]), np.array([10, 30, -1])
    assert evidence.entries(sent, entered).tolist() == [10, 30, 30]
    assert evidence.entries(sent[2:], entered[2:]).tolist() == [2]
