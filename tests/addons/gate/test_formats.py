"""The verdict of a gate and the medians of a campaign, as CI systems and trackers read them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema
import pytest

import stored_campaigns
from command_line import Command

BLOCKS = stored_campaigns.SMALL.replace("replicates = 2", "replicates = 8")
BMF_SCHEMA = {
    "type": "object",
    "patternProperties": {
        ".+": {
            "type": "object",
            "patternProperties": {
                ".+": {
                    "type": "object",
                    "properties": {
                        name: {"type": "number"} for name in ("value", "lower_value", "upper_value")
                    },
                    "required": ["value"],
                }
            },
        }
    },
}
"""Bencher's published schema, bencher.dev/bmf.json (draft 7)."""


def made(directory: Path, slower: Mapping[str, float], text: str = BLOCKS) -> Path:
    """Make a campaign in which some HTTP versions take longer."""
    stored_campaigns.make(
        directory,
        [
            stored_campaigns.record(
                trial,
                seconds=(1 + trial.block / 1000) * slower.get(trial.levels["http_version"], 1.0),
            )
            for trial in stored_campaigns.loaded(text).trials
        ],
        text,
    )
    return directory


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """Return two campaigns; HTTP/3 is 10 % slower in the second."""
    return made(tmp_path / "old", {}), made(tmp_path / "new", {"3": 1.1})


def test_junit_fails_the_slower_treatments_and_the_gate(
    httpbed: Command, pair: tuple[Path, Path]
) -> None:
    """A test case for each treatment, with the change as the reason."""
    code, out, _ = httpbed("gate", *pair, "--format", "junit")
    suites = ET.fromstring(out.encode())  # noqa: S314 - our own output
    cases = {element.get("name", ""): element for element in suites.iter("testcase")}
    failed = {name for name, one in cases.items() if one.find("failure") is not None}
    assert code == 1
    assert failed == {name for name in cases if "HTTP/3" in name} | {"gate"}
    assert suites.get("tests") == str(len(cases))
    assert suites.get("failures") == str(len(failed))
    reason = cases[min(failed)].find("failure")
    assert reason is not None
    assert "+10.0 %" in reason.get("message", "")


def test_junit_skips_what_is_open_unless_strict(httpbed: Command, tmp_path: Path) -> None:
    """Two blocks cannot exclude a regression; with --strict, the gate fails for it."""
    text = stored_campaigns.SMALL
    folders = [made(tmp_path / name, {}, text) for name in "ab"]
    for strict, failures in (((), "0"), (("--strict",), "1")):
        code, out, _ = httpbed("gate", *folders, "--format", "junit", *strict)
        suites = ET.fromstring(out.encode())  # noqa: S314 - our own output
        assert (code, suites.get("failures")) == (int(failures), failures)
        assert int(suites.get("skipped", "")) == len([*suites.iter("skipped")]) > 0


def test_github_gets_annotations_and_a_summary(
    httpbed: Command, pair: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One workflow command on each line; the summary keeps what other steps wrote."""
    summary = tmp_path / "summary.md"
    summary.write_text("# before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    code, out, _ = httpbed("gate", *pair, "--format", "github")
    lines = out.splitlines()
    assert code == 1
    assert all(re.fullmatch(r"::(error|warning|notice) title=[^:,]+::.+", line) for line in lines)
    assert sum(line.startswith("::error") for line in lines) == 1 + out.count("HTTP/3")
    assert "10.0 %25" in out
    assert re.fullmatch(r"# before\n\*\*.*\| HTTP/3.*", summary.read_text(), re.DOTALL)


def test_a_name_of_a_level_ends_no_workflow_command(httpbed: Command, tmp_path: Path) -> None:
    """Nor does it begin another one, or make XML that is not well-formed."""
    level = "a\\n::set-output name=x::y\\u001b[31m%0A"
    text = BLOCKS.replace("[factors]", f'[factors.t]\n"{level}" = "1 MB"\nb = "2 MB"\n\n[factors]')
    text = re.sub(r"size = .*", 'size = { factor = "t" }', text)
    old, new = made(tmp_path / "a", {}, text), made(tmp_path / "b", {"3": 1.1}, text)
    out = httpbed("gate", old, new, "--format", "github")[1]
    assert all(
        re.match(r"::(error|warning|notice) title=[^:,]+::", one) for one in out.splitlines()
    )
    assert "\x1b" not in out
    assert "%250A" in out
    out = httpbed("gate", old, new, "--format", "junit")[1]
    ET.fromstring(out.encode())  # noqa: S314 - our own output


def test_medians_are_in_the_format_of_bencher(httpbed: Command, pair: tuple[Path, Path]) -> None:
    """By their schema, with the interval around the median."""
    code, out, _ = httpbed("export", pair[1], "--format", "bmf")
    values = json.loads(out)
    jsonschema.validate(values, BMF_SCHEMA)
    assert code == 0
    slow = next(one["request-time"] for name, one in values.items() if "HTTP/3" in name)
    assert slow["lower_value"] <= slow["value"] <= slow["upper_value"]
    assert slow["value"] == pytest.approx(1.1, rel=0.01)


def test_medians_are_in_the_format_of_github_action_benchmark(
    httpbed: Command, pair: tuple[Path, Path]
) -> None:
    """A list of objects with name, unit and value, all of which it requires."""
    values = json.loads(httpbed("export", pair[0], "--format", "benchmark-action")[1])
    assert {tuple(map(type, (one["name"], one["unit"], one["value"]))) for one in values} == {
        (str, str, float)
    }
    assert len({one["name"] for one in values}) == len(values) > 1


def test_a_second_export_replaces_the_first_and_no_other_file(
    httpbed: Command, pair: tuple[Path, Path], tmp_path: Path
) -> None:
    """What another program wrote stays."""
    file = tmp_path / "out.json"
    for form in ("bmf", "benchmark-action", "bmf"):
        assert httpbed("export", pair[0], "--format", form, "-o", file)[0] == 0
    file.write_text('{"of": "somebody else"}')
    assert httpbed("export", pair[0], "--format", "bmf", "-o", file)[0] == 2
    assert "somebody" in file.read_text()


def test_a_treatment_without_a_median_is_left_out_and_named(
    httpbed: Command, tmp_path: Path
) -> None:
    """Its trials timed out, so only a bound of its median is known."""
    stored_campaigns.make(
        tmp_path / "c",
        [
            stored_campaigns.record(
                trial, kind="timed out" if trial.levels["http_version"] == "3" else "completed"
            )
            for trial in stored_campaigns.loaded(BLOCKS).trials
        ],
        BLOCKS,
    )
    _, out, err = httpbed("export", tmp_path / "c", "--format", "bmf")
    assert "HTTP/3" not in out
    assert err.count("HTTP/3") == err.count("left out") > 0
