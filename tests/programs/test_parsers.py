"""Parsers: what real programs printed, read; and what they print when they fail."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from httpbed.programs import parsers
from httpbed.programs.parsers import PARSERS, access_log, caddy, curl, untrusted_values
from httpbed.programs.protocol import LoggedRequest, MigrationCounts, ProgramReport
from recorded import FOLDER

CURL, NGINX = FOLDER / "curl-8.23.0", FOLDER / "nginx-1.30.6"
every_parser = pytest.mark.parametrize("name", PARSERS)
AES_128, AES_256 = "TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384"


def read(parser: str, place: str) -> ProgramReport:
    """Read what was recorded."""
    return PARSERS[parser](FOLDER / place)


def metrics(found: ProgramReport) -> dict[str, float]:
    """Return what a client observed, by metric."""
    assert {one.source for one in found.observations} <= {"client"}
    return {one.metric: one.value for one in found.observations}


def answers(found: ProgramReport) -> list[tuple[str, int, int | None]]:
    """Return version, status and length of every answer."""
    return [(one.http_version, one.status, one.body_bytes) for one in found.requests]


def test_curls_times_are_read() -> None:
    """All four, in seconds from its start, with the request that they belong to."""
    found = curl.parse(CURL / "completed.json")
    times = metrics(found)
    assert set(times) == set(curl.TIMES)
    assert times["client_connect_time"] < times["client_handshake_time"]
    assert times["client_handshake_time"] < times["time_to_first_byte"] < times["client_total_time"]
    assert answers(found) == [("1.1", 200, 1_000_000)]
    assert found.complaint == ""


def test_curls_transfers_side_by_side_are_on_one_axis() -> None:
    """Three over one connection: they overlap, and the run lasts until the last."""
    found = curl.parse(CURL / "parallel.json")
    assert answers(found) == [("2", 200, 10**6)] * 3
    assert {request.connection for request in found.requests} == {"0"}
    spans = [(one.began_s, one.ended_s) for one in found.requests]
    assert min(began for began, _ in spans if began is not None) == 0
    assert max(b for b, _ in spans if b is not None) < min(e for _, e in spans if e is not None)
    assert metrics(found)["client_total_time"] == max(ended for _, ended in spans if ended)


def test_curls_rounds_follow_each_other() -> None:
    """On a warm connection, each begins when the one before has ended."""
    found = curl.parse(CURL / "rounds.json")
    assert answers(found) == [("3", 200, 1000)] * 3
    times = [(one.began_s or 0.0, one.ended_s or 0.0) for one in found.requests]
    clock_s = 1e-4
    assert all(ended <= began + clock_s for (_, ended), (began, _) in pairwise(times))


@pytest.mark.parametrize("file", ["refused.json", "refused-h3.json"])
def test_curls_complaint_is_kept_in_its_words(file: str) -> None:
    """It could not connect: no time is made up for what never happened."""
    found = curl.parse(CURL / file)
    assert "Could not connect to server" in found.complaint
    assert set(metrics(found)) == {"client_total_time"}
    assert set(answers(found)) == {("0", 0, 0)}


def test_nginxs_log_names_all_three_protocols() -> None:
    """In the words of experiment files."""
    found = access_log.parse(NGINX / "access.jsonl")
    assert found.requests == tuple(
        LoggedRequest(version, 200, 10**6) for version in ("1.1", "2", "3")
    )


def test_nginxs_log_tells_what_was_resumed() -> None:
    """Of the older version: it resumes, and never takes early data."""
    found = read("access-log-json", "nginx-1.26.3/access.jsonl")
    assert [one.http_version for one in found.requests] == ["1.1", "1.1", "2", "2", *["3"] * 4]
    assert [one.resumed for one in found.requests] == [False] * 7 + [True]
    assert {one.early_data for one in found.requests} == {False}
    assert {(one.tls_version, one.cipher) for one in found.requests} == {("TLSv1.3", AES_256)}


def test_aioquics_server_tells_early_data() -> None:
    """And that the connections of one client's files are one."""
    found = read("access-log-json", "aioquic-1.7.2/access.jsonl")
    assert [one.early_data for one in found.requests[:5]] == [False] * 4 + [True]
    assert len({one.connection for one in found.requests[:3]}) == 1
    assert found.requests[2].body_bytes == 0


