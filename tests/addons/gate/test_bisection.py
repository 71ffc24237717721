"""The search for the commit that made a program slower, on real repositories."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import process_tree
import stored_campaigns
from git_repositories import git
from httpbed.addons.gate import bisection
from httpbed.addons.gate.bisection import BisectionError, BuildMeasurement, Guilty, Measured
from httpbed.base.errors import ConfigError
from httpbed.programs import catalog as catalogs

COMMITS = 64


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """Make a repository whose file holds its number in the history."""
    folder = tmp_path_factory.mktemp("repository")
    git(folder, "init", "--quiet")
    commits = []
    for number in range(COMMITS + 1):
        (folder / "number").write_text(str(number))
        git(folder, "add", "number")
        git(folder, "commit", "--quiet", "--message", f"commit {number}")
        commits.append(git(folder, "rev-parse", "HEAD"))
    return folder, commits


@pytest.fixture
def bench() -> BuildMeasurement:
    """Return a measurement that ends before it needs its experiment."""
    loaded, catalog = stored_campaigns.loaded(), catalogs.load()
    return BuildMeasurement("true", "curl", "src/curl", loaded, catalog, "request_time")


def searched(
    history: tuple[Path, list[str]], seconds: Callable[[int], float | None], tmp_path: Path
) -> Guilty:
    """Search with builds that take so long by their number; None: they do not build."""
    folder, commits = history

    def measure(commit: str) -> Measured:
        tree.change_to(commit)
        value = seconds(int((tmp_path / "tree" / "number").read_text()))
        return Measured(commit, {} if value is None else {"h3": value, "h2": 1.0}, "no build")

    with bisection.checkout(folder, tmp_path / "tree") as tree:
        ends = measure(commits[0]), measure(commits[-1])
        judge = bisection.limit(*ends, "request_time")
        return bisection.search(tree, ends, judge, measure, lambda _: None)


@pytest.mark.parametrize("guilty", [1, 32, 64])
def test_the_planted_commit_is_found_in_six_steps(
    history: tuple[Path, list[str]], tmp_path: Path, guilty: int
) -> None:
    """Among 64 commits, with a change of 1 % in one of two treatments."""
    found = searched(history, lambda number: 1.01 if number >= guilty else 1.0, tmp_path)
    assert found.measured.commit == history[1][guilty]
    assert (found.before.values["h3"], found.measured.values["h3"]) == (1.0, 1.01)
    assert found.steps <= 6
    assert git(history[0], "worktree", "list").count("\n") == 0
    assert git(history[0], "status", "--porcelain") == ""


def test_a_build_may_change_files_of_its_commit(tmp_path: Path) -> None:
    """As cargo does with Cargo.lock; and it may make a file that a later commit adds."""
    git(tmp_path, "init", "--quiet", "repository")
    folder, commits = tmp_path / "repository", []
    for number in range(9):
        (folder / "number").write_text(str(number))
        if number >= 5:
            (folder / "made").write_text(str(number))
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "--message", "HEAD~1 is the first bad commit")
        commits.append(git(folder, "rev-parse", "HEAD"))

    def measure(commit: str) -> Measured:
        tree.change_to(commit)
        number = int((tree.folder / "number").read_text())
        (tree.folder / "number").write_text("changed")
        (tree.folder / "made").write_text("made")
        return Measured(commit, {"h3": 2.0 if number >= 7 else 1.0})

    with bisection.checkout(folder, tmp_path / "tree") as tree:
        ends = measure(commits[0]), measure(commits[-1])
        judge = bisection.limit(*ends, "request_time")
        found = bisection.search(tree, ends, judge, measure, lambda _: None)
    assert found.measured.commit == commits[7]


def test_a_count_may_be_zero_before_or_after() -> None:
    """Half of the count separates good from bad; no change is no regression."""
    old, new = (
        Measured(name, {"h2": 1.0, "h3": count}) for name, count in (("a", 0.0), ("b", 4.0))
    )
    judge = bisection.limit(old, new, "request_time")
    assert judge.treatment == "h3"
    assert [judge.step({"h3": value}) for value in (0.0, 1.0, 3.0)] == ["good", "good", "bad"]
    for same in (old, new):
        with pytest.raises(BisectionError, match="not worse"):
            bisection.limit(new, same, "request_time")


def test_commits_that_do_not_build_are_skipped(
    history: tuple[Path, list[str]], tmp_path: Path
) -> None:
    """The answer stays the same; those that were tried are named."""
    broken = {32, 33, 34, 16}
    found = searched(
        history,
        lambda number: None if number in broken else 1.1 if number >= 40 else 1.0,
        tmp_path,
    )
    assert found.measured.commit == history[1][40]
    assert set(found.skipped) <= {history[1][number] for number in broken}
    assert found.skipped


def test_a_parent_without_values_is_not_what_the_guilty_commit_is_compared_with(
    tmp_path: Path,
) -> None:
    """The first parent of a merge does not build, and the second is good."""
    git(tmp_path, "init", "--quiet", "repository")
    folder = tmp_path / "repository"
    seconds = {"first": 1.0, "parent": None, "branch": 1.0, "merge": 2.0, "last": 2.0}
    commits = dict[str, str]()

    def committed(name: str) -> None:
        (folder / "name").write_text(name)
        git(folder, "add", "name")
        git(folder, "commit", "--quiet", "--amend" if name == "merge" else "-q", "-m", name)
        commits[name] = git(folder, "rev-parse", "HEAD")

    for name in ("first", "second", "third", "parent"):
        committed(name)
    git(folder, "checkout", "--quiet", "-b", "branch")
    committed("branch")
    git(folder, "checkout", "--quiet", "--detach", commits["parent"])
    git(folder, "merge", "--quiet", "--no-ff", "branch")
    committed("merge")
    committed("last")

    def measure(commit: str) -> Measured:
        tree.change_to(commit)
        value = seconds.get((tree.folder / "name").read_text(), 1.0)
        return Measured(commit, {} if value is None else {"h3": value})

    with bisection.checkout(folder, tmp_path / "tree") as tree:
        ends = measure(commits["first"]), measure(commits["last"])
        judge = bisection.limit(*ends, "request_time")
        found = bisection.search(tree, ends, judge, measure, lambda _: None)
    assert found.measured.commit == commits["merge"]
    assert found.before.values == {"h3": 1.0}


def test_no_answer_if_the_guilty_commit_is_among_skipped_ones(
    history: tuple[Path, list[str]], tmp_path: Path
) -> None:
    """Those that are left are named: the first one that is slow, and what was skipped before it."""

    def seconds(number: int) -> float | None:
        return None if 39 <= number <= 41 else 1.1 if number >= 40 else 1.0

    with pytest.raises(BisectionError) as left:
        searched(history, seconds, tmp_path)
    named = [line.split()[-1] for line in str(left.value).splitlines()[1:]]
    assert named == ["42", "41", "40", "39"]
    assert git(history[0], "worktree", "list").count("\n") == 0


def test_revisions_that_do_not_differ_are_no_question(
    history: tuple[Path, list[str]], tmp_path: Path
) -> None:
    """Nor is an end that cannot be built."""
    with pytest.raises(BisectionError, match="not worse"):
        searched(history, lambda _: 1.0, tmp_path)
    with pytest.raises(BisectionError, match="good revision cannot be measured"):
        searched(history, lambda number: None if number == 0 else 1.0, tmp_path)


def test_an_end_that_does_not_build_shows_the_end_of_the_output(
    bench: BuildMeasurement, tmp_path: Path
) -> None:
    """Without -o, the output is gone with the work tree."""
    failing = replace(bench, command="seq 1000; echo main.go:3: syntax error; exit 2")
    good = failing.measure(tmp_path, "a", tmp_path / "good")
    with pytest.raises(BisectionError) as shown:
        bisection.limit(good, good, "request_time")
    lines = str(shown.value).splitlines()
    assert lines[0].endswith("the build failed: exit code 2")
    assert lines[-2:] == ["  1000", "  main.go:3: syntax error"]
    assert len(lines) == 1 + bisection.SHOWN_LINES


def test_a_build_that_makes_no_program_is_named_by_its_path(
    bench: BuildMeasurement, tmp_path: Path
) -> None:
    """The path within the repository, as the user wrote it: the work tree is a temporary one."""
    made = bench.measure(tmp_path, "a", tmp_path / "good")
    assert made.reason == "the build made no src/curl"


@pytest.mark.parametrize(
    ("good", "bad", "places"),
    [
        ("nothing", "--help", ["--good", "--bad"]),
        ("HEAD", "HEAD", ["--good"]),
        ("HEAD", "HEAD~3", ["--good"]),
    ],
)
def test_wrong_revisions_are_refused(
    history: tuple[Path, list[str]], good: str, bad: str, places: list[str]
) -> None:
    """All of them, before anything is built; an option in a revision's place is no option."""
    with pytest.raises(ConfigError) as refused:
        bisection.resolve(history[0], good, bad)
    assert [mistake.place for mistake in refused.value.mistakes] == places


