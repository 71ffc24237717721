"""Programs that misbehave: each ends in an outcome with its reason, within bounds.

They are a server and a client in a few lines of Python, with a knob that says what goes wrong.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from httpbed.experiment.trial import Record
from httpbed.trial import plan
from real_runs import SmallExperiment, check, stage

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]

SERVER = """
import http.server, json, os, ssl, sys, time
fault, content, certificate, key = sys.argv[1:]
if fault == "silent":
    sys.exit(0)
if fault == "hang":
    time.sleep(3600)
if fault == "late":
    time.sleep(1)
class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        if fault == "die":
            self.send_response(200)
            self.send_header("Content-Length", "100000")
            self.end_headers()
            self.wfile.flush()
            os._exit(3)
        while fault == "flood":
            print("x" * 10**6, flush=True)
        if fault == "huge":
            with open("/tmp/huge", "wb") as file:
                for _ in range(10**4):
                    file.write(bytes(10**6))
        super().do_GET()
    def log_request(self, code="-", size="-"):
        told = dict(protocol="HTTP/1.1", status=int(code), body_bytes=100000, path=self.path)
        print(json.dumps(told), flush=True)
server = http.server.ThreadingHTTPServer(("", 443), lambda *a: Handler(*a, directory=content))
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.minimum_version = ssl.TLSVersion.TLSv1_3
context.load_cert_chain(certificate, key)
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
"""
CLIENT = """
import os, signal, sys, time
fault = sys.argv[1]
if fault == "hang":
    time.sleep(3600)
if fault == "die":
    os.kill(os.getpid(), signal.SIGSEGV)
while fault == "flood":
    print("x" * 10**6, flush=True)
"""
RECIPE = """
schema = 1
name = "planted-{role}"
roles = ["{role}"]
http_versions = ["1.1"]
workloads = ["download"]
install = {{ suite = "trixie", packages = ["ngtcp2-client", "python3"] }}
version = {{ argv = ["python3", "--version"], pattern = 'Python (?P<version>\\S+)' }}
knobs.fault = {{ default = "none", pattern = '[a-z]+', meaning = "what goes wrong" }}
parse = {{ parser = "{parser}", file = "said.jsonl" }}

[run]
argv = ["python3", "-c", '''{script}''', "{{fault}}", {words}]
stdout = "said.jsonl"
stderr = "errors.txt"
{ready}
"""
MIN_LOG_BYTES = 2 * 10**6


@pytest.fixture
def recipes(tmp_path: Path) -> Path:
    folder = tmp_path / "recipes"
    folder.mkdir()
    server = RECIPE.format(
        role="server",
        parser="access-log-json",
        script=_braced(SERVER),
        words='"{content}", "{certificate}", "{certificate_key}"',
        ready="ready = { tcp = [443] }",
    )
    client = RECIPE.format(
        role="client", parser="curl-json", script=_braced(CLIENT), words="", ready=""
    )
    (folder / "planted-server.toml").write_text(server)
    (folder / "planted-client.toml").write_text(client)
    return folder


def _braced(script: str) -> str:
    """Write a script as a template, in which braces are doubled."""
    return script.replace("{", "{{").replace("}", "}}")


def ended(settings: SmallExperiment, fault: str, recipes: Path, campaign: Path) -> Record:
    """Run one trial with a fault and return the record that counts."""
    if settings.server == "planted-server":
        settings = _with(settings, on_server=f'knobs = {{ fault = "{fault}" }}')
    else:
        settings = _with(settings, on_client=f'knobs = {{ fault = "{fault}" }}')
    (record,) = stage(settings, [recipes]).results(campaign)
    return record


def _with(settings: SmallExperiment, **changes: str) -> SmallExperiment:
    return SmallExperiment(**{**vars(settings), **changes})


BAD_SERVER = SmallExperiment(versions=("1.1",), server="planted-server", time_limit="10 s")
BAD_CLIENT = SmallExperiment(versions=("1.1",), client="planted-client", time_limit="1 s")


@pytest.mark.parametrize("fault", ["none", "late"])
def test_a_server_may_listen_late(recipes: Path, tmp_path: Path, fault: str) -> None:
    """The client starts when the server's ports are open, so its times do not include the wait."""
    record = ended(BAD_SERVER, fault, recipes, tmp_path / "campaign")
    assert record.attempt.outcome.kind == "completed", record.attempt.outcome.reason


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("silent", "server ran: planted-server did not start"),
        ("hang", "server ran: planted-server did not start"),
        ("die", "server ran: ended before the client did"),
        ("flood", "server filled its folder of 2 MB"),
        ("huge", "client ended well"),
    ],
)
def test_a_server_that_fails_is_data(
    recipes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, reason: str
) -> None:
    """The outcome names the cause; the server's output is bounded in file size and in memory."""
    if fault in {"silent", "hang"}:
        monkeypatch.setattr("httpbed.bed.sandbox.supervisor.START_TIMEOUT_S", 1.0)
    monkeypatch.setattr(plan, "LOG_BYTES", MIN_LOG_BYTES)
    record = ended(BAD_SERVER, fault, recipes, tmp_path / "campaign")
    assert record.attempt.outcome.kind == "failed"
    assert reason in record.attempt.outcome.reason
    left = sum(file.stat().st_size for file in tmp_path.rglob("*") if file.is_file())
    assert left < 4 * MIN_LOG_BYTES


@pytest.mark.parametrize(
    ("fault", "outcome", "figure"),
    [
        ("none", "failed", "exit status 0: curl printed nothing"),
        ("hang", "timed out", "was stopped at its time limit"),
        ("die", "failed", "signal 11"),
    ],
)
def test_a_client_that_fails_is_data(
    recipes: Path, tmp_path: Path, fault: str, outcome: str, figure: str
) -> None:
    """A client that prints nothing has fetched nothing, whatever its exit status."""
    record = ended(BAD_CLIENT, fault, recipes, tmp_path / "campaign")
    assert record.attempt.outcome.kind == outcome
    assert check(record, "client ended well").figure.startswith(figure)
    assert check(record, "body as served").figure == "the client stored nothing"


def test_a_client_that_floods_its_log_is_data(
    recipes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client is ended, and only the beginning of its log is kept."""
    monkeypatch.setattr(plan, "LOG_BYTES", MIN_LOG_BYTES)
    record = ended(BAD_CLIENT, "flood", recipes, tmp_path / "campaign")
    assert record.attempt.outcome.kind == "failed"
    assert "client filled its folder of 2 MB" in record.attempt.outcome.reason
    left = sum(file.stat().st_size for file in tmp_path.rglob("*") if file.is_file())
    assert left < 4 * MIN_LOG_BYTES