def test_caddys_log_is_read_in_caddys_words() -> None:
    """Versions and ciphers by their numbers."""
    found = caddy.parse(FOLDER / "caddy-2.11.7/access.jsonl")
    assert [one.http_version for one in found.requests[:6]] == ["1.1", "1.1", "2", "2", "3", "3"]
    assert answers(found)[:2] == [("1.1", 200, 10**6), ("1.1", 200, 0)]
    assert {(one.tls_version, one.cipher) for one in found.requests} == {("TLSv1.3", AES_128)}
    assert True in {one.resumed for one in found.requests}


def test_aioquics_client_tells_each_file() -> None:
    """Side by side, the empty one too."""
    found = read("requests-json", "aioquic-1.7.2/client.jsonl")
    assert sorted(answers(found)) == [("3", 200, 0), ("3", 200, 1000), ("3", 200, 10**6)]
    assert {one.cipher for one in found.requests} == {AES_256}
    assert set(metrics(found)) == {
        "client_total_time", "client_handshake_time", "time_to_first_byte",
    }  # fmt: skip
    refused = read("requests-json", "aioquic-1.7.2/client-refused.jsonl")
    assert "Connection refused" in refused.complaint


def test_our_client_on_quiche_tells_early_data() -> None:
    """For a file and an empty one."""
    found = read("quiche-json", "httpbed-quiche-0.1.0/early-data.json")
    assert sorted(answers(found)) == [("3", 200, 0), ("3", 200, 1000)]
    assert {(one.resumed, one.early_data) for one in found.requests} == {(True, True)}
    missing = read("quiche-json", "httpbed-quiche-0.1.0/missing.json")
    assert answers(missing)[0][1] == 404
    assert missing.complaint


def test_our_client_on_quiche_tells_how_it_moved() -> None:
    """On the machine's clock; an older program's report has none of it."""
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
    """With times by its own clock, of a millisecond."""
    found = read("gtlsclient-log", "gtlsclient-1.11.0/completed.txt")
    assert [one.path for one in found.requests] == ["/1000.txt", "/0.txt"]
    assert {(one.body_bytes, one.tls_version) for one in found.requests} == {(None, "")}
    assert {(one.http_version, one.status, one.cipher) for one in found.requests} == {
        ("3", 200, AES_128)
    }
    assert {one.early_data for one in found.requests} == {False}
    assert found.complaint == ""
    early = read("gtlsclient-log", "gtlsclient-1.11.0/early-data.txt")
    assert [(one.early_data, one.resumed) for one in early.requests] == [(True, True)]


@pytest.mark.parametrize(
    ("file", "complaint"),
    [("refused.txt", "ERR_HANDSHAKE_TIMEOUT"), ("wrong-name.txt", "ERR_DRAINING")],
)
def test_gtlsclients_failure_is_a_complaint_although_it_ends_well(
    file: str, complaint: str
) -> None:
    """Its exit status is 0."""
    found = read("gtlsclient-log", f"gtlsclient-1.11.0/{file}")
    assert complaint in found.complaint
    assert found.requests == ()


def test_a_quiet_gtlsclient_tells_nothing(tmp_path: Path) -> None:
    """As its knob asks; what it stored is compared all the same."""
    (tmp_path / "quiet.txt").touch()
    assert PARSERS["gtlsclient-log"](tmp_path / "quiet.txt") == ProgramReport()


@pytest.mark.parametrize(("folder", "version"), [("h1", "1.1"), ("h2", "2")])
def test_wget2s_version_is_what_tls_agreed_on(folder: str, version: str) -> None:
    """Its statistics are in two files."""
    found = read("wget2-stats", f"wget2-2.2.0/{folder}/wget2-site.csv")
    assert answers(found) == [(version, 200, 10**6)]
    assert [(one.tls_version, one.resumed) for one in found.requests] == [("TLSv1.3", False)]


