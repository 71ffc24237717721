"""The server of the live page: who may ask, for what, and what it answers."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import re
import socket
from collections.abc import Iterator, Mapping
from http.client import HTTPConnection, HTTPException, HTTPResponse
from pathlib import Path

import pytest

from families import until
from httpbed.addons.live import serve_option, server
from httpbed.addons.live.server import StatusServer
from httpbed.base.errors import ConfigError
from httpbed.report import templating

WORD = "a-secret"
STATUS = {"question": "<script>alert(1)</script>\x1b\u202e", "ended": 1}


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with serve_option.listen(0) as made:
        yield made


@pytest.fixture
def serving(listening: socket.socket) -> Iterator[StatusServer]:
    with server.serving(listening, WORD) as made:
        made.show(STATUS)
        yield made


def ask(
    serving: StatusServer, path: str, method: str = "GET", headers: Mapping[str, str] | None = None
) -> tuple[HTTPResponse, bytes]:
    """Send a request; return the answer and its body."""
    connection = HTTPConnection("127.0.0.1", serving.socket.getsockname()[1], timeout=20)
    connection.request(method, f"/{WORD}{path}", headers={"Connection": "close", **(headers or {})})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


def port(serving: StatusServer) -> int:
    return int(serving.socket.getsockname()[1])


def test_the_page_has_one_script_and_one_style_that_the_policy_names(serving: StatusServer) -> None:
    """By their digests; and nothing else may run, load, frame or be sent elsewhere."""
    answer, body = ask(serving, "/")
    policy = answer.headers["Content-Security-Policy"]
    for element, rule in (("script", "script-src"), ("style", "style-src")):
        (text,) = re.findall(rf"<{element}>(.*?)</{element}>".encode(), body, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text).digest()).decode()
        assert f"{rule} 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none'; ")
    for rule in ("connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"):
        assert rule in policy
    assert b"http://" not in body.replace(b"http://www.w3.org/2000/svg", b"")
    assert b"https://" not in body


@pytest.mark.parametrize("path", ["/", "/status.json", "/nothing"])
def test_every_answer_has_the_policy_and_may_not_be_guessed(
    serving: StatusServer, path: str
) -> None:
    """The status, too: a browser may be led to it."""
    answer, _ = ask(serving, path)
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "Access-Control-Allow-Origin" not in answer.headers


@pytest.mark.parametrize(
    "name",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "localhost.evil.example:{port}",
        "[::1]:{port}",
        "",
    ],
)
def test_a_request_for_another_host_is_refused(serving: StatusServer, name: str) -> None:
    """A foreign name that was given the loopback address reads nothing."""
    for path in ("/", "/status.json"):
        answer, body = ask(serving, path, headers={"Host": name.format(port=port(serving))})
        assert (answer.status, body) == (421, b"wrong host\n")


def test_two_hosts_are_refused(serving: StatusServer) -> None:
    """Even if one of them is right."""
    host = f"127.0.0.1:{port(serving)}"
    with socket.create_connection(("127.0.0.1", port(serving))) as client:
        client.sendall(
            f"GET /{WORD}/status.json HTTP/1.1\r\nHost: {host}\r\nHost: evil\r\n"
            "Connection: close\r\n\r\n".encode()
        )
        assert client.makefile("rb").readline().split()[1] == b"421"


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_the_own_names_are_answered(serving: StatusServer, name: str) -> None:
    """As a browser writes them, with the port."""
    answer, _ = ask(serving, "/status.json", headers={"Host": f"{name}:{port(serving)}"})
    assert answer.status == 200


@pytest.mark.parametrize(
    "path", ["/", "/status.json", "/a-secre/", "/a-secret", "/a-secreT/", "/\xff/"]
)
def test_other_users_of_the_machine_are_refused(serving: StatusServer, path: str) -> None:
    """They reach the port, and do not know the address; no answer names it."""
    with socket.create_connection(("127.0.0.1", port(serving))) as client:
        host = f"127.0.0.1:{port(serving)}"
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode("latin-1"))
        answer = client.makefile("rb").read()
    assert answer.split()[1] == b"403"
    assert WORD.encode() not in answer
    assert b"question" not in answer


def test_the_secret_is_long_and_in_no_command_line() -> None:
    """Other users can read the arguments of processes."""
    one, other = serve_option.new_secret(), serve_option.new_secret()
    assert one != other
    assert min(len(one), len(other)) >= 22


def test_a_long_request_is_read_to_its_bound_only(serving: StatusServer) -> None:
    """The server closes, whatever else is sent."""
    with socket.create_connection(("127.0.0.1", port(serving)), timeout=60) as client:
        client.sendall(f"GET /{WORD}/ HTTP/1.1\r\n".encode())
        with contextlib.suppress(ConnectionError):
            for _ in range(10_000):
                client.sendall(b"X-Long: " + b"a" * 2000 + b"\r\n")
        with contextlib.suppress(ConnectionError):
            assert b" 200 " not in client.makefile("rb").read()


def test_a_slow_request_ends(serving: StatusServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte at a time keeps no thread for longer than a connection may last."""
    monkeypatch.setattr(server, "CONNECTION_S", 0.3)
    with socket.create_connection(("127.0.0.1", port(serving)), timeout=60) as client:
        client.settimeout(0.02)
        for _ in range(3000):
            with contextlib.suppress(TimeoutError):
                if not client.recv(1000):
                    return
            with contextlib.suppress(ConnectionError):
                client.sendall(b"G")
    pytest.fail("the server still listens to it")


