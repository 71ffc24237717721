"""``httpbed claims``: verdicts as text and JSON, and clear refusals."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import stored_campaigns
from command_line import Command
from httpbed.store import campaign as campaigns

BLOCKS = stored_campaigns.SMALL.replace("replicates = 2", "replicates = 6")
CLAIM = """
[[claim]]
id = "L-7"
says = "HTTP/3 is faster than HTTP/2 at 2 % loss"
source = "section 4.1"
published = "half the time"
metric = "request_time"
where = { loss = "2 %" }
compare = { of = { http_version = "3" }, to = { http_version = "2" } }
expect = "< 1"

[[claim.arm]]
name = "no loss"
where = { loss = "0 %" }
"""
SECONDS = {("2", "2 %"): 2.0, ("3", "2 %"): 1.0}


def verdicts(text: str) -> list[dict[str, Any]]:
    """Return the claims of the only campaign in the JSON output."""
    (found,) = json.loads(text)["campaigns"]
    return list(found["claims"])


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a campaign of 36 completed trials in which HTTP/3 halves the time at 2 % loss."""
    text = BLOCKS + CLAIM
    records = [
        stored_campaigns.record(
            trial, seconds=SECONDS.get((trial.levels["http_version"], trial.levels["loss"]), 0.5)
        )
        for trial in stored_campaigns.loaded(text).trials
    ]
    return stored_campaigns.make(tmp_path_factory.mktemp("c") / "campaign", records, text).directory


def test_validate_counts_the_claims_of_each_scale(httpbed: Command, tmp_path: Path) -> None:
    """A claim is complete at a scale that runs all of its treatments."""
    file = tmp_path / "scaled.toml"
    scales = '[scales.smoke]\nreplicates = 1\nlevels = { loss = ["0 %"] }\n'
    scales += "[scales.standard]\nreplicates = 6\n"
    file.write_text(BLOCKS + scales + CLAIM)
    code, out, _ = httpbed("validate", file)
    assert code == 0
    assert "1 claim, 0 complete at scale smoke, 1 complete at scale standard" in out


def test_validate_checks_claims_about_another_experiment(httpbed: Command, tmp_path: Path) -> None:
    """With its file; without it, its names are not known."""
    about = CLAIM.partition("\n[[claim.arm]]")[0].replace(
        'where = { loss = "2 %" }',
        'over = ["loss"]\ntake = "largest"\n'
        'minus_other = { experiment = "elsewhere", where = { loss = "3 %" } }',
    )
    file, other = tmp_path / "experiment.toml", tmp_path / "other.toml"
    file.write_text(BLOCKS + about.replace('"< 1"', '"< 0.5"'))
    other.write_text(re.sub('name = "[a-z-]+"', 'name = "elsewhere"', BLOCKS, count=1))
    assert httpbed("validate", file)[0] == 0
    code, _, err = httpbed("validate", file, "--with", other)
    assert code == 2
    assert "claim[0].minus_other.where.loss: '3 %' is not a level of loss" in err
    file.write_text(file.read_text().replace('"3 %"', '"2 %"'))
    assert httpbed("validate", file, "--with", other)[0] == 0


def test_claims_are_printed_with_their_verdicts(httpbed: Command, campaign: Path) -> None:
    """Beside the published value, with the place in the publication."""
    code, out, _ = httpbed("claims", campaign)
    assert code == 0
    assert 'L-7  reproduced; holds only as stated, not in arm "no loss"' in out
    assert "measured 0.5 (95 % interval 0.5 .. 0.5, n = 6); published half the time" in out
    assert 'in arm "no loss": no difference, 1 (95 % interval 1 .. 1, n = 6)' in out
    assert "section 4.1" in " ".join(out.split())
    both = 'note: as stated and in arm "no loss": all blocks of a cell have the same value'
    assert both in " ".join(out.split())
    assert "1 claim: 1 reproduced" in out


def test_claims_as_json(httpbed: Command, campaign: Path) -> None:
    """All that the text says, as values."""
    code, out, _ = httpbed("claims", campaign, "--json")
    assert code == 0
    (claim,) = verdicts(out)
    assert (claim["verdict"], claim["robustness"]) == ("reproduced", "depends")
    assert claim["estimate"]["value"] == 0.5
    assert [arm["verdict"] for arm in claim["arms"]] == ["no difference"]


