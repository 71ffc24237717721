"""``httpbed diff``: what differs between two campaigns, and each treatment's ratio."""

from __future__ import annotations

import json
from pathlib import Path

import stored_campaigns
from command_line import Command
from httpbed.store import campaign as campaigns

BLOCKS = stored_campaigns.SMALL.replace("replicates = 2", "replicates = 8")


def made(
    directory: Path, factor: float, text: str = BLOCKS, sha256: str = "a" * 64, clock: str = "real"
) -> Path:
    """Make a campaign whose times vary from block to block."""
    trials = stored_campaigns.loaded(text).trials
    manifest = stored_campaigns.manifest(sha256=sha256) | {"clock": clock}
    with campaigns.opened(directory, text, trials, manifest) as campaign:
        records = [
            stored_campaigns.record(
                trial, seconds=factor * trial.block * (1 + trial.position / 1000)
            )
            for trial in trials
        ]
        stored_campaigns.keep(campaign, *records)
    return directory


def test_another_version_is_compared_in_pairs(httpbed: Command, tmp_path: Path) -> None:
    """The program is named with both digests, and each treatment has its ratio."""
    old, new = made(tmp_path / "a", 1.0), made(tmp_path / "b", 0.9, sha256="0" * 64)
    code, out, err = httpbed("diff", old, new)
    assert code == 0
    assert "program curl was 8.23.0 (aaaaaaaaaaaa) and is now 8.23.0 (000000000000)" in out
    assert "4519.5 ms  4067.5 ms  -10.0 % [-10.0, -10.0]  8 paired  8/8, 8/8   lower" in out
    assert out.endswith("6 treatments: 6 lower\n")
    assert "the campaigns ran at different times" in err


def test_other_settings_are_named_and_not_paired(httpbed: Command, tmp_path: Path) -> None:
    """Blocks of other seeds or settings met other losses."""
    text = BLOCKS.replace('"25 ms"', '"30 ms"').replace('"0 %", ', "")
    old, new = made(tmp_path / "a", 1.0), made(tmp_path / "b", 1.1, text)
    code, out, err = httpbed("diff", old, new)
    assert code == 0
    assert 'topology.links[0].delay was "25 ms" and is now "30 ms"' in out
    assert "8 and 8" in out
    assert out.endswith("3 treatments: 3 open\n")
    assert "3 of 3 treatments have no trial in common" in err
    assert "3 treatments only in A, not compared" in err


def test_another_clock_is_named_once(httpbed: Command, tmp_path: Path) -> None:
    """The experiment and the manifest both have it."""
    old = made(tmp_path / "a", 1.0)
    new = made(tmp_path / "b", 1.0, 'clock = "virtual"\n' + BLOCKS, clock="virtual")
    assert httpbed("diff", old, new)[1].count("clock was") == 1


def test_the_values_are_json(httpbed: Command, tmp_path: Path) -> None:
    """With null in place of what is not a number."""
    old, new = made(tmp_path / "a", 1.0), made(tmp_path / "b", 1.0)
    found = json.loads(httpbed("diff", old, new, "--json")[1])
    assert (found["schema"], found["metric"], found["changes"]) == (1, "request_time", [])
    assert found["only_in"] == {"a": 0, "b": 0}
    first = found["treatments"][0]
    assert first["levels"] == {"http_version": "1.1", "loss": "0 %"}
    assert (first["change"], first["pairs"], first["ratio"]) == ("equal", 8, 1.0)
    assert first["completed"] == first["recorded"] == [8, 8]
    without = json.loads(httpbed("diff", old, new, "--json", "--metric", "goodput")[1])
    assert without["treatments"][0]["ratio"] is None


def test_a_side_without_values_is_named(httpbed: Command, tmp_path: Path) -> None:
    """That no value was measured is not told as a value of zero."""
    old, new = made(tmp_path / "a", 1.0), made(tmp_path / "b", 1.0)
    out = httpbed("diff", old, new, "--metric", "goodput")[1]
    assert "A and B" in out
    assert "zero" not in out


def test_campaigns_without_a_common_treatment_are_a_mistake(
    httpbed: Command, tmp_path: Path
) -> None:
    """With the remedy."""
    other = BLOCKS.replace('["0 %", "2 %"]', '["1 %"]')
    code, _, err = httpbed("diff", made(tmp_path / "a", 1.0), made(tmp_path / "b", 1.0, other))
    assert code == 2
    assert "shares no treatment with" in err
