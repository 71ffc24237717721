"""The program that answers requests for a replayed site, run over loopback."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib import resources
from pathlib import Path
from typing import Any

from families import until
from httpbed.programs.shipped_programs import shipped_programs

HOST = "www.page.test"
BIG = bytes(range(256)) * 10_000


def answer(path: str, file: str, status: int = 200, **more: Any) -> dict[str, Any]:
    stated = {"host": HOST, "path": path, "file": file, "method": "GET", "status": status}
    return {**stated, "headers": [], "delay_s": 0.0, **more}


ANSWERS = [
    answer("/", "0/0", headers=[["X-One", "1"]]),
    answer("/slow", "0/0", delay_s=0.15),
    answer("/twice", "0/0"),
    answer("/twice", "0/1", 503),
    answer("/big", "0/2"),
    answer("/none", "0/3", 204, method="POST"),
]


@contextmanager
def serving(folder: Path, *, skeleton: bool = True) -> Iterator[http.client.HTTPConnection]:
    """Run the program, and end it as a trial does."""
    (folder / "0/.httpbed").mkdir(parents=True)
    bodies = {"0": b"abc", "1": b"later", "2": BIG, "3": b"", ".httpbed/prior.txt": b"."}
    for name, body in bodies.items():
        (folder / "0" / name).write_bytes(body)
    stated = {"schema": 1, "hosts": [HOST], "skeleton": skeleton, "answers": ANSWERS}
    (folder / "answers.json").write_text(json.dumps(stated))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    with resources.as_file(shipped_programs()["replay_origin.py"]) as program:
        words = [f"--site={folder}", f"--port={port}", f"--log={folder / 'log'}"]
        process = subprocess.Popen([sys.executable, str(program), *words])
    try:
        until(lambda: _answers(port))
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
            yield connection
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def requested(
    connection: http.client.HTTPConnection, path: str, method: str = "GET", **fields: str
) -> tuple[int, dict[str, str], bytes]:
    """Send a request as a server under test does."""
    connection.request(method, path, headers={"Host": HOST, **fields})
    result = connection.getresponse()
    return result.status, dict(result.getheaders()), result.read()


def log(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "log").read_text().splitlines()]


def test_responses_are_the_recorded_ones(tmp_path: Path) -> None:
    """Responses are chosen by path, in order, each with its status, head, body and delay."""
    with serving(tmp_path) as connection:
        assert requested(connection, "/") == (200, {"X-One": "1", "Content-Length": "3"}, b"abc")
        assert [requested(connection, "/twice")[0] for _ in range(3)] == [200, 503, 503]
        assert requested(connection, "/big")[2] == BIG
        assert requested(connection, "/none", "POST", **{"Content-Length": "0"})[:2] == (204, {})
        assert requested(connection, "/slow")[2] == b"abc"
        assert requested(connection, "/../secret")[0] == 404
        assert requested(connection, "/.httpbed/prior.txt")[2] == b"."
        requested(connection, "/")  # a page that requests itself repeats its last response
        assert requested(connection, "/twice")[0] == 503
    reported = log(tmp_path)
    assert [one["answer"] for one in reported] == [0, 2, 3, 3, 4, 5, 1, None, -1, 0, 3]
    slow = next(one for one in reported if one["answer"] == 1)
    assert slow["begun_ns"] - slow["requested_ns"] >= 0.15e9
    assert all(one["requested_ns"] <= one["begun_ns"] <= one["ended_ns"] for one in reported)


def test_a_skeletons_script_may_read_everything(tmp_path: Path) -> None:
    """A page's own script may read only what the recorded head permits."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with serving(tmp_path / "a") as connection:
        fields = requested(connection, "/", Origin="https://x.test")[1]
        assert fields["Access-Control-Allow-Origin"] == "https://x.test"
        assert fields["Access-Control-Allow-Credentials"] == "true"
    with serving(tmp_path / "b", skeleton=False) as connection:
        assert requested(connection, "/", Origin="https://x.test")[1].keys() == {
            "X-One",
            "Content-Length",
        }


def test_malformed_requests_end_their_connection(tmp_path: Path) -> None:
    with serving(tmp_path) as connection:
        for stated in (
            b"\r\n\r\n",
            b"GET\r\n\r\n",
            b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
            b"x" * 300_000,
        ):
            with socket.create_connection(("127.0.0.1", connection.port), 5) as odd:
                odd.sendall(stated)
        assert requested(connection, "/")[0] == 200
