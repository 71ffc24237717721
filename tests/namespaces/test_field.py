"""Field mode against servers in a namespace that plays the Internet."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import field_internet as net
from field_internet import Internet, internet
from httpbed.base import untrusted_files
from httpbed.bed.sandbox.sandbox_spec import PartSpec, ProcessSpec, SandboxSpec
from httpbed.bed.sandbox.supervisor import sandbox
from httpbed.programs import catalog
from httpbed.trial import program_roots

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]

CANNOT_OPEN = 37
"""curl's exit code for a file that is not there."""
BRIEF = ("--pause", "500 ms", "--replicates")


@pytest.fixture
def inside(tmp_path: Path) -> Iterator[Internet]:
    """Return the namespace."""
    with internet(tmp_path) as made:
        yield made


def blocks(values: dict[str, Any]) -> list[int]:
    """Return in how many blocks each version has a time."""
    times = [one["request_time"] for one in values["versions"]]
    return [time["n"] if time else 0 for time in times]


@pytest.mark.parametrize("host", [net.GOOD, net.IPV6])
def test_each_version_is_measured_at_its_address(inside: Internet, host: str) -> None:
    """nginx offers all of them, and the header says so; each request had its version."""
    code, values = inside.compared(f"https://{host}/file", *BRIEF, "2")
    assert code == 0, values
    assert values["address"] == net.ADDRESSES[host]
    assert blocks(values) == [2, 2, 2]
    requests = values["requests"]
    assert {request["address"] for request in requests} == {net.ADDRESSES[host]}
    assert all(request["got_version"] == request["http_version"] for request in requests)
    assert {request["bytes"] for request in requests} == {net.SIZE}
    assert all(request["headers"]["alt-svc"].startswith("h3=") for request in requests)
    assert all(
        0 < request["handshake_s"] <= request["first_byte_s"] <= request["request_s"]
        for request in requests
    )
    assert len(values["round_trips_s"]) == 4


def test_the_table_states_what_is_not_controlled(inside: Internet) -> None:
    """It stands below the numbers, on stdout; progress is on stderr."""
    code, out, err = inside.compare(f"https://{net.GOOD}/file", *BRIEF, "1", "--http", "2")
    assert code == 0, err
    assert "1/1" in out
    assert "not controlled" in out
    assert "block 1 of 1" in err


def test_a_path_that_drops_udp_fails_http3_only(inside: Internet) -> None:
    """The others have numbers."""
    code, values = inside.compared(f"https://{net.NO_UDP}/file", *BRIEF, "1")
    assert code == 1
    assert blocks(values) == [1, 1, 0]
    (failed,) = [one for one in values["requests"] if one["failure"]]
    assert failed["http_version"] == "3"
    assert "UDP" in failed["failure"]


def test_a_server_of_one_version_is_not_measured_as_another(inside: Internet) -> None:
    """A request for HTTP/2 that is answered by HTTP/1.1 has failed."""
    code, values = inside.compared(f"https://{net.ODD}/x", *BRIEF, "1", "--http", "1.1,2")
    assert code == 1
    assert blocks(values) == [1, 0]


def test_a_name_that_moves_is_followed_nowhere(inside: Internet) -> None:
    """The second answer of the resolver gets no request, and the output says that it came."""
    words = ("--http", "1.1", *BRIEF, "2")
    code, values = inside.compared(f"https://{net.MOVED}/moving", *words)
    assert code == 0, values
    assert values["blocks_with_another_address"] == 2
    assert {one["address"] for one in values["requests"]} == {net.ADDRESSES[net.MOVED]}


def test_a_reset_connection_is_a_failed_request(inside: Internet) -> None:
    """No version got an answer, so nothing is measured."""
    code, values = inside.compared(f"https://{net.ODD}/reset", *BRIEF, "1", "--http", "1.1")
    assert code == 1
    assert [one["failure"] != "" for one in values["requests"]] == [True]
    assert values["ended_early"]


def test_a_server_that_asks_for_fewer_requests_gets_none(inside: Internet) -> None:
    """Status 429 ends the measurement."""
    code, values = inside.compared(f"https://{net.GOOD}/busy", *BRIEF, "3")
    assert code == 1
    assert len(values["requests"]) == 1
    assert "429" in values["ended_early"]


UNFIT = {
    f"https://{net.GOOD}/old": f"redirects (status 301) to https://{net.GOOD}/file",
    f"https://{net.GOOD}/none": "status 404",
    f"https://{net.GOOD}/large": "is longer than",
    f"https://{net.ODD}/endless": "or has no end",
    f"https://{net.METADATA}/": "metadata",
    f"https://{net.OWN}/file": "--i-own-this",
    "https://none.field.example/": "cannot be resolved",
}


def test_an_unfit_target_is_refused(inside: Internet) -> None:
    """The exit code is that of bad input, and nothing is on stdout."""
    for url, reason in UNFIT.items():
        code, out, err = inside.compare(url, *BRIEF, "1", "--http", "1.1")
        assert (code, out) == (2, ""), url
        assert reason in err
        assert "Traceback" not in err


def test_the_users_own_server_may_be_on_loopback(inside: Internet) -> None:
    """It gets requests without a pause."""
    words = ("--i-own-this", "--http", "2", "--pause", "0 s", "--replicates", "10")
    code, values = inside.compared(f"https://{net.OWN}/file", *words)
    assert code == 0, values
    assert blocks(values) == [10]


def test_an_unknown_authority_fails_every_request(inside: Internet) -> None:
    """Certificates are always checked: this machine's authorities did not sign these."""
    words = (f"https://{net.GOOD}/file", "--http", "2", *BRIEF, "1", "--json")
    code, out, err = inside.compare(*words, trusting=False)
    assert code == 1, err
    assert "certificate" in out


async def _curl(folder: Path, *words: str) -> tuple[int | None, str]:
    """Run curl in a sandbox that stays in this machine's network; return status and output."""
    programs = program_roots.ensure(catalog.load(), ["curl"], say=print)
    part = programs.part(PartSpec("curl", folders={"curl": 2**20}, processes=16))
    spec = SandboxSpec(
        scratch=folder,
        trial=None,
        roots=programs.roots(),
        shared={},
        programs={},
        hosts={},
        sysctls={},
        tmpfs_bytes=2**24,
        parts={"curl": part},
        keeps_network=True,
    )
    async with sandbox(spec) as supervisor:
        argv = ("curl", "--silent", "--show-error", *words)
        asked = ProcessSpec(argv, root="curl", part="curl", stderr="curl/errors.txt", timeout_s=20)
        ended = await supervisor.run(asked)
        return ended.status, untrusted_files.text(supervisor.folder / "curl/errors.txt")


def test_in_this_machines_network_no_program_of_the_user_is_reached(tmp_path: Path) -> None:
    """Abstract UNIX sockets are in that network, and the filter refuses sockets of their family."""
    name = f"httpbed-{tmp_path.name}-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0{name}")
        server.listen()
        server.setblocking(False)
        words = ("--abstract-unix-socket", name, "http://a.example/")
        status, error = asyncio.run(_curl(tmp_path, *words))
        assert status != 0, error
        with pytest.raises(BlockingIOError):
            server.accept()


def test_in_this_machines_network_a_program_sees_no_file_of_the_user(tmp_path: Path) -> None:
    """It has the root filesystem of a part."""
    folder, secret = tmp_path / "scratch", tmp_path / "secret"
    folder.mkdir()
    secret.write_text("secret")
    tmp_path.chmod(0o755)
    status, error = asyncio.run(_curl(folder, f"file://{secret}"))
    assert status == CANNOT_OPEN, error
