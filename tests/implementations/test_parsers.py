"""Parsers: what real programs printed, read; and what they print when they fail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from httpbed.implementations.parsers import PARSERS, access_log, curl
from httpbed.implementations.protocol import Request
from recorded import FOLDER

CURL, NGINX = FOLDER / "curl-8.23.0", FOLDER / "nginx-1.30.6"
every_parser = pytest.mark.parametrize("name", PARSERS)


def test_curls_times_are_read() -> None:
    """All four, in seconds from its start, with the request that they belong to."""
    found = curl.parse(CURL / "completed.json")
    times = {one.metric: one.value for one in found.observations}
    assert set(times) == set(curl.TIMES)
    assert times["client_connect_time"] < times["client_handshake_time"]
    assert times["client_handshake_time"] < times["time_to_first_byte"] < times["client_total_time"]
    assert {one.source for one in found.observations} == {"client"}
    assert found.requests == (Request("1.1", 200, 1_000_000),)
    assert found.complaint == ""


def test_curls_complaint_is_kept_in_its_words() -> None:
    """It could not connect: no time is made up for what never happened."""
    found = curl.parse(CURL / "refused.json")
    assert "Could not connect to server" in found.complaint
    assert {one.metric for one in found.observations} == {"client_total_time"}
    assert found.requests == (Request("0", 0, 0),)


def test_nginxs_log_names_all_three_protocols() -> None:
    """In the words of experiment files."""
    found = access_log.parse(NGINX / "access.jsonl")
    assert found.requests == tuple(Request(version, 200, 10**6) for version in ("1.1", "2", "3"))


def test_an_unknown_protocol_is_told_as_it_was_logged(tmp_path: Path) -> None:
    """It fits no treatment, and its name is the evidence."""
    log = tmp_path / "log"
    log.write_text('{"protocol":"HTTP/1.0","status":200,"body_bytes":1}\n')
    assert access_log.parse(log).requests == (Request("HTTP/1.0", 200, 1),)


def test_a_log_that_breaks_off_is_a_complaint(tmp_path: Path) -> None:
    """A killed server's last line is no request."""
    log = tmp_path / "log"
    log.write_text((NGINX / "access.jsonl").read_text()[:-20])
    found = access_log.parse(log)
    assert "line 3" in found.complaint
    assert found.requests == ()


@every_parser
def test_an_absent_file_means_that_nothing_was_said(name: str, tmp_path: Path) -> None:
    """The program was stopped before it wrote: a finding, not an error."""
    found = PARSERS[name](tmp_path / "absent")
    assert found.complaint
    assert found.observations == ()


LEFT = st.one_of(
    st.binary(max_size=40),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [*curl.TIMES.values(), "errormsg", "response_code", "protocol", "status"]
                ),
                inner,
            )
        ),
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
    found = PARSERS[name](file)
    assert isinstance(found.complaint, str)
