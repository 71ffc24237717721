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
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from httpbed.addons.gate.git_repository import GitError, commit, git
from httpbed.base import untrusted_files
from httpbed.base.errors import ConfigError, HttpbedError, Mistake, collected, require_none, visible
from httpbed.bed.machine import guard
from httpbed.campaign.loaded_experiment import LoadedExperiment
from httpbed.cli import run
from httpbed.experiment.metric import METRICS
from httpbed.programs.catalog import Catalog
from httpbed.report.phrasing import number_format, treatment
from httpbed.results import sample
from httpbed.results.estimate import estimate
from httpbed.store import query

Values = Mapping[str, float]
"""The median of the metric in each treatment that has one."""
BUILD_TIMEOUT_S = 1800.0
LOG_BYTES = 1 << 20
"""What is kept of the output of a build: its end."""
SHOWN_LINES = 10
"""The lines of a build's output that explain why an end of the search has no value."""
MIN_CHANGE = 0.001
"""A smaller change between good and bad is none: readings of the clock differ by nanoseconds."""
MAX_STEPS = 64
"""git needs 6 for 64 commits; skipped ones cost more."""
FOUND = re.compile(r"^[0-9a-f]{40,} is the first '?bad'? commit", re.MULTILINE)
"""How git begins its answer; a commit's message may have the same words elsewhere."""


@dataclass(frozen=True)
class Measured:
    """A commit with its build's values, or why it has none."""

    commit: str
    values: Values
    reason: str = ""
    output: str = ""
    """The last lines that a failed build printed."""


@dataclass(frozen=True)
class BuildMeasurement:
    """How each build is made and measured."""

    command: str
    """What builds the program, as a line for ``sh``."""
    program: str
    executable: str
    """Its path within the checkout, once it is built."""
    loaded: LoadedExperiment
    catalog: Catalog
    metric: str

    def measure(self, checkout: Path, commit: str, place: Path) -> Measured:
        """Build what is in a checkout, and run the experiment with it.

        Args:
            checkout: The folder in which the command runs.
            commit: The name of what is checked out.
            place: A folder to make, for the campaign and the end of the build's output.
        """
        place.mkdir(parents=True)
        with (place / "build.log").open("wb") as log:
            reason = build(self.command, checkout, log, BUILD_TIMEOUT_S)
        executable = (checkout / self.executable).absolute()
        if reason or not executable.exists():
            why = f"failed: {reason}" if reason else f"made no {self.executable}"
            lines = untrusted_files.last_lines(place, "build.log", SHOWN_LINES, LOG_BYTES)
            output = "\n".join(f"  {line}" for line in lines)
            return Measured(commit, {}, f"the build {why}", output)
        try:
            catalog = self.catalog.with_programs({self.program: str(executable)})
        except ConfigError as error:
            return Measured(commit, {}, "; ".join(mistake.reason for mistake in error.mistakes))
        settings = run.settings()
        run.execute(self.loaded, catalog, place / "campaign", settings, is_kept=False)
        return _read(place / "campaign", commit, self.metric)


def _read(campaign: Path, commit: str, metric: str) -> Measured:
    values, reasons = dict[str, float](), list[str]()
    for treatment_sample in sample.samples(query.read(campaign), metric).values():
        name = treatment(treatment_sample.levels, treatment_sample.levels)
        if found := estimate(treatment_sample):
            values[name] = found.median.value
        else:
            reasons += [reason for (_, reason), _ in treatment_sample.tally.reasons.most_common(1)]
            reasons += [f"no trial has a value of {METRICS[metric].title}"]
    return Measured(commit, values, reasons[0] if reasons else "")


def build(command: str, folder: Path, log: IO[bytes], timeout_s: float) -> str:
    """Run a build command in a folder; return why it failed, or nothing.

    Its processes end with it, daemons included, and with this process, however that ends. All of
    its output is read, and the last megabyte is kept.
    """
    process = subprocess.Popen(
        guard.guarded(["sh", "-c", command]),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    deadline, end = time.monotonic() + timeout_s, bytearray()
    os.set_blocking(process.stdout.fileno(), False)
    try:
        while time.monotonic() < deadline:
            part = process.stdout.read(1 << 16)
            end += part or b""
            del end[:-LOG_BYTES]
            if not part:
                if process.poll() is not None:
                    break
                time.sleep(0.02)
        else:
            return f"took longer than {timeout_s:g} s"
    finally:
        process.terminate()  # which ends what is left
        process.wait()
        process.stdout.close()
        log.write(end)
    return f"exit code {process.returncode}" if process.returncode else ""


Step = Literal["good", "bad", "skip"]


class BisectionError(HttpbedError):
    """The search has no answer."""


@dataclass(frozen=True)
class Guilty:
    """The answer."""

    measured: Measured
    before: Measured
    """Its parent, or the good revision where the parent has no values."""
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
        with collected(mistakes):
            ends.append(commit(repository, option, word))
    require_none(dict.fromkeys(mistakes))
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
    for name, build in (("good", good), ("bad", bad)):
        if not build.values:
            output = f"\n{build.output}" if build.output else ""
            raise BisectionError(f"the {name} revision cannot be measured: {build.reason}{output}")
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
    judged = {build.commit: build for build in ends}
    skipped = list[str]()
    answer = tree.git("bisect", "start", "--no-checkout", bad.commit, good.commit)
    try:
        for steps in range(MAX_STEPS):
            if FOUND.search(answer):
                guilty = tree.git("rev-parse", "refs/bisect/bad")
                before = judged.get(tree.git("rev-parse", f"{guilty}^"), good)
                return Guilty(judged[guilty], before, steps, tuple(skipped))
            build = measure(tree.git("rev-parse", "BISECT_HEAD"))
            step = judge.step(build.values)
            say(f"{tree.subject(build.commit)}: {_told(build, judge, step)}")
            if step == "skip":
                skipped.append(build.commit)
            else:
                judged[build.commit] = build
            answer = _answered(tree, step, skipped)
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
        between = ("rev-list", "refs/bisect/bad", "--not", "--glob=refs/bisect/good-*")
        left = [f"  {tree.subject(commit)}" for commit in tree.git(*between).split()]
        reason = "the commit is one of these; all but the first cannot be measured:"
        raise BisectionError("\n".join([reason, *left])) from None


def _told(build: Measured, judge: Limit, step: Step) -> str:
    if step == "skip":
        return f"skipped: {build.reason or f'{judge.treatment} has no value'}"
    form = number_format(judge.metric, [judge.value])
    return f"{step}, {form.number(build.values[judge.treatment])} {form.unit}"
