"""Records of conformance tests, and how a judgement is shown."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from httpbed.addons.conformance import conformance_report as conformance
from httpbed.addons.conformance import conformance_session
from httpbed.addons.conformance import sender as records
from httpbed.addons.conformance import senders_report as senders
from httpbed.addons.conformance.judgement import ConformanceEvidence, Judgement
from httpbed.addons.conformance.networks import networks
from httpbed.addons.conformance.properties import SenderTransfer, Transfers
from httpbed.addons.conformance.sender import Sender, SenderKey
from httpbed.addons.conformance.suites import reach
from httpbed.report import publish, terminal, terminal_report
from httpbed.report.phrasing import in_one_line
from ideal_sender import Ideal

FOLDER = Path("my campaign")
NASTY = "<script>alert(1)</script>"


def key(control: str = "reno") -> SenderKey:
    """Return the key of a sender with a malicious name."""
    return SenderKey("own", NASTY, "00", "", "3", "quic", control, (("knob", "1"),))


def judgement() -> Judgement:
    """Judge a sender with trials of one network."""
    start = networks("smoke", "reno")[0]
    transfers = Transfers(
        networks("smoke", "reno"), [SenderTransfer(start, Ideal(lasts_s=3.0).transfer())]
    )
    evidence = ConformanceEvidence(
        transfers, {"httpbed": "0", "command": NASTY, "host": {}}, ("x: y",), False
    )
    sender = Sender("own", "3", "reno", "reno", "reno", knobs={"knob": NASTY})
    return reach(sender, key(), "smoke", evidence)


def test_a_test_without_a_download_leaves_no_record(state: Path) -> None:
    """The terminal says so in one sentence."""
    seen = judgement()
    none = replace(seen.evidence, transfers=Transfers(networks("smoke", "reno"), []))
    found = reach(seen.sender, key(), "smoke", none)
    assert conformance.outcome(found) == "nothing judged: no download succeeded"
    assert conformance_session.keep(found) is None
    assert not list(state.iterdir())


@pytest.mark.parametrize(
    "options", ["", " -o kept", " --jobs 2", " --jobs=1 --output 'a folder' --json"]
)
def test_the_command_of_a_test_is_that_of_its_repetition(options: str) -> None:
    """Where the evidence is kept, and how many trials run side by side, changes no packet."""
    seen = judgement().evidence
    for rest in ("", " --suite bbr"):
        said = replace(seen, manifest={"command": f"httpbed conformance nginx{options}{rest}"})
        assert said.command == f"httpbed conformance nginx{rest}"


def test_no_note_recommends_testing_the_end_of_a_tunnel() -> None:
    """Its command could not work."""
    said = {"sender": key().as_json(), "passed": None, "testable": False}
    (told,) = senders.untested({"senders": [said]}, FOLDER)
    assert "httpbed conformance" not in told


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep records in the test's own folder."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


def test_a_property_that_was_not_judged_does_not_pass() -> None:
    """Some properties passed and none failed."""
    found = judgement()
    assert not found.failed
    assert not found.passed
    assert "not seen" in conformance.outcome(found)


def test_the_record_is_json_that_can_be_read_back(state: Path) -> None:
    """One file per sender; another sender has none."""
    path = records.write(
        key(), "smoke", json.loads(json.dumps(judgement().as_json(), allow_nan=False))
    )
    assert path.is_relative_to(state)
    read = records.read(key())
    assert read is not None
    assert read["delivered_s"]["10000"] is not None
    assert records.read(key("cubic")) is None


@pytest.mark.usefixtures("state")
def test_a_standing_distinguishes_failed_from_never_tested() -> None:
    """The manifest contains the standing."""
    assert records.standing(key())["passed"] is None
    records.write(key(), "smoke", judgement().as_json())
    standing = records.standing(key())
    assert standing["passed"] is False
    assert standing["failed"] == []
    assert "growth" in standing["unseen"]


@pytest.mark.usefixtures("state")
def test_the_largest_scale_decides() -> None:
    """A smaller test neither hides a failure nor a pass of a larger one."""
    records.write(key(), "full", judgement().as_json() | {"scale": "full"})
    records.write(key(), "smoke", judgement().as_json() | {"passed": True})
    assert records.standing(key())["scale"] == "full"
    assert records.standing(key())["passed"] is False


@pytest.mark.usefixtures("state")
def test_a_report_uses_tests_made_after_the_campaign() -> None:
    """The manifest stays unchanged, and so does a sender without a test."""
    before: dict[str, Any] = {"sender": key().as_json(), "passed": None, "set": {"knob": "1"}}
    other = {"sender": key().as_json() | {"implementation": "other"}, "passed": None}
    manifest: dict[str, Any] = {"senders": [before, other], "seed": 1}
    assert records.refreshed(manifest) == manifest
    records.write(key(), "smoke", judgement().as_json() | {"passed": True})
    known, unknown = records.refreshed(manifest)["senders"]
    assert (known["passed"], known["set"], unknown) == (True, {"knob": "1"}, other)
    assert manifest["senders"][0]["passed"] is None


def test_a_sender_judged_as_another_leaves_no_record() -> None:
    """A Reno sender that fails as BBR is not wrong."""
    assert not Sender("own", "3", "reno", "reno", "bbr").is_judged_by_name
    assert Sender("own", "3", None, "newreno", "reno").is_judged_by_name
    assert Sender("own", "3", None, "copa", "reno").is_judged_by_name


def test_a_damaged_record_is_ignored(state: Path) -> None:
    """The sender counts as never tested."""
    del state
    records.write(key(), "smoke", {"schema": 1})
    assert records.read(key()) is None


def test_the_html_report_escapes_everything() -> None:
    """Names, knobs and commands come from users."""
    page = publish.in_html(conformance.document(judgement(), draws=True))
    assert NASTY not in page
    assert "&lt;script&gt;" in page
    assert page.count("<svg") == 1


def test_the_html_report_shows_the_command_without_a_full_stop() -> None:
    page = publish.in_html(conformance.document(judgement(), draws=False))
    assert "<pre><code>&lt;script&gt;alert(1)&lt;/script&gt;</code></pre>" in page


def test_the_terminal_shows_a_table_of_properties(capsys: pytest.CaptureFixture[str]) -> None:
    """A line for each property, and the evidence below."""
    terminal_report.show(conformance.document(judgement(), draws=False), None, terminal.console())
    printed = capsys.readouterr().out
    assert "initial window" in printed
    assert "not read: x: y" in printed


def test_reports_warn_of_failed_and_untested_senders() -> None:
    """The note has the command that tests a sender; senders that passed have none."""
    said = {
        "sender": key().as_json(),
        "failed": ["growth"],
        "unseen": ["start"],
        "chosen": True,
        "set": {"knob": "1"},
    }
    made = {"recipe_folders": ["ci"], "own_programs": {"own": "/bin/own"}}
    found = {"senders": [said | {"passed": passed} for passed in (None, False, True)], **made}
    told = [*senders.untested(found, FOLDER), *in_one_line(senders.failed(found), "senders")]
    assert [*senders.untested({}, FOLDER), *senders.failed({})] == []
    assert len(told) == 2
    assert "never tested" in told[0]
    asked = "httpbed conformance own --http-version 3 --congestion-control reno --knob=knob=1"
    assert f"{asked} --recipes=ci --program=own=/bin/own" in told[0]
    assert "did not pass: growth; not seen: start" in told[1]


def test_the_test_of_a_second_build_names_its_program() -> None:
    """No recipe has the name of a second build; and its clock is the campaign's."""
    second = {"own-new": {"of": "own", "path": "/bin/new"}}
    made = {"clock": "virtual", "own_programs": {"own": "/bin/old"}, "second_builds": second}
    sender = replace(key(), implementation="own-new").as_json()
    (note,) = senders.untested({"senders": [{"sender": sender, "passed": None}], **made}, FOLDER)
    assert "httpbed conformance own --http-version 3" in note
    assert note.endswith("--clock=virtual --program=own=/bin/new")


def test_several_untested_senders_have_one_command() -> None:
    """It tests every sender of the campaign."""
    node = {"sender": key().as_json(), "passed": None}
    (note,) = senders.untested({"senders": [node, node], "recipe_folders": ["ci"]}, FOLDER)
    assert note.startswith("2 senders were never tested")
    assert "httpbed conformance --campaign 'my campaign' --recipes=ci tests them" in note
