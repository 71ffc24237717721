"""Parsers read the recorded output of real programs, and report their failures."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from httpbed.programs import parsers
from httpbed.programs.parsers import access_log, curl, known
from httpbed.programs.part import LoggedRequest, MigrationCounts, ProgramReport
from recorded import FOLDER

CURL, NGINX = FOLDER / "curl-8.23.0", FOLDER / "nginx-1.30.6"
every_parser = pytest.mark.parametrize("name", known())
AES_128, AES_256 = "TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384"


def read(parser: str, place: str) -> ProgramReport:
    return parsers.read(parser, FOLDER / place)


def metrics(parsed: ProgramReport) -> dict[str, float]:
    """Return a client's observations by metric."""
    assert {observation.source for observation in parsed.observations} <= {"client"}
    return {observation.metric: observation.value for observation in parsed.observations}


def answers(parsed: ProgramReport) -> list[tuple[str, int, int | None]]:
    """Return version, status and length of every response."""
    return [
        (request.http_version, request.status, request.body_bytes) for request in parsed.requests
    ]


def test_curls_times_are_read() -> None:
    """All four are seconds from curl's start, and belong to its request."""
    parsed = curl.parse(CURL / "completed.json")
    times = metrics(parsed)
    assert set(times) == set(curl.TIMES)
    assert times["client_connect_time"] < times["client_handshake_time"]
    assert times["client_handshake_time"] < times["time_to_first_byte"] < times["client_total_time"]
    assert answers(parsed) == [("1.1", 200, 1_000_000)]
    assert parsed.complaint == ""


def test_a_single_transfer_of_an_older_curl_begins_its_own_axis(tmp_path: Path) -> None:
    """curl before 8.16 has no clock to print; the values are those of a curl that has one."""
    line = json.loads((CURL / "completed.json").read_text())
    log = tmp_path / "curl.json"
    log.write_text(json.dumps(line.get("transfer", line)))
    parsed = curl.parse(log)
    (request,) = parsed.requests
    times = {observation.metric: observation.value for observation in parsed.observations}
    assert (request.began_s, request.ended_s) == (0.0, times["client_total_time"])
    log.write_text(f"{log.read_text()}\n{log.read_text()}")
    assert [one.began_s for one in curl.parse(log).requests] == [None] * len(
        curl.parse(log).requests
    )


def test_curls_transfers_side_by_side_are_on_one_axis() -> None:
    """Three transfers over one connection overlap; the run lasts until the last one."""
    parsed = curl.parse(CURL / "parallel.json")
    assert answers(parsed) == [("2", 200, 10**6)] * 3
    assert {request.connection for request in parsed.requests} == {"0"}
    spans = [(request.began_s, request.ended_s) for request in parsed.requests]
    assert min(began for began, _ in spans if began is not None) == 0
    assert max(b for b, _ in spans if b is not None) < min(e for _, e in spans if e is not None)
    assert metrics(parsed)["client_total_time"] == max(ended for _, ended in spans if ended)


def test_curls_rounds_follow_each_other() -> None:
    """On a warm connection, each begins after the previous one has ended."""
    parsed = curl.parse(CURL / "rounds.json")
    assert answers(parsed) == [("3", 200, 1000)] * 3
    times = [(request.began_s or 0.0, request.ended_s or 0.0) for request in parsed.requests]
    clock_s = 1e-4
    assert all(ended <= began + clock_s for (_, ended), (began, _) in pairwise(times))


@pytest.mark.parametrize("file", ["refused.json", "refused-h3.json"])
def test_curls_error_message_is_the_complaint(file: str) -> None:
    """A connection that failed has no times."""
    parsed = curl.parse(CURL / file)
    assert "Could not connect to server" in parsed.complaint
    assert set(metrics(parsed)) == {"client_total_time"}
    assert set(answers(parsed)) == {("0", 0, 0)}


def test_nginxs_log_names_all_three_protocols() -> None:
    """Versions are in the words of experiments."""
    parsed = access_log.parse(NGINX / "access.jsonl")
    assert parsed.requests == tuple(
        LoggedRequest(version, 200, 10**6) for version in ("1.1", "2", "3")
    )


def test_nginxs_log_shows_resumption() -> None:
    """The older version resumes, and never accepts early data."""
    parsed = read("access-log-json", "nginx-1.26.3/access.jsonl")
    assert [request.http_version for request in parsed.requests] == [
        "1.1",
        "1.1",
        "2",
        "2",
        *["3"] * 4,
    ]
    assert [request.resumed for request in parsed.requests] == [False] * 7 + [True]
    assert {request.early_data for request in parsed.requests} == {False}
    assert {(request.tls_version, request.cipher) for request in parsed.requests} == {
        ("TLSv1.3", AES_256)
    }


