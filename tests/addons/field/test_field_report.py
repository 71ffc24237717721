"""What curl's reports become: outcomes, the table, JSON, the exit code."""

from __future__ import annotations

import json
from io import StringIO
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from command_line import Command, command
from httpbed.addons.field import field_report, field_verb, measurement, request
from httpbed.addons.field.measurement import Measurement, Wanted
from httpbed.addons.field.request import Outcome
from httpbed.addons.field.target import Target, Url
from httpbed.experiment.roles import HttpVersion
from httpbed.report.terminal import Console

TARGET = Target(Url("https://a.example/file", "a.example", 443), ip_address("20.1.0.1"))


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Command:
    """Return httpbed's command line."""
    return command(monkeypatch, capfdbinary)


def wanted(blocks: int = 6, *, own: bool = False) -> Wanted:
    return Wanted(("1.1", "2", "3"), blocks, 1, 1.0, own, "")


def report(version: str = "2", status: int = 200, code: int = 0, **more: Any) -> str:
    """Return what curl reports of a request."""
    transfer = {
        "http_version": version,
        "response_code": status,
        "remote_ip": "20.1.0.1",
        "size_download": 1000,
        "exitcode": code,
        "errormsg": None,
        "time_namelookup": 0.001,
        "time_connect": 0.041,
        "time_appconnect": 0.081,
        "time_starttransfer": 0.121,
        "time_total": 0.161,
        **more,
    }
    return json.dumps({"transfer": transfer, "headers": {"alt-svc": ['h3=":443"'], "x": ["y"]}})


def test_times_begin_with_the_connection() -> None:
    """The address is known before, so curl's look-up is none."""
    outcome = request.read(report(), 1, "2", TARGET)
    assert not outcome.failure
    times = (outcome.tcp_handshake_s, outcome.handshake_s, outcome.first_byte_s, outcome.request_s)
    assert times == pytest.approx((0.04, 0.08, 0.12, 0.16))
    assert outcome.headers == {"alt-svc": 'h3=":443"'}


@pytest.mark.parametrize(
    "text",
    [
        report(version="1.1"),
        report(status=503),
        report(code=7, status=0, errormsg="Could not connect"),
        report(code=28, status=0, time_appconnect=0),
        report(remote_ip="20.1.0.2"),
        report(remote_ip=""),
        report(size_download="x"),
        *("", "[]", "{}", "null", '{"transfer": {}, "headers": []}'),
    ],
)
def test_a_request_that_did_not_get_what_it_asked_for_has_failed(text: str) -> None:
    """Another version, an error, another address, and a report that cannot be read."""
    outcome = request.read(text, 1, "2", TARGET)
    assert outcome.failure
    assert not outcome.is_censored


def test_a_response_at_the_time_limit_is_censored() -> None:
    """One that never got a connection is not: nothing is known of its time."""
    assert request.read(report(code=28), 1, "2", TARGET).is_censored
    assert not request.read(report(code=28, version="1.1"), 1, "2", TARGET).is_censored


def test_every_request_goes_to_the_address_and_to_nothing_else() -> None:
    """The option holds for every host and port; redirects, proxies and settings are off."""
    words = request.words(TARGET, "3", 1000, "agent")
    assert words[words.index("--connect-to") + 1] == "::20.1.0.1:443"
    assert {"--disable", "--noproxy", "--http3-only", "--globoff"} <= {*words}
    assert "--location" not in words
    ipv6 = Target(TARGET.url, ip_address("2600:1::1"))
    assert "::[2600:1::1]:443" in request.words(ipv6, "2", 1000, "agent")


def made(*, without_h3: bool = False) -> Measurement:
    """Return six blocks: HTTP/3 takes half of the time of HTTP/2."""
    measured = Measurement(TARGET, wanted(), "8.23.0")
    measured.outcomes.append(request.read(report(), 0, "2", TARGET))
    for block in range(1, 7):
        for version, total_s in (("1.1", 0.2), ("2", 0.2), ("3", 0.1)):
            spread_s = total_s + block / 1000 + 0.001
            text = report(version, time_total=spread_s, time_starttransfer=0.05)
            if version == "3" and without_h3:
                text = report(version, status=0, code=28, time_appconnect=0)
            asked: HttpVersion = version  # type: ignore[assignment]
            measured.outcomes.append(request.read(text, block, asked, TARGET))
    return measured


