"""Where hosts are drawn: a row as before, branches in columns."""

from __future__ import annotations

import pytest

from httpbed.report import layout

ROW = [("client", "proxy"), ("proxy", "server")]
BELL = [("client", "left"), ("rival", "left"), ("left", "right"), ("right", "server")]


@pytest.mark.parametrize(
    ("links", "clients", "places"),
    [
        (ROW, ["client"], {"client": (0, 0.0), "proxy": (1, 0.0), "server": (2, 0.0)}),
        (
            [*ROW, ("proxy", "server2")],
            ["client"],
            {"client": (0, 0.5), "proxy": (1, 0.5), "server": (2, 0.0), "server2": (2, 1.0)},
        ),
        (
            BELL,
            ["client", "rival"],
            {
                "client": (0, 0.0),
                "rival": (0, 1.0),
                "left": (1, 0.5),
                "right": (2, 0.5),
                "server": (3, 0.5),
            },
        ),
        (ROW, [], {"client": (0, 0.0), "proxy": (1, 0.0), "server": (2, 0.0)}),
    ],
)
def test_hosts_stand_by_their_distance_from_a_client(
    links: list[tuple[str, str]], clients: list[str], places: dict[str, tuple[int, float]]
) -> None:
    """No two in one place; what is shorter than the tallest column is in its middle."""
    assert layout.places(list(places), links, clients) == places
