"""What a proxy waits for: curl fetched 120 kB over HTTP/2 by Envoy from nginx, in virtual time.

The way to the server takes 20 ms, and the queue of 8 packets before it dropped five.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from httpbed.addons.explain.division import divide
from httpbed.addons.explain.explanation import Explained, Place, Remains, of_attempt
from httpbed.addons.explain.periods import Division
from httpbed.addons.explain.transfer import Span, Transfer
from httpbed.programs import catalog
from recorded import unpacked
from window_sender import MS, WindowSender

DOWNLOAD = "downloads/behind-a-proxy-h2"
CATALOG = catalog.load()


def details(division: Division) -> Counter[str]:
    """Return the ns of the server's turn by what the proxy's connections did."""
    costs = Counter[str]()
    for period in division.periods:
        if period.cause == "server":
            costs[period.detail] += period.lasts
    return costs


def explained(folder: Path) -> Explained:
    described = unpacked(DOWNLOAD, folder)
    place = Place(1, "t", {}, 1)
    one = of_attempt(Remains(place, folder, described, "virtual", CATALOG, "completed", None))
    assert isinstance(one, Explained)
    return one


def test_the_time_of_a_proxy_that_has_nothing_to_send_is_told_apart(tmp_path: Path) -> None:
    found = details(explained(tmp_path).division)
    assert found["set-up"] == pytest.approx(80 * MS, abs=5 * MS)  # TCP's round trip, and TLS's
    assert found["under way"] > 0
    # A dropped packet takes a round trip to come again.
    assert found["held back"] > 40 * MS


def test_what_a_proxy_waits_for_is_said_and_changes_no_cause(tmp_path: Path) -> None:
    one = explained(tmp_path)
    without = divide(replace(one.transfer, behind_proxy={}))
    assert one.division.costs() == without.costs()
    assert one.division.forces() == without.forces()
    (sentence,) = (text for text in one.sentences() if text.startswith("Server cost most"))
    assert "lost packets" in sentence


def starved() -> Transfer:
    """Return a transfer whose sender has its second half 500 ms later."""
    return WindowSender(100, lambda _: 100, available={50: 500 * MS}).transfer()


def with_holes(transfer: Transfer, *holes: Span) -> Transfer:
    return replace(transfer, behind_proxy={"held back": holes})


def test_only_a_time_with_nothing_to_send_is_told_apart() -> None:
    transfer = starved()
    plain = divide(transfer)
    (waited,) = (one for one in plain.periods if one.cause == "server" and one.lasts > 300 * MS)
    inside = waited.begin + 10 * MS, waited.end - 10 * MS
    found = details(divide(with_holes(transfer, (0, 10 * MS), inside)))
    assert found["held back"] == inside[1] - inside[0]
    assert found.total() == details(plain).total()


def test_a_hole_explains_more_than_data_that_is_under_way() -> None:
    transfer = starved()
    everything = [(0, transfer.ended)]
    both = replace(transfer, behind_proxy={"under way": everything, "held back": everything})
    assert set(details(divide(both))) == {"held back"}


def test_a_proxy_far_from_the_narrowest_link_waits_one_way_earlier() -> None:
    near = starved()
    way = 5 * MS
    data = near.data
    far = replace(near, data=replace(data, sent=np.asarray(data.sent - way)))
    (waited,) = (
        one for one in divide(near).periods if one.cause == "server" and one.lasts > 300 * MS
    )
    hole = waited.begin + 50 * MS, waited.end - 50 * MS
    periods = divide(with_holes(far, (hole[0] - way, hole[1] - way))).periods
    assert [(one.begin, one.end) for one in periods if one.detail] == [hole]
