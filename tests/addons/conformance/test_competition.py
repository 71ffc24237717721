"""Reading how flows share a link from its packet log."""

from __future__ import annotations

from pathlib import Path

import pytest

from httpbed.addons.conformance import competition, networks
from httpbed.addons.conformance.networks import Beside, Network
from httpbed.addons.conformance.sender import Sender
from httpbed.experiment.kept import PACKET_LOG
from httpbed.store.packet_log import COLUMNS

SENDER = Sender("nginx", "1.1", None, "cubic", "cubic")
NETWORK = Network("one", 10_000_000, 0.04, 34, beside=(Beside(SENDER),), lasts_s=30)
MS = 10**6


def row(ms: int, direction: int) -> str:
    """Return the line of a packet that is delivered after 20 ms."""
    return f"{ms * MS}\t{(ms + 20) * MS}\t1500\t{direction}\t{ms}\tdelivered\n"


def log(folder: Path, *rows: str) -> Path:
    """Write a log."""
    path = folder / PACKET_LOG
    path.write_text("".join(["\t".join(COLUMNS), "\n", *rows]))
    return path


def test_rates_come_from_each_flows_own_link(tmp_path: Path) -> None:
    """The first flow has three packets for each packet of the second."""
    first, second = (networks.access(flow) for flow in range(2))
    rows = [row(ms, second if ms % 40 == 0 else first) for ms in range(0, 30_000, 10)]
    found = competition.load(NETWORK, log(tmp_path, *rows))
    first_bit_s, second_bit_s = found.rates_bit_s
    assert first_bit_s == pytest.approx(3 * second_bit_s, rel=0.02)


def test_a_log_without_one_of_the_flows_is_refused(tmp_path: Path) -> None:
    """The missing flow is named; its share is not 0 %."""
    only = log(tmp_path, row(0, networks.access(0)))
    with pytest.raises(ValueError, match="nothing was sent by flow 2"):
        competition.load(NETWORK, only)


def test_a_torn_packet_log_is_refused(tmp_path: Path) -> None:
    """A full disk leaves such a log."""
    torn = log(tmp_path, row(0, networks.access(0)), "12\t13\t15")
    with pytest.raises(ValueError, match="line 3 of the packet log is not a packet's line"):
        competition.load(NETWORK, torn)