def test_nginxs_newer_log_shows_early_data_and_missing_files() -> None:
    """The second visit resumes and sends early data; the third asks for a missing file."""
    parsed = read("access-log-json", "nginx-1.30.6/access-full.jsonl")
    assert [request.status for request in parsed.requests] == [200, 200, 404, 200, 200, 200]
    assert [request.resumed for request in parsed.requests] == [False, True, *[False] * 4]
    assert [request.early_data for request in parsed.requests] == [False, True, *[False] * 4]
    assert [request.path for request in parsed.requests][1:3] == ["/1000.txt", "/none.txt"]
    assert parsed.complaint == ""


def test_aioquics_server_logs_early_data() -> None:
    """All files of one client share a connection."""
    parsed = read("access-log-json", "aioquic-1.7.2/access.jsonl")
    assert [request.early_data for request in parsed.requests[:5]] == [False] * 4 + [True]
    assert len({request.connection for request in parsed.requests[:3]}) == 1
    assert parsed.requests[2].body_bytes == 0


def test_caddys_log_is_read() -> None:
    """Versions and ciphers are numbers there."""
    parsed = access_log.parse_caddy(FOLDER / "caddy-2.11.7/access.jsonl")
    assert [request.http_version for request in parsed.requests[:6]] == [
        "1.1",
        "1.1",
        "2",
        "2",
        "3",
        "3",
    ]
    assert answers(parsed)[:2] == [("1.1", 200, 10**6), ("1.1", 200, 0)]
    assert {(request.tls_version, request.cipher) for request in parsed.requests} == {
        ("TLSv1.3", AES_128)
    }
    assert True in {request.resumed for request in parsed.requests}


def test_aioquics_client_reports_each_file() -> None:
    """Parallel files have a line each, an empty file too."""
    parsed = read("requests-json", "aioquic-1.7.2/client.jsonl")
    assert sorted(answers(parsed)) == [("3", 200, 0), ("3", 200, 1000), ("3", 200, 10**6)]
    assert {request.cipher for request in parsed.requests} == {AES_256}
    assert set(metrics(parsed)) == {
        "client_total_time", "client_handshake_time", "time_to_first_byte",
    }  # fmt: skip
    refused = read("requests-json", "aioquic-1.7.2/client-refused.jsonl")
    assert "Connection refused" in refused.complaint


def test_httpbed_quiche_reports_early_data() -> None:
    """For a file and an empty one."""
    parsed = read("quiche-json", "httpbed-quiche-0.1.0/early-data.json")
    assert sorted(answers(parsed)) == [("3", 200, 0), ("3", 200, 1000)]
    assert {(request.resumed, request.early_data) for request in parsed.requests} == {(True, True)}
    missing = read("quiche-json", "httpbed-quiche-0.1.0/missing.json")
    assert answers(missing)[0][1] == 404
    assert missing.complaint


def test_httpbed_quiche_reports_migrations() -> None:
    """Times are on the machine's clock; an older program reports no migrations."""
    moved = read("quiche-json", "httpbed-quiche-0.1.0/migrated.json")
    assert [event.kind for event in moved.path_events] == [
        "network changed", "migrated", "validated",
    ]  # fmt: skip
    assert moved.migrations == MigrationCounts(tried=1, failed=0)
    last = moved.path_events[-1]
    assert last.local.startswith("10.2.0.1:")
    assert (last.remote, last.reason) == ("10.9.0.1:443", "")
    assert 0.03e9 < last.at_ns - moved.path_events[0].at_ns < 0.2e9
    refused = read("quiche-json", "httpbed-quiche-0.1.0/refused.json")
    assert refused.migrations == MigrationCounts(tried=1, failed=1)
    assert "forbids migration" in refused.path_events[-1].reason
    assert "forbids migration" in refused.complaint
    older = read("quiche-json", "httpbed-quiche-0.1.0/early-data.json")
    assert (older.path_events, older.migrations) == ((), None)


def test_gtlsclients_packets_are_read_as_requests() -> None:
    """Times are milliseconds on its own clock."""
    parsed = read("gtlsclient-log", "gtlsclient-1.11.0/completed.txt")
    assert [request.path for request in parsed.requests] == ["/1000.txt", "/0.txt"]
    assert {(request.body_bytes, request.tls_version) for request in parsed.requests} == {
        (None, "")
    }
    assert {
        (request.http_version, request.status, request.cipher) for request in parsed.requests
    } == {("3", 200, AES_128)}
    assert {request.early_data for request in parsed.requests} == {False}
    assert parsed.complaint == ""
    early = read("gtlsclient-log", "gtlsclient-1.11.0/early-data.txt")
    assert [(request.early_data, request.resumed) for request in early.requests] == [(True, True)]