def test_several_campaigns_are_judged_one_by_one(
    httpbed: Command, campaign: Path, tmp_path: Path
) -> None:
    """Each under its name."""
    other = plain(tmp_path / "other", 1.0, BLOCKS + CLAIM)
    code, out, _ = httpbed("claims", campaign, other)
    assert code == 0
    assert f"{campaign}:\nL-7  reproduced" in out
    assert f"{other}:\nL-7  no difference" in out


def test_a_claim_about_two_experiments_needs_a_campaign_of_each(
    httpbed: Command, tmp_path: Path
) -> None:
    """A campaign without claims of its own is only evidence, and what differs is a warning."""
    about = CLAIM.partition("\n[[claim.arm]]")[0].replace(
        'where = { loss = "2 %" }',
        'over = ["loss"]\ntake = "largest"\nminus_other = { experiment = "elsewhere" }',
    )
    text = BLOCKS + about.replace('"< 1"', '"< 0.5"')
    ours, other = plain(tmp_path / "ours", 1.0, text), tmp_path / "other"
    elsewhere = re.sub('name = "[a-z-]+"', 'name = "elsewhere"', BLOCKS, count=1)
    read = stored_campaigns.loaded(elsewhere)
    made = stored_campaigns.manifest()
    made["programs"] = [made["programs"][0] | {"version": "9"}]
    with campaigns.opened(other, elsewhere, read.trials, made) as opened:
        invalid = stored_campaigns.record(read.trials[0], kind="invalid")
        later = stored_campaigns.record(read.trials[0], number=2)
        rest = map(stored_campaigns.record, read.trials[1:])
        stored_campaigns.keep(opened, invalid, later, *rest)
    alone = httpbed("claims", ours)
    assert (alone[0], "needs a campaign of elsewhere: name its folder too" in alone[1]) == (0, True)
    code, out, _ = httpbed("claims", ours, other)
    assert code == 0
    assert f"{other}:" not in out
    out = " ".join(out.split())
    assert "L-7 reproduced" in out
    assert "note: campaign of elsewhere: 1 invalid attempt was repeated: round-trip time" in out
    assert "not the same in the campaign of elsewhere: program curl" in out
    file = tmp_path / "later.toml"
    file.write_text(text)
    assert httpbed("claims", ours, other, "--experiment", file)[0] == 0
    code, _, err = httpbed("claims", other, "--experiment", file)
    assert (code, "name a campaign of the file's experiment as well" in err) == (2, True)


def test_claims_of_another_file_are_judged(
    httpbed: Command, campaign: Path, tmp_path: Path
) -> None:
    """A claim that was written after the run needs no new run."""
    file = tmp_path / "later.toml"
    file.write_text(BLOCKS + CLAIM.replace('"< 1"', '"> 1"'))
    assert "L-7  contradicted" in httpbed("claims", campaign, "--experiment", file)[1]
    file.write_text(BLOCKS.replace('"2 %"', '"3 %"') + CLAIM.replace('"2 %"', '"3 %"'))
    code, _, err = httpbed("claims", campaign, "--experiment", file)
    assert code == 2
    assert "claim[0].where.loss: '3 %' is not a level of loss" in err
    file.write_text(BLOCKS.replace('"2 %"', '"2 %", "3 %"') + CLAIM.replace('"2 %"', '"3 %"'))
    code, out, _ = httpbed("claims", campaign, "--experiment", file)
    assert (code, "L-7  not run" in out) == (0, True)  # a level that the file adds


def test_cells_outside_the_region_are_named(
    httpbed: Command, campaign: Path, tmp_path: Path
) -> None:
    """With their values, so that the reader sees where a general claim fails."""
    file = tmp_path / "every.toml"
    every = CLAIM.partition("\n[[claim.arm]]")[0].replace(
        'where = { loss = "2 %" }', 'over = ["loss"]'
    )
    file.write_text(BLOCKS + every)
    out = " ".join(httpbed("claims", campaign, "--experiment", file)[1].split())
    assert (
        "1 of 2 cells (95 % interval 1 .. 1, n = 6), values 0.5 to 1; outside: loss 0 % (1)" in out
    )
    _, text, _ = httpbed("claims", campaign, "--experiment", file, "--json")
    cells = verdicts(text)[0]["cells"]
    assert [(cell["levels"], cell["is_inside"]) for cell in cells] == [
        ({"loss": "0 %"}, False),
        ({"loss": "2 %"}, True),
    ]


