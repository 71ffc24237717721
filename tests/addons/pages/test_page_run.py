"""Connections end at a driver's request; an invalid request does nothing."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, cast

import pytest

from httpbed.addons.pages import page_run
from httpbed.bed.sandbox.sandbox_spec import ProcessSpec


def test_only_the_sockets_of_the_ports_are_ended() -> None:
    """On the client's host."""
    spec = page_run.ending("client", "udp", [5000, 5001])
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
    assert page_run._command(file, "client") is None


def test_a_driver_is_answered_a_bounded_number_of_times(tmp_path: Path) -> None:
    """Whatever another driver does."""
    asks = json.dumps({"transport": "tcp", "ports": [5]})
    for name in ("greedy", "quiet"):
        (tmp_path / name).mkdir()
    for number in range(2 * page_run.MAX_TIMES):
        (tmp_path / f"greedy/disconnect-{number}.json").write_text(asks)
    served = list[ProcessSpec]()

    class Supervisor:
        folder = tmp_path

        async def run(self, spec: ProcessSpec) -> None:
            served.append(spec)

        async def write(self, *_: str | None) -> None:
            """Answer the driver."""

    drivers = {name: ProcessSpec(("driver",), host="client") for name in ("greedy", "quiet")}

    async def run() -> None:
        ended = asyncio.Event()
        ending = page_run.end_connections(cast("Any", Supervisor()), drivers, ended)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(ending, 30 * page_run.LOOK_S)

    asyncio.run(run())
    assert len(served) == page_run.MAX_TIMES


def test_a_request_file_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    """Whatever it leads to."""
    (tmp_path / "other").write_text(json.dumps({"transport": "tcp", "ports": [5]}))
    (tmp_path / "disconnect-0.json").symlink_to("other")
    assert page_run._command(tmp_path / "disconnect-0.json", "client") is None
    assert page_run._command(tmp_path / "other", "client") is not None