def test_wget2s_failures_are_told() -> None:
    """An empty file is none."""
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
def test_wgets_words_are_read(
    file: str, answer: list[tuple[str, int, int]], complaint: str
) -> None:
    """What it saved, or why it did not."""
    found = read("wget-log", f"wget-1.25.0/{file}.txt")
    assert answers(found) == answer
    assert complaint in found.complaint
    assert bool(found.complaint) == bool(complaint)


def test_each_of_wgets_tries_is_a_request() -> None:
    """How far it came is told from the file's first byte on, wherever the try began."""
    found = read("wget-log", "wget-1.25.0/resumed.txt")
    assert answers(found) == [("1.1", 200, 1_933_066), ("1.1", 206, 3_066_934)]
    assert {one.path for one in found.requests} == {"/5M.txt"}
    assert found.complaint == ""


def test_each_of_wgets_runs_is_a_request() -> None:
    """What broke off is no complaint where a later run had it all."""
    found = read("wget-log", "wget-1.25.0/restarted.txt")
    assert answers(found) == [("1.1", 200, 1_998_602), ("1.1", 200, 5_000_000)]
    assert found.complaint == ""


def test_wgets_last_try_is_its_complaint() -> None:
    """It gives up where there is no network at all."""
    found = read("wget-log", "wget-1.25.0/unreachable.txt")
    assert answers(found) == [("1.1", 200, 1_998_602)]
    assert found.complaint.endswith("failed: Network is unreachable.")


@pytest.mark.parametrize(
    "broken_off", ["Read error at byte 400/1000 (x). ", "Connection closed at byte 400. "]
)
def test_a_try_of_wgets_that_broke_off_tells_how_far_it_came(
    tmp_path: Path, broken_off: str
) -> None:
    """In one run that gave up; what it was killed in tells no length."""
    log = tmp_path / "wget.txt"
    begun = "--2026-11-21 21:39:51--  https://server/1000.txt\n  HTTP/1.1 200 OK\n"
    log.write_text(f"{begun}2026-11-21 21:39:53 (2.06 MB/s) - {broken_off}Giving up.\n")
    found = PARSERS["wget-log"](log)
    assert answers(found) == [("1.1", 200, 400)]
    assert "at byte 400" in found.complaint
    log.write_text(begun)
    assert answers(PARSERS["wget-log"](log)) == [("1.1", 200, None)]


def test_curls_runs_follow_each_other() -> None:
    """Only the last one's failure is one; what a whole file is answered with adds nothing."""
    restarted = curl.parse(CURL / "restarted.json")
    assert answers(restarted) == [("1.1", 200, 2_064_138), ("1.1", 200, 5_000_000)]
    assert restarted.complaint == ""
    resumed = curl.parse(CURL / "resumed.json")
    assert answers(resumed) == [("2", 200, 2_064_384), ("2", 206, 2_935_616), ("2", 416, 0)]
    assert metrics(resumed)["client_total_time"] == resumed.requests[-1].ended_s


def test_curls_last_run_is_its_complaint(tmp_path: Path) -> None:
    """A run without an answer is told only where it is the last."""
    log = tmp_path / "curl.json"
    first, second = (CURL / "restarted.json").read_text().splitlines()
    refused = json.loads(first)
    refused["transfer"] |= {"response_code": 0, "http_version": "0", "errormsg": "refused"}
    log.write_text("\n".join([first, json.dumps(refused), second]))
    assert len(curl.parse(log).requests) == 2
    log.write_text("\n".join([first, json.dumps(refused)]))
    found = curl.parse(log)
    assert [one.status for one in found.requests] == [200, 0]
    assert found.complaint == "refused"


