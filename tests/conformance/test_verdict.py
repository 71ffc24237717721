"""Records, and how a verdict is shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from httpbed.conformance.cells import cells
from httpbed.conformance.evidence import Evidence, Run, Runs
from httpbed.conformance.sender import Sender
from httpbed.conformance.verdict import Verdict, reach
from httpbed.model.sender import SenderKey
from httpbed.report import conformance, senders, tables
from httpbed.store import senders as records
from ideal_sender import Ideal

NASTY = "<script>alert(1)</script>"


def key(control: str = "reno") -> SenderKey:
    """Identify a sender that somebody named maliciously."""
    return SenderKey("own", NASTY, "00", "quic", control, (("knob", "1"),))


def verdict() -> Verdict:
    """Judge a sender of which one network was seen."""
    start = cells("smoke", "reno")[0]
    runs = Runs([Run(start, Ideal(lasts_s=3.0).transfer())])
    evidence = Evidence(runs, {"httpbed": "0", "command": NASTY, "host": {}}, ("x: y",), False)
    sender = Sender("own", "3", "reno", "reno", "reno", knobs={"knob": NASTY})
    return reach(sender, key(), "smoke", evidence)


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep records in a folder of the test's."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


def test_what_was_not_seen_does_not_pass() -> None:
    """Some properties passed, none failed, and yet it is no pass."""
    found = verdict()
    assert not found.failed
    assert not found.passed
    assert "not seen" in conformance.outcome(found)


def test_the_record_is_json_that_can_be_read_back(state: Path) -> None:
    """One file per sender; another sender has none."""
    path = records.write(key(), json.loads(json.dumps(verdict().as_json(), allow_nan=False)))
    assert path.is_relative_to(state)
    read = records.read(key())
    assert read is not None
    assert read["delivered_s"]["10000"] is not None
    assert records.read(key("cubic")) is None


@pytest.mark.usefixtures("state")
def test_a_standing_tells_failed_and_never_tested_apart() -> None:
    """What a manifest says of a sender."""
    assert records.standing(key())["passed"] is None
    records.write(key(), verdict().as_json())
    standing = records.standing(key())
    assert standing["passed"] is False
    assert "growth" in standing["failed"]


def test_a_damaged_record_is_none(state: Path) -> None:
    """It counts as never tested."""
    del state
    records.write(key(), {"schema": 1})
    assert records.read(key()) is None


def test_the_page_escapes_everything() -> None:
    """Names, knobs and commands are other people's words."""
    page = conformance.render(verdict())
    assert NASTY not in page
    assert "&lt;script&gt;" in page
    assert page.count("<svg") == 2


def test_the_table_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """A line for each property, and what it rests on."""
    conformance.show(verdict(), Path("r.json"), None, tables.console())
    printed = capsys.readouterr().out
    assert "initial window" in printed
    assert "not read: x: y" in printed


def test_reports_warn_of_senders() -> None:
    """With the command that settles it; of one that passed nothing is said."""
    said = {"sender": key().as_json(), "failed": ["growth"], "chosen": True, "set": {"knob": "1"}}
    found = {"senders": [said | {"passed": passed} for passed in (None, False, True)]}
    told = [
        *senders.untested(found),
        *senders.failed(found),
        *senders.untested({}),
        *senders.failed({}),
    ]
    assert len(told) == 2
    assert "never tested" in told[0]
    assert "httpbed conformance own --congestion-control reno --knob=knob=1" in told[0]
    assert "did not pass: growth" in told[1]