def shown(measured: Measurement, width: int = 100) -> str:
    out = Console(file=StringIO(), width=width)
    field_report.show(measured, out)
    text = out.file
    assert isinstance(text, StringIO)
    return text.getvalue()


def test_versions_are_compared_within_blocks() -> None:
    """The look at the URL is in no figure."""
    values = field_report.values(made())
    by_version = {one["http_version"]: one for one in values["versions"]}
    assert {one["request_time"]["n"] for one in by_version.values()} == {6}
    assert by_version["3"]["ratio"]["judgement"] == "less"
    assert by_version["2"]["ratio"] is None
    assert values["round_trips_s"] == [pytest.approx(0.04)] * 12
    assert json.loads(json.dumps(values)) == values


def test_a_version_without_a_response_has_no_number() -> None:
    """Its reason is stated, and the exit code is 1."""
    measured = made(without_h3=True)
    values = field_report.values(measured)
    assert values["versions"][2]["request_time"] is None
    assert "0/6" in shown(measured)
    assert "UDP may be blocked" in shown(measured)
    assert field_verb.exit_code(measured) == 1
    assert field_verb.exit_code(made()) == 0


def test_what_is_not_controlled_is_stated_beside_the_numbers() -> None:
    """Lines fit the terminal, and a server's text moves no cursor."""
    measured = made()
    evil = Outcome(1, "2", status=200, headers={"server": "a\x1b[2Jb"})
    measured.outcomes.append(evil)
    text = shown(measured, 80)
    assert "congestion control" in text
    assert "\x1b[2J" not in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("own", [False, True])
def test_the_longest_body_keeps_all_requests_within_the_limit(own: bool) -> None:
    """This holds for a body of unknown length, too: curl stops there."""
    asked = wanted(own=own)
    assert asked.most_bytes * asked.requests <= asked.bounds.total_bytes


@pytest.mark.parametrize(
    "text",
    [
        report(status=301, code=0),
        report(status=404),
        report(code=63),
        report(code=28),
    ],
)
def test_a_url_that_is_unfit_is_refused_after_the_first_look(text: str) -> None:
    """It redirects, is an error, or is too long."""
    assert measurement.look_mistake(request.read(text, 0, "2", TARGET), made())


def test_a_server_without_a_final_response_does_not_redirect() -> None:
    """Endless interim responses end with curl's bound on headers."""
    endless = report(status=103, code=100, errormsg="Too many response headers")
    mistake = measurement.look_mistake(request.read(endless, 0, "2", TARGET), made())
    assert mistake
    assert "redirect" not in f"{mistake.reason} {mistake.remedy}"


def test_a_field_result_is_no_campaign(run: Command, tmp_path: Path) -> None:
    """No verb pools it with results of a bed."""
    file, other = tmp_path / "field.json", tmp_path / "other.json"
    for path in (file, other):
        path.write_text(json.dumps(field_report.values(made())))
    for words in (["report", file], ["diff", file, other], ["gate", file, other]):
        code, _, err = run(*words)
        assert code == 2, err
        assert "twice" not in err


def test_an_option_of_the_other_form_is_no_option_of_this_one(run: Command) -> None:
    """The message names the form whose help lists its options: compare itself has ``-o``."""
    code, _, err = run("compare", "https://good.field.example/file", "-o", "folder")
    assert code == 2
    assert "https://HOST/FILE --help" in err


def test_more_blocks_than_permitted_are_not_recommended_without_a_word() -> None:
    """What settles the noise may be more than a server of somebody else should get."""
    measured = made()
    for outcome in measured.outcomes:
        if outcome.http_version == "3" and outcome.block:
            noisy_s = 0.2 + (0.05 if outcome.block % 2 else -0.05)
            object.__setattr__(outcome, "request_s", noisy_s)
    text = " ".join(shown(measured).split())
    assert "would settle" in text
    assert f"than the {measured.wanted.most_blocks} permitted; --i-own-this" in text