def test_senders_that_failed_their_test_are_named(httpbed: Command, tmp_path: Path) -> None:
    """At the claims whose trials they serve, and at no other."""
    text = BLOCKS + CLAIM
    sender = {
        "implementation": "nginx",
        "version": "1.30.6",
        "sha256": "a" * 64,
        "libraries": "",
        "http_version": "3",
        "transport": "quic",
        "congestion_control": "cubic",
        "knobs": {},
        "kernel": "",
    }
    failed = {"sender": sender, "passed": False, "failed": ["back-off"], "unseen": []}
    untested = {"sender": sender | {"http_version": "2", "transport": "tcp"}, "passed": None}
    read = stored_campaigns.loaded(text)
    made = stored_campaigns.manifest() | {"senders": [failed, untested]}
    with campaigns.opened(tmp_path / "campaign", text, read.trials, made) as opened:
        stored_campaigns.keep(opened, *map(stored_campaigns.record, read.trials))
    (claim,) = verdicts(httpbed("claims", tmp_path / "campaign", "--json")[1])
    assert any("did not pass their conformance test: nginx" in one for one in claim["warnings"])
    name = "nginx 1.30.6 as a sender of HTTP/2 over TCP with cubic"
    assert f"never tested for conformance: {name}" in claim["warnings"]
    file = tmp_path / "other.toml"
    file.write_text(text.replace('of = { http_version = "3" }', 'of = { http_version = "1.1" }'))
    found = httpbed("claims", tmp_path / "campaign", "--experiment", file, "--json")[1]
    assert not any("did not pass" in one for one in verdicts(found)[0]["warnings"])


def test_links_outside_the_certificate_are_named(httpbed: Command, tmp_path: Path) -> None:
    """At the claims whose treatments have these links, and in no other arm."""
    text = BLOCKS + CLAIM
    read = stored_campaigns.loaded(text)
    lossy = {
        trial.scenario().topology.digest() for trial in read.trials if trial.levels["loss"] == "2 %"
    }
    reason = "loss 2 %: no cell that passed covers it"
    cited = {"date": "today", "outside": [reason], "outside_topologies": {reason: [*lossy]}}
    made = stored_campaigns.manifest() | {"link_certificate": cited}
    with campaigns.opened(tmp_path / "campaign", text, read.trials, made) as opened:
        stored_campaigns.keep(opened, *map(stored_campaigns.record, read.trials))
    (claim,) = verdicts(httpbed("claims", tmp_path / "campaign", "--json")[1])
    warning = "not covered by the link certificate: loss 2 %: no cell that passed covers it"
    assert warning in claim["warnings"]
    assert warning not in claim["arms"][0]["warnings"]


def test_a_warning_about_several_arms_is_printed_once(httpbed: Command, tmp_path: Path) -> None:
    """With their names; two blocks are no reason to say that 1000 would not settle it."""
    text = BLOCKS + CLAIM.replace("compare", 'over = ["loss"]\ncompare', 1)
    text = text.replace('where = { loss = "2 %" }', 'where = { loss = ["0 %", "2 %"] }')
    trials = [trial for trial in stored_campaigns.loaded(text).trials if trial.block < 3]
    records = [stored_campaigns.record(trial, seconds=trial.block) for trial in trials]
    stored_campaigns.make(tmp_path / "campaign", records, text)
    out = " ".join(httpbed("claims", tmp_path / "campaign")[1].split())
    assert "16 of 24 trials have not run" in out
    assert "would not settle it" not in out


def test_edited_observations_count_as_missing(
    httpbed: Command, campaign: Path, tmp_path: Path
) -> None:
    """The verdict rests on the other trials, and the text says so."""
    campaign = shutil.copytree(campaign, tmp_path / "campaign")
    edited = sorted(campaign.glob("trials/*/*/*/observations.jsonl"))
    for path in edited:
        if "2.0" in (text := path.read_text()):
            path.write_text(text.replace("2.0", "0.1"))
    out = " ".join(httpbed("claims", campaign)[1].split())
    assert "L-7 not run" in out
    assert "6 attempts differ from what was written and count as missing" in out


def test_a_changed_claim_resumes_the_same_campaign(campaign: Path, tmp_path: Path) -> None:
    """Claims change nothing that runs; reports judge the latest ones."""
    campaign = shutil.copytree(campaign, tmp_path / "campaign")
    read = stored_campaigns.loaded(BLOCKS)
    for text in (BLOCKS + CLAIM.replace("< 1", "> 1"), BLOCKS):
        with campaigns.opened(campaign, text, read.trials, stored_campaigns.manifest()) as opened:
            assert len(opened.attempts()) == 36
        assert campaigns.open_existing(campaign).experiment_text == text


