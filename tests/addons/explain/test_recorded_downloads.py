"""What real downloads over several links left, in virtual time: the time is divided as it passed.

curl fetched files over HTTP/2. The captures have headers alone.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from httpbed.addons.explain.division import divide
from httpbed.addons.explain.explanation import Explained, Place, Remains, of_attempt
from httpbed.programs import catalog
from recorded import unpacked

BEHIND_A_PROXY = "behind-a-proxy-h2"
"""120 kB by Envoy from nginx, 20 ms behind it; the queue of 8 packets there dropped five."""
TWO_LINKS = "two-links-h2"
"""60 kB over two links of 10 Mbit/s; the client's has a delay of 50 ms."""
MS = 1_000_000


def explained(name: str, folder: Path) -> Explained:
    described = unpacked(f"downloads/{name}", folder)
    left = Remains(
        Place(1, "t", {}, 1), folder, described, "virtual", catalog.load(), "completed", None
    )
    one = of_attempt(left)
    assert isinstance(one, Explained)
    return one


def test_the_wait_of_a_proxy_is_told_apart(tmp_path: Path) -> None:
    found = Counter[str]()
    for period in explained(BEHIND_A_PROXY, tmp_path).division.periods:
        if period.cause == "server":
            found[period.detail] += period.lasts
    assert found["set-up"] == pytest.approx(80 * MS, abs=5 * MS)  # a round trip of TCP, one of TLS
    assert found["under way"] > 0
    assert found["held back"] > 40 * MS  # a dropped packet takes a round trip to come again


def test_what_a_proxy_waits_for_is_said_and_changes_no_cause(tmp_path: Path) -> None:
    one = explained(BEHIND_A_PROXY, tmp_path)
    without = divide(replace(one.transfer, behind_proxy={}))
    assert one.division.costs() == without.costs()
    assert one.division.forces() == without.forces()
    assert one.division.seen("server") == without.seen("server") < without.costs()["server"]
    (sentence,) = (text for text in one.sentences() if text.startswith("Server cost most"))
    assert "lost or late packets" in sentence


def test_time_begins_where_the_client_sends_and_not_at_the_narrowest_link(tmp_path: Path) -> None:
    """The way of the request and that of the last data are the path's, and curl closes at once."""
    costs = explained(TWO_LINKS, tmp_path).division.costs()
    assert costs["path"] == pytest.approx(100 * MS, abs=5 * MS)
    assert costs["client"] + costs["server"] < MS
