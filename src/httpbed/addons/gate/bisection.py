"""The commit that made a program slower: a binary search with one measured build per step.

git chooses the commits (``git bisect``), in a work tree of its own: the user's stays as it is. Each
build runs the scenario in virtual time, where a machine adds nothing, so one block decides. The
builds of the good and the bad revision run first. Of the scenario's treatments, the one that
changed most between them is judged from then on, and a build is bad if its value lies beyond the
geometric mean of both. A build that fails, or of which the trial fails, is skipped; a trial that
times out is as slow as its limit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from httpbed.addons.gate.build_measurement import Measured, Values
from httpbed.addons.gate.git_repository import GitError, commit, git
from httpbed.base.errors import ConfigError, HttpbedError, Mistake, visible
from httpbed.experiment.metric import METRICS
from httpbed.report.phrasing import number_format

MIN_CHANGE = 0.001
"""A smaller change between good and bad is none: readings of the clock differ by nanoseconds."""
MAX_STEPS = 64
"""git needs 6 for 64 commits; skipped ones cost more."""

FOUND = re.compile(r"^[0-9a-f]{40,} is the first '?bad'? commit", re.MULTILINE)
"""How git begins its answer; a commit's message may have the same words elsewhere."""

Step = Literal["good", "bad", "skip"]


class BisectionError(HttpbedError):
    """The search has no answer."""


@dataclass(frozen=True)
class Guilty:
    """The answer."""

    commit: str
    treatment: str
    before: Measured
    """Its parent, or the good revision where the parent was not built."""
    measured: Measured
    steps: int
    """Builds between the two ends."""
    skipped: tuple[str, ...]


@dataclass(frozen=True)
class Checkout:
    """A work tree for the builds."""

    folder: Path

    def git(self, *words: str) -> str:
        """Run git in the work tree and return what it prints.

        Raises:
            GitError: With git's last line.
        """
        return git(self.folder, *words)

    def change_to(self, commit: str) -> None:
        """Check a commit out, whatever a build changed in the files of another one."""
        self.git("checkout", "--quiet", "--force", "--detach", commit)

    def subject(self, commit: str) -> str:
        """Return the abbreviated hash, the date and the first line of a commit."""
        words = ("show", "--no-patch", "--no-show-signature", "--format=%h %as %s")
        return visible(self.git(*words, commit))


@contextmanager
def checkout(repository: Path, folder: Path) -> Iterator[Checkout]:
    """Make a work tree, and remove it with all that was built in it."""
    git(repository, "worktree", "add", "--detach", "--quiet", str(folder))
    try:
        yield Checkout(folder)
    finally:
        git(repository, "worktree", "remove", "--force", str(folder))


def resolve(repository: Path, good: str, bad: str) -> tuple[str, str]:
    """Return the commits of two revisions.

    Raises:
        ConfigError: With each that is no commit, or if the good one is not an ancestor of the bad.
    """
    ends, mistakes = list[str](), list[Mistake]()
    for option, word in (("--good", good), ("--bad", bad)):
        try:
            ends.append(commit(repository, option, word))
        except ConfigError as error:
            mistakes += error.mistakes
    if mistakes:
        raise ConfigError(mistakes)
    first, last = ends
    between = git(repository, "rev-list", "--count", "--ancestry-path", f"{first}..{last}")
    if between == "0":
        reason = visible(f"{good} is not before {bad}")
        remedy = "name an earlier commit, from which the bad one comes"
        raise ConfigError([Mistake("--good", reason, remedy)])
    return first, last


@dataclass(frozen=True)
class Limit:
    """What separates good from bad builds."""

    treatment: str
    metric: str
    value: float

    def step(self, values: Values) -> Step:
        """Judge a build."""
        value = values.get(self.treatment)
        if value is None:
            return "skip"
        return "bad" if (value > self.value) == METRICS[self.metric].lower_is_better else "good"


def limit(good: Measured, bad: Measured, metric: str) -> Limit:
    """Return the treatment that changed most for the worse, and the value that separates both.

    Raises:
        BisectionError: No treatment became worse, or a revision has no values.
    """
    for name, one in (("good", good), ("bad", bad)):
        if not one.values:
            raise BisectionError(f"the {name} revision cannot be measured: {one.reason}")
    sign = 1 if METRICS[metric].lower_is_better else -1
    changes = {
        name: sign * _log_ratio(bad.values[name], good.values[name])
        for name in good.values.keys() & bad.values.keys()
    }
    worst = max(changes, key=lambda name: changes[name], default="")
    if not worst or changes[worst] <= math.log1p(MIN_CHANGE):
        raise BisectionError("the bad revision is not worse than the good one in any treatment")
    ends = good.values[worst], bad.values[worst]
    return Limit(worst, metric, math.sqrt(math.prod(ends)) or max(ends) / 2)


def _log_ratio(value: float, other: float) -> float:
    """Return the logarithm of a ratio of values that may be zero, as counts are."""
    if value == other:
        return 0.0
    if min(value, other) <= 0:
        return math.copysign(math.inf, value - other)
    return math.log(value / other)


def search(
    tree: Checkout,
    ends: tuple[Measured, Measured],
    judge: Limit,
    measure: Callable[[str], Measured],
    say: Callable[[str], None],
) -> Guilty:
    """Search between a good and a bad commit.

    Args:
        tree: The work tree.
        ends: The good and the bad commit, measured.
        judge: What separates them.
        measure: Checks a commit out, builds and measures it.
        say: Tells the user about a step.

    Raises:
        BisectionError: Only skipped commits are left.
        GitError: git cannot.
    """
    good, bad = ends
    known = {build.commit: build for build in ends}
    skipped = list[str]()
    told = tree.git("bisect", "start", "--no-checkout", bad.commit, good.commit)
    try:
        for steps in range(MAX_STEPS):
            if FOUND.search(told):
                guilty = tree.git("rev-parse", "refs/bisect/bad")
                before = known.get(tree.git("rev-parse", f"{guilty}^"), good)
                name = judge.treatment
                return Guilty(guilty, name, before, known[guilty], steps, tuple(skipped))
            next_one = tree.git("rev-parse", "BISECT_HEAD")
            build = known[next_one] = measure(next_one)
            step = judge.step(build.values)
            say(f"{tree.subject(build.commit)}: {_told(build, judge, step)}")
            if step == "skip":
                skipped.append(build.commit)
            told = _answered(tree, step, skipped)
    finally:
        with suppress(GitError):
            tree.git("bisect", "reset", "HEAD")
    raise BisectionError(f"{MAX_STEPS} steps found no commit")


def _answered(tree: Checkout, step: Step, skipped: list[str]) -> str:
    try:
        return tree.git("bisect", step)
    except GitError:
        if not skipped:
            raise
        names = ", ".join(one[:12] for one in skipped)
        raise BisectionError(
            f"only commits that cannot be measured are left between good and bad: {names}"
        ) from None


def _told(build: Measured, judge: Limit, step: Step) -> str:
    if step == "skip":
        return f"skipped: {build.reason or f'{judge.treatment} has no value'}"
    form = number_format(judge.metric, [judge.value])
    return f"{step}, {form.number(build.values[judge.treatment])} {form.unit}"