def plain(directory: Path, seconds: float, text: str = BLOCKS, kind: str = "completed") -> Path:
    """Make a campaign in which every trial takes about this long and ends alike."""
    trials = stored_campaigns.loaded(text).trials
    records = [
        stored_campaigns.record(trial, kind=kind, seconds=seconds * (1 + index % 7 / 1000))
        for index, trial in enumerate(trials)
    ]
    stored_campaigns.make(directory, records, text)
    return directory


def test_the_gate_passes_or_fails(httpbed: Command, tmp_path: Path) -> None:
    """Exit code 1 only for a regression beyond the margin."""
    old, same, slow = (
        plain(tmp_path / name, seconds) for name, seconds in (("a", 1), ("b", 1), ("c", 1.1))
    )
    code, out, _ = httpbed("gate", old, same)
    assert code == 0
    assert out.endswith("6 treatments: 6 pass\ngate: pass\n")
    code, out, _ = httpbed("gate", old, slow)
    assert code == 1
    assert "regression: worse by more than 3 %" in " ".join(out.split())
    assert out.endswith("gate: regression: 6 of 6 treatments worse than the baseline\n")
    assert httpbed("gate", old, slow, "--margin", "15 %")[0] == 0
    code, out, _ = httpbed("gate", old, slow, "--json")
    values = json.loads(out)
    assert (code, values["verdict"]) == (1, "regression")
    assert values["comparison"]["treatments"][0]["ratio"] == pytest.approx(1.1)


def test_an_inconclusive_gate_fails_only_if_strict(httpbed: Command, tmp_path: Path) -> None:
    """Two blocks cannot exclude a regression."""
    old, now = (plain(tmp_path / name, 1.0, stored_campaigns.SMALL) for name in "ab")
    code, out, _ = httpbed("gate", old, now)
    assert code == 0
    assert "gate: inconclusive: the campaigns cannot exclude a regression (exit code 0;" in out
    assert httpbed("gate", old, now, "--strict")[0] == 1


def test_the_gate_judges_claims(httpbed: Command, campaign: Path, tmp_path: Path) -> None:
    """A claim that does not hold is a regression; the margin is not looked at."""
    code, out, _ = httpbed("gate", plain(tmp_path / "old", 1.0), campaign)
    assert code == 0
    assert "L-7  reproduced" in out
    now = plain(tmp_path / "now", 1.0, BLOCKS + CLAIM.replace('"< 1"', '"< 0.9"'))
    code, out, _ = httpbed("gate", campaign, now)
    assert code == 1
    assert "L-7  contradicted" in out
    assert out.endswith("gate: regression: claim L-7 contradicted\n")
    code, out, _ = httpbed("gate", campaign, plain(tmp_path / "same", 1.0, BLOCKS + CLAIM))
    assert code == 1
    assert "L-7  no difference" in out
    assert out.endswith("gate: regression: claim L-7 with no difference\n")


def test_a_gate_with_claims_compares_completion(
    httpbed: Command, campaign: Path, tmp_path: Path
) -> None:
    """Claims about trials that all failed are not judged, but the campaign is worse."""
    broken = plain(tmp_path / "broken", 1.0, BLOCKS + CLAIM, "failed")
    code, out, _ = httpbed("gate", campaign, broken)
    assert code == 1
    assert "regression: completes no more" in " ".join(out.split())
    assert out.endswith("gate: regression: 6 treatments complete no more\n")
    code, out, _ = httpbed("gate", campaign, broken, "--json")
    assert (code, json.loads(out)["verdict"]) == (1, "regression")


def test_a_gate_refuses_what_it_cannot_compare(httpbed: Command, tmp_path: Path) -> None:
    """Other treatments, and a metric without a better direction."""
    old, now = (plain(tmp_path / name, 1.0) for name in ("old", "now"))
    other = BLOCKS.replace('"0 %"', '"1 %"').replace('"2 %"', '"3 %"')
    found = httpbed("gate", old, plain(tmp_path / "other", 1.0, other))
    assert (found[0], "shares no treatment with" in found[2]) == (2, True)
    claiming = plain(
        tmp_path / "claiming", 1.0, other + CLAIM.replace("2 %", "3 %").replace("0 %", "1 %")
    )
    found = httpbed("gate", old, claiming)
    assert (found[0], "shares no treatment with" in found[2]) == (2, True)
    found = httpbed("gate", old, now, "--metric", "rtt")
    assert (found[0], "neither direction of rtt is worse" in found[2]) == (2, True)