def test_gtlsclient_reports_the_status_of_a_missing_file() -> None:
    """The response is complete, so there is no complaint."""
    parsed = read("gtlsclient-log", "gtlsclient-1.11.0/missing.txt")
    assert [(request.status, request.path) for request in parsed.requests] == [(404, "/none.txt")]
    assert parsed.complaint == ""


@pytest.mark.parametrize(
    ("file", "complaint"),
    [("refused.txt", "ERR_HANDSHAKE_TIMEOUT"), ("wrong-name.txt", "ERR_DRAINING")],
)
def test_gtlsclients_failure_is_a_complaint_although_it_ends_well(
    file: str, complaint: str
) -> None:
    """Its exit status is 0."""
    parsed = read("gtlsclient-log", f"gtlsclient-1.11.0/{file}")
    assert complaint in parsed.complaint
    assert parsed.requests == ()


def test_a_quiet_gtlsclient_reports_nothing(tmp_path: Path) -> None:
    """Its stored files are still compared."""
    (tmp_path / "quiet.txt").touch()
    assert parsers.read("gtlsclient-log", tmp_path / "quiet.txt") == ProgramReport()


@pytest.mark.parametrize(("folder", "version"), [("h1", "1.1"), ("h2", "2")])
def test_wget2s_version_is_what_tls_agreed_on(folder: str, version: str) -> None:
    """Its statistics are in two files."""
    parsed = read("wget2-stats", f"wget2-2.2.0/{folder}/wget2-site.csv")
    assert answers(parsed) == [(version, 200, 10**6)]
    assert [(request.tls_version, request.resumed) for request in parsed.requests] == [
        ("TLSv1.3", False)
    ]


def test_wget2s_failures_are_complaints() -> None:
    """An empty statistics file means that no request was sent."""
    assert answers(read("wget2-stats", "wget2-2.2.0/empty/wget2-site.csv")) == [("2", 200, 0)]
    assert answers(read("wget2-stats", "wget2-2.2.0/missing/wget2-site.csv")) == [("2", 404, 153)]
    refused = read("wget2-stats", "wget2-2.2.0/refused/wget2-site.csv")
    assert refused == ProgramReport(complaint="Failed to connect: Connect error")


@pytest.mark.parametrize(
    ("file", "answer", "complaint"),
    [
        ("completed", [("1.1", 200, 10**6)], ""),
        ("empty", [("1.1", 200, 0)], ""),
        ("missing", [("1.1", 404, 0)], "404: Not Found."),
        ("refused", [], "Connection refused"),
        ("unresolved", [], "unable to resolve"),
        ("untrusted", [], "not trusted"),
    ],
)
def test_wgets_output_is_read(
    file: str, answer: list[tuple[str, int, int]], complaint: str
) -> None:
    """It saved the file, or gives the reason why not."""
    parsed = read("wget-log", f"wget-1.25.0/{file}.txt")
    assert answers(parsed) == answer
    assert complaint in parsed.complaint
    assert bool(parsed.complaint) == bool(complaint)


def test_each_attempt_of_wget_is_a_request() -> None:
    """Byte counts begin at the file's first byte, whatever the attempt's first byte is."""
    parsed = read("wget-log", "wget-1.25.0/resumed.txt")
    assert answers(parsed) == [("1.1", 200, 1_933_066), ("1.1", 206, 3_066_934)]
    assert {request.path for request in parsed.requests} == {"/5M.txt"}
    assert parsed.complaint == ""


def test_each_run_of_wget_is_a_request() -> None:
    """A broken attempt is no complaint if a later run completed the file."""
    parsed = read("wget-log", "wget-1.25.0/restarted.txt")
    assert answers(parsed) == [("1.1", 200, 1_998_602), ("1.1", 200, 5_000_000)]
    assert parsed.complaint == ""


def test_the_last_attempt_of_wget_is_its_complaint() -> None:
    """Wget gives up without any network."""
    parsed = read("wget-log", "wget-1.25.0/unreachable.txt")
    assert answers(parsed) == [("1.1", 200, 1_998_602)]
    assert parsed.complaint.endswith("failed: Network is unreachable.")


