"""``httpbed advise``: answers as text and JSON, and clear refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import stored_campaigns
from command_line import Command
from httpbed.base import digests
from httpbed.store import layout

BLOCKS = stored_campaigns.SMALL.replace("replicates = 2", "replicates = 6")
SECONDS = {"1.1": 3.0, "2": 2.0, "3": 1.0}
NEAR = ("--rate", "10mbit", "--delay", "25ms", "--loss", "2%", "--size", "1MB")


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    """Make a campaign of 36 completed trials in which HTTP/3 is the fastest."""
    records = [
        stored_campaigns.record(trial, seconds=SECONDS[trial.levels["http_version"]])
        for trial in stored_campaigns.loaded(BLOCKS).trials
    ]
    stored_campaigns.make(tmp_path / "campaign", records, BLOCKS)
    return tmp_path / "campaign"


def in_one_line(text: str) -> str:
    """Return text without its line breaks."""
    return " ".join(text.split())


def answer(out: str) -> dict[str, Any]:
    """Return the JSON output."""
    found: dict[str, Any] = json.loads(out)
    return found


def test_the_answer_names_the_best_with_its_interval_and_distance(
    httpbed: Command, campaign: Path
) -> None:
    """And every other treatment with its ratio to the best."""
    code, out, err = httpbed("advise", campaign, *NEAR)
    assert (code, err) == (0, "")
    text = in_one_line(out)
    assert "question 10 Mbit/s, 25 ms one way, 2 % loss, 1 MB; by request time" in text
    assert "distance 0 doublings: rate, delay, loss and size as in the question" in text
    assert "answer best: HTTP/3, cubic, no proxy (curl 8.23.0 from" in text
    assert "1.00 s (95 % interval 1.00 .. 1.00, n = 6, 6/6 completed)" in text
    assert "worse HTTP/2, cubic, no proxy" in text
    assert "2.00x the best (95 % interval 2.00 .. 2.00)" in text
    assert "rule conditions are near if no factor differs by more than 1 doubling" in text


def test_the_answer_as_json(httpbed: Command, campaign: Path) -> None:
    """All that the text says, as values."""
    code, out, _ = httpbed("advise", campaign, *NEAR, "--json")
    assert code == 0
    found = answer(out)
    assert (found["schema"], found["answer"], found["unit"]) == (1, "best", "s")
    (near,) = found["near"]
    assert near["differences"]["rate"] == {"wanted": 1e7, "measured": 1e7, "doublings": 0.0}
    best, second, third = near["treatments"]
    assert (best["standing"], best["http_version"], best["proxies"]) == ("best", "3", [])
    assert (second["median"], second["ratio_to_best"]["value"]) == (2.0, pytest.approx(2.0))
    assert third["congestion_control"] == {"server": "cubic"}


def test_far_conditions_are_not_measured(httpbed: Command, campaign: Path) -> None:
    """The nearest are named with what is too far, and with a command that measures them."""
    far = ("--rate", "1gbit", "--delay", "25ms", "--loss", "2%", "--size", "1MB")
    code, out, _ = httpbed("advise", campaign, *far)
    assert code == 0
    text = in_one_line(out)
    assert "answer not measured: no campaign has conditions that are near" in text
    assert "rate 10 Mbit/s instead of 1 Gbit/s (0.01 times, too far)" in text
    assert (
        "httpbed compare curl:h2 curl:h3 --rate=1Gbit/s --delay=25ms --loss=2% --size=1MB" in text
    )
    code, out, _ = httpbed("advise", campaign, *far, "--json")
    assert (code, answer(out)["answer"], answer(out)["near"]) == (0, "not measured", [])


def test_a_page_is_not_measured_by_downloads(httpbed: Command, campaign: Path) -> None:
    """The page is known to httpbed, but no campaign loads a page."""
    page = (*NEAR[:6], "--page", "startbootstrap-agency")
    code, out, _ = httpbed("advise", campaign, *page)
    assert code == 0
    assert "by page load time, lower is better" in in_one_line(out)
    assert "nearest none: they load no page" in in_one_line(out)


def test_wrong_quantities_are_all_refused_at_once(httpbed: Command, tmp_path: Path) -> None:
    """Each with its option, a reason and an example; so is a folder that is no campaign."""
    code, out, err = httpbed(
        *("advise", tmp_path, "--rate", "-5mbit", "--delay", "40parsecs", "--loss", "400%"),
        *("--metric", "request_tme"),
    )
    assert (code, out) == (2, "")
    lines = err.splitlines()
    assert "--rate: '-5 Mbit/s' is negative" in lines[0]
    assert "--delay: unknown unit 'parsecs'" in lines[1]
    assert "--loss: '400 %' is above 100 %" in lines[2]
    assert "--size: is missing; add --size 1MB or --page NAME" in lines[3]
    assert "--metric: unknown metric 'request_tme'; did you mean request_time" in lines[4]
    assert f"{tmp_path}: is not a campaign" in lines[5]
    assert all("; " in line for line in lines)


def test_a_page_must_be_known_and_excludes_a_size(httpbed: Command, campaign: Path) -> None:
    """With the closest known names; a metric without a direction cannot decide."""
    code, _, err = httpbed("advise", campaign, *NEAR, "--page", "startbootstrap-agenzy")
    assert code == 2
    assert "--size: does not go with --page" in err
    assert "no page is named 'startbootstrap-agenzy'; did you mean startbootstrap-agency" in err
    code, _, err = httpbed("advise", campaign, *NEAR, "--metric", "rtt")
    assert code == 2
    assert "rtt is better neither when lower nor higher" in err
    code, _, err = httpbed("advise", campaign, *NEAR, "--metric", "file_time")
    assert code == 2
    assert "file_time has a value for each file or resource" in err


def test_a_campaign_without_valid_trials_is_refused(httpbed: Command, tmp_path: Path) -> None:
    """One that has not begun, and one whose attempts are all invalid."""
    trials = stored_campaigns.loaded().trials
    stored_campaigns.make(tmp_path / "empty")
    invalid = [stored_campaigns.record(trial, kind="invalid") for trial in trials]
    stored_campaigns.make(tmp_path / "invalid", invalid)
    code, _, err = httpbed("advise", tmp_path / "empty", tmp_path / "invalid", *NEAR)
    assert code == 2
    assert "empty: has no finished trial; resume it with httpbed run" in err
    assert "invalid: has no valid trial; resume it with httpbed run" in err


def test_a_campaign_of_another_schema_is_refused(httpbed: Command, campaign: Path) -> None:
    """Its manifest says so."""
    file = campaign / layout.MANIFEST
    found = digests.unsealed(file.read_bytes())
    file.write_bytes(digests.sealed(found | {"schema": 7}))
    for arguments in (NEAR, ()):
        verb = "advise" if arguments else "export"
        code, _, err = httpbed(verb, campaign, *arguments)
        assert code == 2
        assert (
            "manifest.json: has schema 7, and this httpbed reads schema 1; use the httpbed" in err
        )


def test_two_campaigns_answer_separately(httpbed: Command, campaign: Path, tmp_path: Path) -> None:
    """Trials of two campaigns are not compared, because other things may differ between them."""
    other = BLOCKS.replace('"10 Mbit/s"', '"9 Mbit/s"').replace("seed = ", "seed = 1")
    records = [stored_campaigns.record(one) for one in stored_campaigns.loaded(other).trials]
    stored_campaigns.make(tmp_path / "other", records, other)
    code, out, _ = httpbed("advise", tmp_path / "other", campaign, *NEAR, "--json")
    assert code == 0
    near = answer(out)["near"]
    assert [Path(one["campaign"]).name for one in near] == ["campaign", "other"]
    assert [len(one["treatments"]) for one in near] == [3, 3]
    assert near[1]["distance_doublings"] == pytest.approx(0.152, abs=0.001)
    assert near[1]["verdict"] == "best"
    assert [one["standing"] for one in near[1]["treatments"]] == ["best", "equal", "equal"]
