"""httpbed-quiche, the real executable: its client against its own server over loopback."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from httpbed.bed.toolbox import compiled
from httpbed.trial import tls_certificates

pytestmark = [pytest.mark.toolbox, pytest.mark.slow]

URL = f"https://{tls_certificates.SERVER_NAME}"
SIZES = {"none": 0, "one": 1, "million": 1_000_000}
LIMIT_S = 60


@dataclass(frozen=True)
class Programs:
    """A folder of files and what serves them."""

    program: Path
    folder: Path
    keys: Path

    @contextmanager
    def serving(self, *words: str, listen: str = "127.0.0.1:0") -> Iterator[str]:
        """Serve the files; gives the address as ``--connect-to`` takes it."""
        keys = ("--cert", self.keys / "server.pem", "--key", self.keys / "server.key")
        files = ("--root", self.folder / "www", "--access-log", self.folder / "log")
        command: list[str | Path] = [
            self.program,
            "serve",
            *keys,
            *files,
            "--listen",
            listen,
            *words,
        ]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout
                yield json.loads(server.stdout.readline())["listen"]
            finally:
                server.terminate()

    def fetch(self, address: str, *words: str) -> tuple[int, dict[str, Any], str]:
        """Fetch; gives the exit code, the report (empty if there is none) and stderr."""
        to = ("--connect-to", f"{tls_certificates.SERVER_NAME}:443:{address}")
        command: list[str | Path] = [self.program, "--cacert", self.keys / "ca.pem", *to, *words]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=LIMIT_S)
        return done.returncode, json.loads(done.stdout or "{}"), done.stderr

    def log(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / "log").read_text().splitlines()]


@pytest.fixture
def programs(tmp_path: Path) -> Programs:
    """Make the files, and a secret beside them."""
    (tmp_path / "www").mkdir()
    (tmp_path / "secret").write_text("secret")
    for name, size in SIZES.items():
        (tmp_path / "www" / name).write_bytes(bytes(n % 251 for n in range(size)))
    return Programs(
        compiled.QUICHE.ensure(print), tmp_path, tls_certificates.ensure(datetime.now(UTC))
    )


@pytest.mark.parametrize("control", ["reno", "cubic", "bbr2_gcongestion"])
def test_bodies_come_whole(programs: Programs, control: str) -> None:
    """For every size and congestion control, the log and the client agree."""
    output = programs.folder / "million"
    urls = (f"{URL}/million", "--output", str(output), f"{URL}/none", f"{URL}/one")
    with programs.serving("--congestion-control", control) as address:
        code, report, _ = programs.fetch(address, *urls)
    assert (code, report["exit_code"], report["error"]) == (0, 0, None)
    assert (report["tls_version"], report["quic_version"]) == ("TLSv1.3", "1")
    for stream in report["streams"]:
        name = Path(stream["url"]).name
        wanted = hashlib.sha256((programs.folder / "www" / name).read_bytes()).hexdigest()
        assert (stream["status"], stream["bytes"]) == (200, SIZES[name])
        assert stream["sha256"] == (None if name == "million" else wanted)
    assert output.read_bytes() == (programs.folder / "www/million").read_bytes()
    assert {entry["path"]: entry["body_bytes"] for entry in programs.log()} == {
        f"/{name}": size for name, size in SIZES.items()
    }
    times = report["times"]
    assert 0 < times["handshake"] <= times["first_byte"] <= times["last_byte"] <= times["close"]


def test_rounds_share_a_connection(programs: Programs) -> None:
    """Over IPv4 and IPv6."""
    with programs.serving(listen="[::1]:0") as address:
        code, report, _ = programs.fetch(address, "--rounds", "3", f"{URL}/one", f"{URL}/million")
    assert code == 0
    assert [stream["round"] for stream in report["streams"]] == [1, 1, 2, 2, 3, 3]
    assert {entry["connection"] for entry in programs.log()} == {1}


def test_a_ticket_resumes_and_lets_a_request_go_early(programs: Programs) -> None:
    """The server's log agrees with the client."""
    ticket = ("--session", str(programs.folder / "ticket"))
    with programs.serving() as address:
        told = [
            programs.fetch(address, *ticket, *words, f"{URL}/one")[1]
            for words in ((), (), ("--early-data",))
        ]
    said = [(report["resumed"], report["early_data"]) for report in told]
    assert said == [(False, False), (True, False), (True, True)]
    noted = [(entry["resumed"], entry["early_data"]) for entry in programs.log()]
    assert noted == [(".", ""), ("r", ""), ("r", "1")]


def test_statuses_are_no_failures_unless_asked_for(programs: Programs) -> None:
    """Nothing outside the folder is served, not even through symbolic links."""
    (programs.folder / "www/out").symlink_to("../secret")
    urls = [f"{URL}/{path}" for path in ("nothing", "../secret", "%2e%2e/secret", "out")]
    with programs.serving() as address:
        code, report, _ = programs.fetch(address, *urls)
        assert code == 0
        assert {stream["url"]: stream["status"] for stream in report["streams"]} == dict(
            zip(urls, (404, 403, 403, 403), strict=True)
        )
        code, report, said = programs.fetch(address, "--fail", urls[0])
    assert (code, report["exit_code"]) == (22, 22)
    assert "status 404" in said


def test_an_untrusted_server_gets_no_request(programs: Programs) -> None:
    """Another authority, another name, and a file without an authority are refused."""
    other = tls_certificates._make(programs.folder, datetime.now(UTC)) / "ca.pem"
    with programs.serving() as address:
        code, report, said = programs.fetch(address, "--cacert", str(other), f"{URL}/one")
        assert code == report["exit_code"] == 60
        assert "--cacert" in said
        named = ("--connect-to", f"other.test:443:{address}", "https://other.test/one")
        assert programs.fetch(address, *named)[0] == 60
    assert programs.log() == []
    code, report, said = programs.fetch(address, "--cacert", str(programs.program), f"{URL}/one")
    assert (code, report) == (77, {})
    assert "PEM" in said


def test_mistakes_and_absences_are_named(programs: Programs) -> None:
    """Each has its own exit code, and the message names the address or the option."""
    with programs.serving() as address:
        pass
    code, report, said = programs.fetch(address, f"{URL}/one")
    assert code == report["exit_code"] == 7
    assert address in said
    code, report, said = programs.fetch(address, "https://nowhere.invalid/")
    assert (code, report) == (6, {})
    assert "nowhere.invalid" in said
    code, report, said = programs.fetch(address, "--rounds", "0", "--max-data", "x", "http://a/")
    assert (code, report) == (2, {})
    assert all(part in said for part in ("--rounds", "--max-data", "https://"))
    (programs.folder / "ticket").write_text("no ticket")
    code, _, said = programs.fetch(
        address, "--session", str(programs.folder / "ticket"), f"{URL}/one"
    )
    assert code == 26
    assert "ticket" in said


def test_the_time_limit_ends_a_fetch(programs: Programs) -> None:
    """A fetch that would take hours ends at its limit."""
    with programs.serving() as address:
        words = ("--max-time", "0.2", "--rounds", "1000000", f"{URL}/one")
        code, report, said = programs.fetch(address, *words)
    assert code == report["exit_code"] == 28
    assert "0.2 s" in said