@pytest.mark.parametrize(
    "broken_off", ["Read error at byte 400/1000 (x). ", "Connection closed at byte 400. "]
)
def test_a_broken_attempt_of_wget_has_its_length(tmp_path: Path, broken_off: str) -> None:
    """An attempt in which wget was killed has no length."""
    log = tmp_path / "wget.txt"
    begun = "--2026-11-21 21:39:51--  https://server/1000.txt\n  HTTP/1.1 200 OK\n"
    log.write_text(f"{begun}2026-11-21 21:39:53 (2.06 MB/s) - {broken_off}Giving up.\n")
    parsed = parsers.read("wget-log", log)
    assert answers(parsed) == [("1.1", 200, 400)]
    assert "at byte 400" in parsed.complaint
    log.write_text(begun)
    assert answers(parsers.read("wget-log", log)) == [("1.1", 200, None)]


def test_curls_runs_follow_each_other() -> None:
    """Only the last run's failure is a complaint; a response to a complete file adds nothing."""
    restarted = curl.parse(CURL / "restarted.json")
    assert answers(restarted) == [("1.1", 200, 2_064_138), ("1.1", 200, 5_000_000)]
    assert restarted.complaint == ""
    resumed = curl.parse(CURL / "resumed.json")
    assert answers(resumed) == [("2", 200, 2_064_384), ("2", 206, 2_935_616), ("2", 416, 0)]
    assert metrics(resumed)["client_total_time"] == resumed.requests[-1].ended_s


def test_curls_last_run_is_its_complaint(tmp_path: Path) -> None:
    """An unanswered run is reported only if it is the last."""
    log = tmp_path / "curl.json"
    first, second = (CURL / "restarted.json").read_text().splitlines()
    refused = json.loads(first)
    refused["transfer"] |= {"response_code": 0, "http_version": "0", "errormsg": "refused"}
    log.write_text("\n".join([first, json.dumps(refused), second]))
    assert len(curl.parse(log).requests) == 2
    log.write_text("\n".join([first, json.dumps(refused)]))
    parsed = curl.parse(log)
    assert [request.status for request in parsed.requests] == [200, 0]
    assert parsed.complaint == "refused"


def test_path_events_are_on_the_kernels_clock() -> None:
    """The client's address was missing for a while."""
    parsed = read("requests-json", "aioquic-1.7.2/client-migrated.jsonl")
    assert answers(parsed) == [("3", 200, 5_000_000)]
    kinds = [event.kind for event in parsed.path_events]
    assert kinds == [*["network changed"] * 4, "migrated", "validated"]
    assert parsed.path_events[0].at_ns == 36141146419647 + 849024545
    assert parsed.path_events[-1].local == "10.0.2.1:49770"
    assert parsed.migrations == MigrationCounts(tried=1, failed=0)


def test_path_events_of_all_runs_are_read(tmp_path: Path) -> None:
    """A restarted client counts from zero, on another clock."""
    first = (FOLDER / "aioquic-1.7.2/client-migrated.jsonl").read_text()
    log = tmp_path / "log"
    log.write_text(first + first.replace("36141146419647", "36149146419647"))
    parsed = parsers.read("requests-json", log)
    assert len(parsed.path_events) == 12
    assert parsed.path_events[6].at_ns - parsed.path_events[0].at_ns == 8 * 10**9
    assert parsed.migrations == MigrationCounts(tried=2, failed=0)


@pytest.mark.parametrize(("folder", "version"), [("h1", "1.1"), ("h2", "2")])
def test_h2loads_requests_share_its_bytes(folder: str, version: str) -> None:
    """Each request has its own times."""
    parsed = read("h2load-log", f"h2load-1.64.0/{folder}/h2load.txt")
    assert answers(parsed) == [(version, 200, 10**6)] * 8
    assert {request.cipher for request in parsed.requests} == {AES_128}
    assert min(request.began_s or 0.0 for request in parsed.requests) == 0
    assert metrics(parsed)["client_total_time"] > 0


@pytest.mark.parametrize("folder", ["missing", "refused"])
def test_h2loads_failures_are_complaints(folder: str) -> None:
    """h2load's exit status is 0."""
    parsed = read("h2load-log", f"h2load-1.64.0/{folder}/h2load.txt")
    assert parsed.complaint == "2 of 2 requests failed"


def test_an_unknown_protocol_keeps_its_name(tmp_path: Path) -> None:
    """No treatment has this version, so the name is evidence."""
    log = tmp_path / "log"
    log.write_text('{"protocol":"HTTP/1.0","status":200,"body_bytes":1}\n')
    assert answers(access_log.parse(log)) == [("HTTP/1.0", 200, 1)]


def test_an_incomplete_log_is_a_complaint(tmp_path: Path) -> None:
    """A killed server's incomplete last line is not a request."""
    log = tmp_path / "log"
    log.write_text((NGINX / "access.jsonl").read_text()[:-20])
    parsed = access_log.parse(log)
    assert "line 3" in parsed.complaint
    assert parsed.requests == ()
