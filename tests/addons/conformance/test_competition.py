"""Reading the shares of a competition from its packet log."""

from __future__ import annotations

from pathlib import Path

import pytest

from httpbed.addons.conformance import competition, conformance_session
from httpbed.experiment.kept import PACKET_LOG
from httpbed.store.packet_log import COLUMNS

FLOWS = ("a", "b")
MS = 10**6


def row(ms: int, direction: int) -> str:
    """Return the line of a packet that is delivered after 20 ms."""
    return f"{ms * MS}\t{(ms + 20) * MS}\t1500\t{direction}\t{ms}\tdelivered\n"


def log(folder: Path, *rows: str) -> Path:
    """Write a log."""
    path = folder / PACKET_LOG
    path.write_text("".join(["\t".join(COLUMNS), "\n", *rows]))
    return path


def test_shares_come_from_each_flows_own_link(tmp_path: Path) -> None:
    """The first flow has three packets for each packet of the second."""
    first, second = (competition.access(flow) for flow in range(2))
    rows = [row(ms, second if ms % 40 == 0 else first) for ms in range(0, 30_000, 10)]
    found = conformance_session.split_of(log(tmp_path, *rows), FLOWS)
    assert found.shares == pytest.approx({"a": 0.75, "b": 0.25}, abs=0.01)


def test_a_log_without_one_of_the_flows_is_refused(tmp_path: Path) -> None:
    """The missing flow is named; its share is not 0 %."""
    only = log(tmp_path, row(0, competition.access(0)))
    with pytest.raises(ValueError, match="nothing was sent by b"):
        conformance_session.split_of(only, FLOWS)


def test_a_torn_packet_log_is_refused(tmp_path: Path) -> None:
    """A full disk leaves such a log."""
    torn = log(tmp_path, row(0, competition.access(0)), "12\t13\t15")
    with pytest.raises(ValueError, match="line 3 of the packet log is not a packet's line"):
        conformance_session.split_of(torn, FLOWS)
