"""Results over commits: kept in lines, on a branch too, with their changes of level."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import stored_campaigns
from command_line import Command
from git_repositories import git
from httpbed.addons.gate import history, trend
from httpbed.addons.gate.history import Branch, Entry, Folder
from httpbed.base.errors import ConfigError


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a repository with one commit."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "--quiet")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "first <script>")
    return folder


def entries(values: list[float], subject: str = "change") -> list[Entry]:
    return [
        Entry(
            commit=f"{number:040x}",
            date="2026-11-24T12:00:00+00:00",
            subject=subject,
            scenario="standard",
            clock="virtual",
            metric="request_time",
            values={"HTTP/3": [value]},
        )
        for number, value in enumerate(values)
    ]


def test_an_exact_step_is_found_at_its_commit() -> None:
    """In virtual time the levels have no noise; the third value of the new one settles it."""
    (found,) = trend.change_points([1.0] * 20 + [1.01] * 3)
    assert (found.index, found.before, found.after) == (20, 1.0, 1.01)
    assert found.p_value <= trend.SIGNIFICANCE
    assert trend.change_points([1.0] * 20 + [1.01]) == []
    assert trend.change_points([1.0] * 1500) == []


def test_steps_up_and_down_in_noise_are_found() -> None:
    """Of two deviations, at their places to within a few commits."""
    rng = np.random.default_rng(4)
    levels = np.repeat([10.0, 12.0, 10.0], [60, 50, 70])
    found = trend.change_points(list(levels + rng.normal(size=180)))
    assert [point.index for point in found] == [pytest.approx(60, abs=4), pytest.approx(110, abs=4)]
    assert found[0].ratio > 1 > found[1].ratio


def test_series_without_a_change_rarely_have_one() -> None:
    """At the stated rate of 1 %; this test fails for a right program in 1 of 10,000 seeds."""
    rng, runs = np.random.default_rng(5), 300
    alarms = sum(bool(trend.change_points(list(rng.normal(size=40)))) for _ in range(runs))
    assert alarms <= stats.binom.isf(1e-4, runs, trend.SIGNIFICANCE)


def test_jobs_that_write_at_once_lose_nothing(repository: Path, tmp_path: Path) -> None:
    """Into a folder and onto a branch, with each line whole."""
    for kept in (Folder(tmp_path / "history"), Branch(repository, "results")):
        own = entries([float(number) for number in range(12)])
        with ThreadPoolExecutor(4) as jobs:
            list(jobs.map(lambda one, kept=kept: kept.append([one]), own))
        assert sorted(entry.commit for entry in kept.read()) == [entry.commit for entry in own]
    assert git(repository, "log", "--oneline", "results").count("\n") == 11
    assert git(repository, "status", "--porcelain") == ""


def test_a_branch_with_further_files_keeps_them(repository: Path) -> None:
    """A history branch to which a user added a README is refused, not rewritten."""
    kept = Branch(repository, "results")
    kept.append(entries([1.0]))
    git(repository, "checkout", "--quiet", "results")
    (repository / "README").write_text("mine")
    git(repository, "add", "README")
    git(repository, "commit", "--quiet", "--message", "mine")
    git(repository, "checkout", "--quiet", "--detach")
    with pytest.raises(ConfigError, match="other files"):
        kept.append(entries([2.0]))
    assert git(repository, "show", "results:README") == "mine"


def test_a_branch_that_is_checked_out_does_not_move(repository: Path) -> None:
    """Its work tree would take the new lines back with the next commit; reading it is harmless."""
    kept = Branch(repository, "results")
    kept.append(entries([1.0]))
    git(repository, "checkout", "--quiet", "results")
    with pytest.raises(ConfigError, match="checked out in"):
        kept.append(entries([2.0]))
    assert git(repository, "status", "--porcelain") == ""
    assert len(kept.read()) == 1


def test_a_branch_is_written_from_a_hook_and_a_bare_repository(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """git's variables for its hooks name another repository and another index."""
    bare = tmp_path / "b ä.git"
    git(tmp_path, "clone", "--quiet", "--bare", str(repository), str(bare))
    monkeypatch.setenv("GIT_DIR", str(repository / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", ".git/index")
    Branch(bare, "results").append(entries([1.0]))
    assert len(Branch(bare, "results").read()) == 1
    assert Branch(repository, "results").read() == []


def test_a_file_of_another_program_is_not_extended(tmp_path: Path) -> None:
    """It stays as it is."""
    file = tmp_path / history.FILE
    file.write_text('{"of": "another program"}\n')
    with pytest.raises(ConfigError, match="line 1"):
        Folder(tmp_path).append(entries([1.0]))
    assert file.read_text() == '{"of": "another program"}\n'


def test_entries_follow_a_last_line_without_its_end(tmp_path: Path) -> None:
    """An editor removed it."""
    Folder(tmp_path).append(entries([1.0]))
    file = tmp_path / history.FILE
    file.write_bytes(file.read_bytes().rstrip())
    Folder(tmp_path).append(entries([2.0]))
    assert [entry.values["HTTP/3"][0] for entry in Folder(tmp_path).read()] == [1.0, 2.0]


def test_a_folder_without_git_is_named(httpbed: Command, tmp_path: Path) -> None:
    """And not taken for a branch without results."""
    code, _, err = httpbed("history", "--in", "branch:results", "--repository", tmp_path)
    assert code == 3
    assert "not a git repository" in err


def test_each_damaged_line_is_named(tmp_path: Path) -> None:
    """Cut in the middle, of another version, or no JSON; nothing is lost."""
    kept = Folder(tmp_path)
    kept.append(entries([1.0, 2.0]))
    file = tmp_path / history.FILE
    good = file.read_bytes()
    file.write_bytes(good + good[:40] + b'\n{"schema_version": 2}\n[]\n')
    damages: list[dict[str, object]] = [{"values": {"HTTP/3": []}}, {"metric": "unknown"}]
    for damage in damages:
        with file.open("a") as lines:
            lines.write(json.dumps(json.loads(good.splitlines()[0]) | damage) + "\n")
    with pytest.raises(ConfigError) as refused:
        kept.read()
    places = [mistake.place.rpartition(" ")[2] for mistake in refused.value.mistakes]
    assert places == ["3", "4", "5", "6", "7"]
    assert file.read_bytes().startswith(good)


def test_the_latest_measurement_of_a_commit_counts(tmp_path: Path) -> None:
    """And a history of two scenarios has a series for each."""
    first, second = entries([1.0, 1.0])
    again = first.model_copy(update={"values": {"HTTP/3": [3.0]}})
    other = second.model_copy(update={"scenario": "other"})
    Folder(tmp_path).append([first, second, again, other])
    found = trend.trends(Folder(tmp_path).read())
    assert {one.scenario: one.medians for one in found} == {"standard": [3.0, 1.0], "other": [1.0]}


def test_a_campaign_is_added_to_a_branch_and_shown(
    httpbed: Command, repository: Path, tmp_path: Path
) -> None:
    """With the commit's hash; names from the repository are escaped in the page."""
    records = map(stored_campaigns.record, stored_campaigns.loaded().trials)
    stored_campaigns.make(tmp_path / "campaign", list(records))
    words = ("--in", "branch:results", "--repository", repository)
    code, out, _ = httpbed("history", tmp_path / "campaign", *words, "-o", tmp_path / "page")
    assert code == 0, out
    line = json.loads(git(repository, "show", f"results:{history.FILE}"))
    assert line["commit"] == git(repository, "rev-parse", "HEAD")
    assert all(len(ends) == 3 for ends in line["values"].values())
    page = (tmp_path / "page" / trend.PAGE).read_text()
    assert "<script>" not in page
    assert page.count("<figure>") == len(line["values"])
    values = json.loads(httpbed("history", *words, "--json")[1])
    assert {one["commits"] for one in values["trends"]} == {1}


def test_nothing_of_the_users_is_overwritten(
    httpbed: Command, repository: Path, tmp_path: Path
) -> None:
    """A badge of somebody else stays, and nothing is added before the refusal."""
    (tmp_path / "page").mkdir()
    (tmp_path / "page" / trend.BADGE).write_text("<svg>mine</svg>")
    records = map(stored_campaigns.record, stored_campaigns.loaded().trials)
    stored_campaigns.make(tmp_path / "campaign", list(records))
    words = ("--repository", repository, "--in", tmp_path / "history", "-o", tmp_path / "page")
    assert httpbed("history", tmp_path / "campaign", *words)[0] == 2
    assert not (tmp_path / "history").exists()
    assert (tmp_path / "page" / trend.BADGE).read_text() == "<svg>mine</svg>"


def test_a_change_for_the_worse_is_on_the_badge() -> None:
    """One for the better, or one long ago, is not."""
    found = trend.trends(entries([1.0] * 30 + [1.05] * 5))
    assert trend.verdict(found) == ("+5.0 % HTTP/3", True)
    for values in ([1.05] * 30 + [1.0] * 5, [1.0] * 20 + [1.05] * 25):
        assert not trend.verdict(trend.trends(entries(values)))[1]


def test_a_campaign_without_values_is_not_added_in_silence(
    httpbed: Command, repository: Path, tmp_path: Path
) -> None:
    """A build that fails every trial would otherwise leave a gap that nobody notices."""
    trials = stored_campaigns.loaded().trials
    failed = [stored_campaigns.record(trial, kind="failed") for trial in trials]
    for name, records in {"good": map(stored_campaigns.record, trials), "failed": failed}.items():
        stored_campaigns.make(tmp_path / name, records)
    words = ("--in", tmp_path / "kept", "--repository", repository)
    code, _, err = httpbed("history", tmp_path / "good", *words)
    assert (code, "note:" in err) == (0, False)
    code, _, err = httpbed("history", tmp_path / "failed", *words)
    assert (code, "failed adds no median of request_time" in err) == (0, True)
