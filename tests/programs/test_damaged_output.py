"""Parsers of damaged, missing, foreign and hostile output: a report, and never an exception."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from httpbed.programs import parsers
from httpbed.programs.parsers import curl, known
from httpbed.programs.part import ProgramReport
from recorded import FOLDER

CURL, NGINX = FOLDER / "curl-8.23.0", FOLDER / "nginx-1.30.6"
every_parser = pytest.mark.parametrize("name", known())


REPEATED = (
    " frm tx 1 0RTT STREAM()",
    " (x) - x saved [",
    " - Read error at byte 1",
    "ERROR: failed unable ",
    "x x URL:x [1] -> ",
    "requests: 1 total, 1 succeeded, 1 failed",
    " (1) data",
)
"""What the patterns of parsers look for, in the middle of their lines."""


@pytest.mark.timeout(60)
@every_parser
@pytest.mark.parametrize("begin", ["I12345678 ", "x x (x) - ", "requests: 1 total, ", "traffic: "])
def test_one_endless_line_takes_no_endless_time(name: str, begin: str, tmp_path: Path) -> None:
    """A line of 2 MB took a parser minutes, and one of the largest size days."""
    one = tmp_path / "report"
    one.write_text(begin + "".join(part * (2**21 // 7 // len(part)) for part in REPEATED) + "\n")
    assert isinstance(parsers.read(name, one), ProgramReport)


HUGE = 10**400
"""An integer that no float can hold."""


@pytest.mark.parametrize(
    "counts", [{}, 0, "", [], None, {"tried": -3, "failed": 0}, {"tried": 1, "failed": HUGE}]
)
def test_wrong_migration_counts_are_a_complaint(counts: object, tmp_path: Path) -> None:
    """Wrong counts are a complaint, because metrics compute with them."""
    report = json.loads((FOLDER / "httpbed-quiche-0.1.0/migrated.json").read_text())
    one = tmp_path / "report"
    one.write_text(json.dumps(report | {"migrations": counts}))
    parsed = parsers.read("quiche-json", one)
    assert "unreadable" in parsed.complaint
    assert parsed.migrations is None
    line = {"clock_ns": 1, "path_event": report["path_events"][0], "migrations": counts}
    one.write_text(json.dumps(line))
    parsed = parsers.read("requests-json", one)
    assert "unreadable" in parsed.complaint
    assert parsed.migrations is None


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
def test_an_out_of_range_number_is_a_complaint(
    parser: str, place: str, field: str, number: str, *, tmp_path: Path
) -> None:
    """Such times and bytes would otherwise enter sums and means."""
    whole = (FOLDER / place).read_text()
    if field not in whole:
        field = field.replace(" ", "")
    left = tmp_path / "left"
    left.write_text(re.sub(rf"{field}[0-9.]+", f"{field}{number}", whole, count=1))
    parsed = parsers.read(parser, left)
    if number == "-7" and field.startswith('"ended_s'):  # before the program's clock began
        assert parsed.complaint == ""
    else:
        part = parsed.complaint.partition(" is unreadable: ")[0]
        assert part in {"left", "line 1 of the access log"}
        assert not parsed.requests
    assert all(abs(observation.value) <= parsers.LONGEST_S for observation in parsed.observations)


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
def test_another_programs_output_is_a_complaint(name: str, file: Path) -> None:
    """A new version with another format would look like this: no figure is taken from it."""
    for other, left in RECORDED:
        if other != name:
            parsed = parsers.read(name, left)
            assert parsed.complaint, other
            assert not any(request.status == 200 for request in parsed.requests)
    assert parsers.read(name, file).complaint == ""


@every_parser
def test_a_missing_file_is_a_complaint(name: str, tmp_path: Path) -> None:
    """The program was stopped before it wrote: that is its failure, not an error of httpbed."""
    parsed = parsers.read(name, tmp_path / "absent")
    assert bool(parsed.complaint) == (name != "none")
    assert parsed.observations == ()


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
def test_arbitrary_output_gives_a_report(name: str, tmp_path: Path, left: bytes) -> None:
    """Nonsense is the program's failure, and httpbed goes on."""
    file = tmp_path / "left"
    file.write_bytes(left)
    report = parsers.read(name, file)
    if report.complaint.startswith("left is unreadable: "):
        assert report == ProgramReport(complaint=report.complaint)
    assert all(0 <= request.status <= parsers.MAX_COUNT for request in report.requests)
    assert all(0 <= (request.body_bytes or 0) <= parsers.MAX_COUNT for request in report.requests)
    assert all(abs(observation.value) <= parsers.LONGEST_S for observation in report.observations)


@pytest.mark.parametrize(("name", "file"), RECORDED)
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=30,
)
@given(data=st.data())
def test_damaged_real_output_gives_a_report(
    name: str, file: Path, tmp_path: Path, data: st.DataObject
) -> None:
    """Bytes are removed and inserted, also in the files beside it."""
    for source in file.parent.iterdir():
        whole = source.read_bytes()
        start = data.draw(st.integers(0, len(whole)))
        end = data.draw(st.integers(start, min(len(whole), start + 200)))
        (tmp_path / source.name).write_bytes(
            whole[:start] + data.draw(st.binary(max_size=10)) + whole[end:]
        )
    assert isinstance(parsers.read(name, tmp_path / file.name), ProgramReport)
