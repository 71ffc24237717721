"""httpbed's programs on the stacks of others, the real executables, over loopback.

They have the same options, print the same lines, and write the same access log.
"""

from __future__ import annotations

import hashlib
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from httpbed.bed.toolbox import compiled
from httpbed.bed.toolbox.compiled import Compiled
from httpbed.programs import parsers
from httpbed.programs.part import ProgramReport
from httpbed.trial import tls_certificates

pytestmark = [pytest.mark.toolbox, pytest.mark.slow]

VERSIONS: dict[Compiled, tuple[str, ...]] = {
    compiled.GO: ("1.1", "2", "3"),
    compiled.QUINN: ("3",),
    compiled.MSQUIC: ("3",),
    compiled.TQUIC: ("3",),
}
EVERY = [(program, version) for program, several in VERSIONS.items() for version in several]
each_version = pytest.mark.parametrize(
    ("program", "version"), EVERY, ids=[f"{program.name}-{version}" for program, version in EVERY]
)
SIZES = {"none": 0, "one": 1, "million": 1_000_000}
LIMIT_S = 60


@dataclass(frozen=True)
class Stack:
    """An executable, a folder of files, and a server's keys."""

    program: Path
    client: Path
    folder: Path
    keys: Path
    version: str

    @contextmanager
    def serving(self) -> Iterator[str]:
        """Serve the files; gives address and port."""
        with socket.socket() as chosen:
            chosen.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{chosen.getsockname()[1]}"
        words = (
            f"--certificate={self.keys}/server.pem",
            f"--key={self.keys}/server.key",
            f"--content={self.folder}/www",
            f"--log={self.folder}/log",
            f"--address={address}",
        )
        with subprocess.Popen([self.program, "serve", *words]) as server:
            try:
                _wait_for_udp(int(address.rpartition(":")[2]), server)
                yield address
            finally:
                server.terminate()

    def get(
        self, address: str, *words: str, name: str = tls_certificates.SERVER_NAME
    ) -> tuple[int, ProgramReport]:
        """Fetch; gives the exit code, and what the client's lines say."""
        to = (f"--server={address}", f"--server-name={name}", f"--ca={self.keys}/ca.pem")
        command: list[str | Path] = [self.client, "get", f"--http={self.version}", *to, *words]
        with (self.folder / "lines").open("w") as lines:
            done = subprocess.run(command, check=False, stdout=lines, timeout=LIMIT_S)
        return done.returncode, parsers.read("requests-json", self.folder / "lines")

    def log(self) -> ProgramReport:
        return parsers.read("access-log-json", self.folder / "log")

    def request(self, name: str) -> str:
        return f"/{name}={self.folder}/got-{name.replace('/', '-')}"


def _wait_for_udp(port: int, server: subprocess.Popen[Any]) -> None:
    """Wait until a socket listens, which the kernel's tables show."""
    over = time.monotonic() + LIMIT_S
    tables = [Path("/proc/net/udp"), Path("/proc/net/udp6")]
    while not any(f":{port:04X} " in table.read_text() for table in tables):
        assert server.poll() is None
        assert time.monotonic() < over
        time.sleep(0.01)


@pytest.fixture
def stack(tmp_path: Path, program: Compiled, version: str) -> Stack:
    """Make the files, and a secret beside them."""
    (tmp_path / "www").mkdir()
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "www/out").symlink_to("../secret")
    for name, size in SIZES.items():
        (tmp_path / "www" / name).write_bytes(bytes(n % 251 for n in range(size)))
    keys = tls_certificates.ensure(datetime.now(UTC))
    # msquic's client finds a server by its name alone, and on loopback it has none.
    client = compiled.QUINN if program is compiled.MSQUIC else program
    return Stack(program.ensure(print), client.ensure(print), tmp_path, keys, version)


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


@each_version
def test_bodies_come_whole_over_one_connection(stack: Stack) -> None:
    """In two rounds of several files; the log and the client agree."""
    with stack.serving() as address:
        code, report = stack.get(address, "--rounds=2", *map(stack.request, SIZES))
    assert (code, report.complaint) == (0, "")
    for name in SIZES:
        assert digest(stack.folder / f"got-{name}") == digest(stack.folder / "www" / name)
    for requests in (report.requests, stack.log().requests):
        assert sorted((request.path, request.body_bytes) for request in requests) == sorted(
            (f"/{name}", size) for name, size in SIZES.items() for _ in range(2)
        )
        assert {request.status for request in requests} == {200}
        assert {request.http_version for request in requests} == {stack.version}
        assert {request.tls_version for request in requests} == {"TLSv1.3"}
        assert len({request.connection for request in requests}) == 1
    observed = {observation.metric: observation.value for observation in report.observations}
    assert 0 < observed["client_handshake_time"] <= observed["time_to_first_byte"]
    assert observed["time_to_first_byte"] <= observed["client_total_time"]


@pytest.mark.parametrize(
    ("program", "version"), [(compiled.GO, version) for version in ["1.1", "2", "3"]]
)
def test_a_prior_visits_ticket_resumes(stack: Stack) -> None:
    """The log agrees; over HTTP/3 a request may be early data."""
    session = f"--session={stack.folder}/session"
    kinds = ["resumed", *(["early-data"] if stack.version == "3" else [])]
    with stack.serving() as address:
        prior = stack.get(
            address, "--resumption=resumed", "--visit=prior", session, "/one=/dev/null"
        )
        later = [
            stack.get(address, f"--resumption={kind}", session, "/one=/dev/null") for kind in kinds
        ]
    assert prior[0] == 0
    wanted = [(False, False), *((True, kind == "early-data") for kind in kinds)]
    told = [report.requests[0] for _, report in (prior, *later)]
    assert [(request.resumed, request.early_data) for request in told] == wanted
    logged = stack.log().requests
    assert [request.resumed for request in logged] == [resumed for resumed, _ in wanted]
    # A busy server may begin to answer early data when the handshake is over; its log has no word.
    for one, (_, early) in zip(logged, wanted, strict=True):
        assert one.early_data in ({True, None} if early else {False})


@each_version
def test_only_files_of_the_folder_are_served(stack: Stack) -> None:
    """Not its parent's, not through symbolic links, no folders; a status is no failure."""
    names = ("missing", "../secret", "%2e%2e/secret", "out", "")
    with stack.serving() as address:
        code, report = stack.get(address, *map(stack.request, names))
    assert code == 0
    assert [request.status for request in report.requests] == [404] * len(names)


@each_version
def test_an_untrusted_server_gets_no_request(stack: Stack) -> None:
    """A certificate with another name is an error, which the client's last line states."""
    with stack.serving() as address:
        code, report = stack.get(address, stack.request("one"), name="other.test")
    assert code == 1
    assert report.complaint
    assert stack.log().requests == ()


@each_version
def test_no_server_is_an_error(stack: Stack) -> None:
    """A file that cannot be written is one, too."""
    with stack.serving() as address:
        code, report = stack.get(address, "/one=/nowhere/one")
    assert (code, bool(report.complaint)) == (1, True)