def test_paths_are_told_on_the_kernels_clock() -> None:
    """Of a client whose address went away for a while."""
    found = read("requests-json", "aioquic-1.7.2/client-migrated.jsonl")
    assert answers(found) == [("3", 200, 5_000_000)]
    kinds = [event.kind for event in found.path_events]
    assert kinds == [*["network changed"] * 4, "migrated", "validated"]
    assert found.path_events[0].at_ns == 36141146419647 + 849024545
    assert found.path_events[-1].local == "10.0.2.1:49770"
    assert found.migrations == MigrationCounts(tried=1, failed=0)


def test_paths_of_all_runs_are_told(tmp_path: Path) -> None:
    """A client that was started again counts from zero, by another clock."""
    first = (FOLDER / "aioquic-1.7.2/client-migrated.jsonl").read_text()
    log = tmp_path / "log"
    log.write_text(first + first.replace("36141146419647", "36149146419647"))
    found = PARSERS["requests-json"](log)
    assert len(found.path_events) == 12
    assert found.path_events[6].at_ns - found.path_events[0].at_ns == 8 * 10**9
    assert found.migrations == MigrationCounts(tried=2, failed=0)


HUGE = 10**400
"""Python reads it as a whole number, and no float holds it."""


@pytest.mark.parametrize(
    "counts", [{}, 0, "", [], None, {"tried": -3, "failed": 0}, {"tried": 1, "failed": HUGE}]
)
def test_migrations_are_counted_or_not_told(counts: object, tmp_path: Path) -> None:
    """Whoever takes them reckons with them."""
    report = json.loads((FOLDER / "httpbed-quiche-0.1.0/migrated.json").read_text())
    one = tmp_path / "report"
    one.write_text(json.dumps(report | {"migrations": counts}))
    found = parsers.read("quiche-json", one)
    assert found.complaint
    assert found.migrations is None
    line = {"clock_ns": 1, "path_event": report["path_events"][0], "migrations": counts}
    one.write_text(json.dumps(line))
    found = parsers.read("requests-json", one)
    assert found.complaint
    assert found.migrations is None


@pytest.mark.parametrize(
    ("parser", "place", "field"),
    [
        ("quiche-json", "httpbed-quiche-0.1.0/migrated.json", '"clock_ns": '),
        ("quiche-json", "httpbed-quiche-0.1.0/migrated.json", '"status": '),
        ("requests-json", "aioquic-1.7.2/client.jsonl", '"body_bytes": '),
        ("requests-json", "aioquic-1.7.2/client.jsonl", '"ended_s": '),
        ("access-log-json", "nginx-1.30.6/access.jsonl", '"body_bytes":'),
    ],
)
@pytest.mark.parametrize("number", [str(HUGE), "-7", "1e300", "Infinity"])
def test_a_number_beyond_reckoning_is_a_complaint(
    parser: str, place: str, field: str, number: str, tmp_path: Path
) -> None:
    """No program counts so far; what is told of times and bytes goes into sums and means."""
    whole = (FOLDER / place).read_text()
    if field not in whole:
        field = field.replace(" ", "")
    left = tmp_path / "left"
    left.write_text(re.sub(rf"{field}[0-9.]+", f"{field}{number}", whole, count=1))
    found = parsers.read(parser, left)
    may_be = number == "-7" and field.startswith('"ended_s')
    assert may_be or found.complaint
    assert may_be or not found.requests
    assert all(abs(one.value) <= untrusted_values.LONGEST_S for one in found.observations)


@pytest.mark.parametrize(("folder", "version"), [("h1", "1.1"), ("h2", "2")])
def test_h2loads_requests_share_its_bytes(folder: str, version: str) -> None:
    """Each has times of its own."""
    found = read("h2load-log", f"h2load-1.64.0/{folder}/h2load.txt")
    assert answers(found) == [(version, 200, 10**6)] * 8
    assert {one.cipher for one in found.requests} == {AES_128}
    assert min(one.began_s or 0.0 for one in found.requests) == 0
    assert metrics(found)["client_total_time"] > 0