def test_idle_clients_take_few_threads(serving: StatusServer) -> None:
    """Connections beyond the bound are closed at once, and the server answers afterwards."""
    idle = [
        socket.create_connection(("127.0.0.1", port(serving)), timeout=60)
        for _ in range(server.MAX_CONNECTIONS + 1)
    ]
    assert idle[-1].recv(1) == b""
    for one in idle:
        one.close()
    until(lambda: _answers(serving))


def _answers(serving: StatusServer) -> bool:
    with contextlib.suppress(OSError, HTTPException):
        return ask(serving, "/status.json")[0].status == 200
    return False


def test_an_unchanged_status_has_no_body(serving: StatusServer) -> None:
    """The browser has it already; a changed one is sent."""
    answer, body = ask(serving, "/status.json")
    assert (answer.status, body[:1]) == (200, b"{")
    known = {"If-None-Match": answer.headers["ETag"]}
    again, nothing = ask(serving, "/status.json", headers=known)
    assert (again.status, nothing) == (304, b"")
    serving.show({**STATUS, "ended": 2})
    changed, body = ask(serving, "/status.json", headers=known)
    assert (changed.status, b'"ended": 2' in body) == (200, True)


def test_characters_that_do_not_print_are_escaped(serving: StatusServer) -> None:
    """In names that programs choose."""
    _, body = ask(serving, "/status.json")
    assert rb"\\x1b\\u202e" in body


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_only_reading_is_possible(serving: StatusServer, method: str) -> None:
    """Nothing can be sent to a run."""
    assert ask(serving, "/", method)[0].status == 501


def test_a_head_request_has_no_body(serving: StatusServer) -> None:
    """With the headers of the page."""
    answer, body = ask(serving, "/", "HEAD")
    assert (answer.status, body) == (200, b"")
    assert int(answer.headers["Content-Length"]) > 1000


def test_before_the_first_status_the_page_waits(listening: socket.socket) -> None:
    """A large campaign takes a while to read."""
    with server.serving(listening, WORD) as made:
        assert ask(made, "/")[0].status == 200
        assert ask(made, "/status.json")[0].status == 204


def test_only_this_machine_can_connect(listening: socket.socket) -> None:
    """The socket has the loopback address; a port in use is a mistake with its remedy."""
    host, number = listening.getsockname()
    assert host == "127.0.0.1"
    assert serve_option.address(listening, "word") == f"http://127.0.0.1:{number}/word/"
    with pytest.raises(ConfigError, match=f"--serve: port {number} is in use; choose another port"):
        serve_option.listen(number)


def test_the_own_files_hold_nothing_that_would_end_their_element() -> None:
    """They are put into the page as they are."""
    folder = Path(server.__file__).parent / "templates"
    style = Path(templating.__file__).parent / "templates" / "style.css"
    for file in (folder / "live.js", folder / "live.css", style):
        assert "</" not in file.read_text()
