"""What a driver asks for is ended; what means nothing is not done."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from httpbed.trial.run import disconnection


def test_the_sockets_of_the_ports_are_ended() -> None:
    """On the client's host, by the kernel, and no others."""
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
def test_what_means_nothing_is_not_done(tmp_path: Path, said: str) -> None:
    """The driver is then not answered, and says so."""
    file = tmp_path / "disconnect-0.json"
    file.write_text(said)
    assert disconnection._command(file, "client") is None


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """Whatever it leads to."""
    (tmp_path / "other").write_text(json.dumps({"transport": "tcp", "ports": [5]}))
    (tmp_path / "disconnect-0.json").symlink_to("other")
    assert disconnection._command(tmp_path / "disconnect-0.json", "client") is None
    assert disconnection._command(tmp_path / "other", "client") is not None
