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
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from httpbed.addons.gate.build_measurement import Measured, Values
from httpbed.base.errors import ConfigError, HttpbedError, Mistake, visible
from httpbed.experiment.metric import METRICS
from httpbed.report.phrasing import number_format

MIN_CHANGE = 0.001
"""A smaller change between good and bad is none: readings of the clock differ by nanoseconds."""
MAX_STEPS = 64
"""git needs 6 for 64 commits; skipped ones cost more."""

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


@dataclass
class Checkout:
    """A work tree for the builds."""

    repository: Path
    folder: Path
    _environment: Mapping[str, str] = field(
        default_factory=lambda: {**os.environ, "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0"}
    )

    def git(self, *words: str, at: Path | None = None) -> str:
        """Run git in the work tree and return what it prints.

        Raises:
            BisectionError: With git's last line.
        """
        done = subprocess.run(
            ["git", *words],
            cwd=at or self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode:
            lines = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
            raise BisectionError(visible(f"git {words[0]}: {lines[-1]}"))
        return done.stdout

    @property
    def commit(self) -> str:
        """The commit that is checked out."""
        return self.git("rev-parse", "HEAD").strip()

    def is_ancestor(self, first: str, last: str) -> bool:
        """Whether one commit comes from another one."""
        common = self.git("merge-base", "--all", first, last)
        return first in common.split()

    def subject(self, commit: str) -> str:
        """Return the abbreviated hash, the date and the first line of a commit."""
        return visible(self.git("log", "-1", "--format=%h %as %s", commit).strip())


@contextmanager
def checkout(repository: Path, folder: Path) -> Iterator[Checkout]:
    """Make a work tree, and remove it with all that was built in it."""
    tree = Checkout(repository, folder)
    tree.git("worktree", "add", "--detach", "--quiet", str(folder), at=repository)
    try:
        yield tree
    finally:
        tree.git("worktree", "remove", "--force", str(folder), at=repository)


def resolve(repository: Path, good: str, bad: str) -> tuple[str, str]:
    """Return the commits of two revisions.

    Raises:
        ConfigError: With each that is no commit, or if the good one is not an ancestor of the bad.
    """
    tree, found, mistakes = Checkout(repository, repository), list[str](), []
    for option, word in (("--good", good), ("--bad", bad)):
        try:
            spelled = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{word}^{{commit}}")
            found.append(tree.git(*spelled).strip())
        except BisectionError:
            reason = f"{word!r} is no commit of a repository in {repository}"
            mistakes.append(Mistake(option, reason, "name a commit, a branch or a tag"))
    if mistakes:
        raise ConfigError(mistakes)
    first, last = found
    if first == last or not tree.is_ancestor(first, last):
        remedy = "name an earlier commit, from which the bad one comes"
        raise ConfigError([Mistake("--good", f"{good} is not before {bad}", remedy)])
    return first, last


@dataclass(frozen=True)
class Limit:
    """What separates good from bad builds."""

    treatment: str
    metric: str
    value: float

    @property
    def lower_is_better(self) -> bool:
        """Whether a higher value is a worse one."""
        return METRICS[self.metric].better == "lower"

    def step(self, values: Values) -> Step:
        """Judge a build."""
        value = values.get(self.treatment)
        if value is None:
            return "skip"
        return "bad" if (value > self.value) == self.lower_is_better else "good"


def limit(good: Measured, bad: Measured, metric: str) -> Limit:
    """Return the treatment that changed most for the worse, and the value that separates both.

    Raises:
        BisectionError: No treatment became worse, or a revision has no values.
    """
    for name, one in (("good", good), ("bad", bad)):
        if not one.values:
            raise BisectionError(f"the {name} revision cannot be measured: {one.reason}")
    sign = 1 if METRICS[metric].better == "lower" else -1
    changes = {
        name: sign * math.log(bad.values[name] / good.values[name])
        for name in good.values.keys() & bad.values.keys()
    }
    worst = max(changes, key=lambda name: changes[name], default="")
    if not worst or changes[worst] <= math.log1p(MIN_CHANGE):
        raise BisectionError("the bad revision is not worse than the good one in any treatment")
    value = math.sqrt(good.values[worst] * bad.values[worst])
    return Limit(worst, metric, value)


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
        measure: Builds and measures the commit that is checked out.
        say: Tells the user about a step.

    Raises:
        BisectionError: Only skipped commits are left.
    """
    good, bad = ends
    known = {one.commit: one for one in ends}
    skipped = list[str]()
    told = tree.git("bisect", "start", bad.commit, good.commit)
    try:
        for steps in range(MAX_STEPS):
            if "is the first bad commit" in told:
                commit = tree.git("rev-parse", "refs/bisect/bad").strip()
                before = known.get(tree.git("rev-parse", f"{commit}^").strip(), good)
                name = judge.treatment
                return Guilty(commit, name, before, known[commit], steps, tuple(skipped))
            one = known[tree.commit] = measure(tree.commit)
            step = judge.step(one.values)
            say(f"{tree.subject(one.commit)}: {_told(one, judge, step)}")
            if step == "skip":
                skipped.append(one.commit)
            told = _answered(tree, step, skipped)
    finally:
        with suppress(BisectionError):
            tree.git("bisect", "reset", "--quiet", "HEAD")
    raise BisectionError(f"{MAX_STEPS} steps found no commit")


def _answered(tree: Checkout, step: Step, skipped: list[str]) -> str:
    try:
        return tree.git("bisect", step)
    except BisectionError:
        if not skipped:
            raise
        names = ", ".join(one[:12] for one in skipped)
        raise BisectionError(
            f"only commits that cannot be measured are left between good and bad: {names}"
        ) from None


def _told(one: Measured, judge: Limit, step: Step) -> str:
    if step == "skip":
        return f"skipped: {one.reason or f'{judge.treatment} has no value'}"
    form = number_format(judge.metric, [judge.value])
    return f"{step}, {form.number(one.values[judge.treatment])} {form.unit}"
