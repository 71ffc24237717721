"""Connections end at a driver's request; an invalid request does nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from httpbed.trial.run import disconnection


def test_only_the_sockets_of_the_ports_are_ended() -> None:
    """On the client's host."""
    spec = disconnection.ending("client", "udp", [5000, 5001])
    assert spec.host == "client"
    assert spec.part is None
    assert spec.argv[-9:] == ("(", "sport", "=", ":5000", "or", "sport", "=", ":5001", ")")


@pytest.mark.parametrize(
    "said",
    [
        "",
        "5",
        "[]",
        "[" * 10**5,
        "{}",
        json.dumps({"transport": "tcp", "ports": []}),
        json.dumps({"transport": "tcp", "ports": [0]}),
        json.dumps({"transport": "tcp", "ports": [True]}),
        json.dumps({"transport": "tcp", "ports": ["443 or state all"]}),
        json.dumps({"transport": "tcp", "ports": 5}),
        json.dumps({"transport": "raw", "ports": [5]}),
        json.dumps({"transport": "tcp", "ports": [5] * 129}),
        json.dumps({"transport": "tcp", "ports": [5]}) + " " * 5000,
    ],
)
def test_an_invalid_request_is_ignored(tmp_path: Path, said: str) -> None:
    """The driver gets no answer."""
    file = tmp_path / "disconnect-0.json"
    file.write_text(said)
    assert disconnection._command(file, "client") is None


def test_a_request_file_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    """Whatever it leads to."""
    (tmp_path / "other").write_text(json.dumps({"transport": "tcp", "ports": [5]}))
    (tmp_path / "disconnect-0.json").symlink_to("other")
    assert disconnection._command(tmp_path / "disconnect-0.json", "client") is None
    assert disconnection._command(tmp_path / "other", "client") is not None