def test_a_folder_without_a_repository_is_named_once(tmp_path: Path) -> None:
    """And not that each revision is no commit of it."""
    with pytest.raises(ConfigError) as refused:
        bisection.resolve(tmp_path, "HEAD~1", "HEAD")
    assert [mistake.place for mistake in refused.value.mistakes] == ["--repository"]


@pytest.mark.parametrize(
    ("command", "limit_s", "reason"),
    [
        ("true", 100, ""),
        ("exit 3", 100, "exit code 3"),
        ("kill -9 $$", 100, "exit code 137"),
        ("sleep 1234 & true", 100, ""),
        ("setsid sleep 1234 & exit 3", 100, "exit code 3"),
        ("setsid sleep 1234 & sleep 1234", 1, "took longer than 1 s"),
    ],
)
def test_a_build_that_fails_or_hangs_says_so_and_leaves_no_process(
    tmp_path: Path, command: str, limit_s: float, reason: str
) -> None:
    """Not even one with a session of its own, such as a daemon; its last words are kept."""
    log, before = io.BytesIO(), process_tree.descendants(os.getpid())
    with process_tree.adopting():
        told = bisection.build(f"echo begun; {command}", tmp_path, log, timeout_s=limit_s)
        assert process_tree.descendants(os.getpid()) == before
    assert told == reason
    assert limit_s == 1 or log.getvalue() == b"begun\n"