@pytest.mark.parametrize("folder", ["missing", "refused"])
def test_h2loads_failures_are_told(folder: str) -> None:
    """Although it ends well."""
    found = read("h2load-log", f"h2load-1.64.0/{folder}/h2load.txt")
    assert found.complaint == "2 of 2 requests failed"


def test_an_unknown_protocol_is_told_as_it_was_logged(tmp_path: Path) -> None:
    """It fits no treatment, and its name is the evidence."""
    log = tmp_path / "log"
    log.write_text('{"protocol":"HTTP/1.0","status":200,"body_bytes":1}\n')
    assert answers(access_log.parse(log)) == [("HTTP/1.0", 200, 1)]


def test_a_log_that_breaks_off_is_a_complaint(tmp_path: Path) -> None:
    """A killed server's last line is no request."""
    log = tmp_path / "log"
    log.write_text((NGINX / "access.jsonl").read_text()[:-20])
    found = access_log.parse(log)
    assert "line 3" in found.complaint
    assert found.requests == ()


RECORDED = [
    ("curl-json", CURL / "parallel.json"),
    ("access-log-json", NGINX / "access.jsonl"),
    ("caddy-json", FOLDER / "caddy-2.11.7/access.jsonl"),
    ("requests-json", FOLDER / "aioquic-1.7.2/client.jsonl"),
    ("quiche-json", FOLDER / "httpbed-quiche-0.1.0/early-data.json"),
    ("gtlsclient-log", FOLDER / "gtlsclient-1.11.0/completed.txt"),
    ("wget-log", FOLDER / "wget-1.25.0/completed.txt"),
    ("wget2-stats", FOLDER / "wget2-2.2.0/h2/wget2-site.csv"),
    ("h2load-log", FOLDER / "h2load-1.64.0/h2/h2load.txt"),
]


@pytest.mark.parametrize(("name", "file"), RECORDED)
def test_another_programs_output_is_a_clear_complaint(name: str, file: Path) -> None:
    """As a version with other words would be: no figure is taken from it."""
    for other, left in RECORDED:
        if other != name:
            found = PARSERS[name](left)
            assert found.complaint, other
            assert not any(request.status == 200 for request in found.requests)
    assert PARSERS[name](file).complaint == ""


@every_parser
def test_an_absent_file_means_that_nothing_was_said(name: str, tmp_path: Path) -> None:
    """The program was stopped before it wrote: a finding, not an error."""
    found = PARSERS[name](tmp_path / "absent")
    assert bool(found.complaint) == (name != "none")
    assert found.observations == ()


WORDS = [
    *curl.TIMES.values(),
    *("errormsg", "response_code", "protocol", "status", "body_bytes", "request", "size", "error"),
    *("http_version", "began_s", "ended_s", "streams", "times", "transfer", "ended_at", "attempts"),
]
LEFT = st.one_of(
    st.binary(max_size=40),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner),
        max_leaves=6,
    ).map(lambda value: json.dumps(value).encode()),
)


@every_parser
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(LEFT)
def test_whatever_a_program_leaves_is_findings(name: str, tmp_path: Path, left: bytes) -> None:
    """A program under test that writes nonsense has failed; it never breaks the bed."""
    file = tmp_path / "left"
    file.write_bytes(left)
    found = parsers.read(name, file)
    assert isinstance(found.complaint, str)
    assert PARSERS[name](file) == found or found.complaint


@pytest.mark.parametrize(("name", "file"), RECORDED)
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=30,
)
@given(data=st.data())
def test_a_real_output_damaged_anywhere_is_findings(
    name: str, file: Path, tmp_path: Path, data: st.DataObject
) -> None:
    """Bytes are cut out of it and others put in; beside it, too."""
    for source in file.parent.iterdir():
        whole = source.read_bytes()
        start = data.draw(st.integers(0, len(whole)))
        end = data.draw(st.integers(start, min(len(whole), start + 200)))
        (tmp_path / source.name).write_bytes(
            whole[:start] + data.draw(st.binary(max_size=10)) + whole[end:]
        )
    assert isinstance(PARSERS[name](tmp_path / file.name), ProgramReport)
