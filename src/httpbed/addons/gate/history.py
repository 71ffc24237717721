"""The results of commits over time: append-only lines, in a folder or on a branch of their own.

Each line is one campaign of one commit: its clock, its metric, and the median of every treatment
with the ends of its interval. Lines are never changed, so two histories are merged by putting the
lines of one after those of the other, and a commit that a rebase removed keeps its line. A commit
that was measured twice has two lines; the later one counts.

On a branch, git's objects are written without a work tree, and the branch is moved only if it is
still where it was (``git update-ref`` with the old value), so two jobs that write at once both
succeed.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError, field_validator

from httpbed.addons.gate.git_repository import GitError, git, git_bytes
from httpbed.base.errors import (
    ConfigError,
    HostError,
    Mistake,
    RejectedValueError,
    require_none,
    visible,
)
from httpbed.base.value import Value
from httpbed.experiment.metric import METRICS

FILE = "history.jsonl"
BRANCH = "branch:"
MAX_BYTES = 256 << 20
MAX_TRIES = 20
"""Times that a branch is written again because another job moved it."""
DIGITS = 9
"""Significant digits of a value: nanoseconds in times up to a second."""


class Entry(Value):
    """One campaign of one commit."""

    schema_version: Literal[1] = 1
    commit: str
    date: str
    """The commit's date, as git's strict ISO 8601."""
    subject: str
    """First line of the commit's message."""
    scenario: str
    """The experiment's name."""
    clock: str
    metric: str
    values: Mapping[str, Annotated[Sequence[float], Field(min_length=1, max_length=3)]]
    """By treatment: the median, and the ends of its interval if it has one."""

    @field_validator("metric")
    @classmethod
    def _is_known(cls, name: str) -> str:
        if name not in METRICS:
            raise RejectedValueError(f"no metric of this httpbed is called {name!r}")
        return name


@dataclass(frozen=True)
class Folder:
    """A history in a folder."""

    path: Path

    def read(self) -> list[Entry]:
        """Return all entries, in the order in which they were added.

        Raises:
            ConfigError: With each line that is no entry.
        """
        file = self.path / FILE
        return _entries(file.read_bytes(), str(file)) if file.is_file() else []

    def append(self, entries: Sequence[Entry]) -> None:
        """Add entries; another process that adds some waits.

        Raises:
            ConfigError: With each line of the file that is no entry.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / FILE).open("a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            file.write(_lines(file.read(), str(self.path / FILE), entries))


@dataclass(frozen=True)
class Branch:
    """A history on a branch that has nothing else, as ``git checkout --orphan`` makes them."""

    repository: Path
    name: str

    def read(self) -> list[Entry]:
        """Return all entries, in the order in which they were added.

        Raises:
            ConfigError: With each line that is no entry.
        """
        return _entries(self._content(self._tip()), f"{BRANCH}{self.name}")

    def append(self, entries: Sequence[Entry]) -> None:
        """Add entries in a commit.

        Raises:
            ConfigError: With each line of the branch that is no entry; or the branch is checked out
                in a work tree, whose next commit would remove the entries.
            GitError: Git cannot.
            HostError: Other jobs move the branch all the time.
        """
        self._require_no_work_tree()
        for _ in range(MAX_TRIES):
            tip = self._tip()
            before = self._content(tip)
            content = before + _lines(before, f"{BRANCH}{self.name}", entries)
            blob = self._written("hash-object", "-w", "--stdin", given=content)
            tree = self._written("mktree", given=f"100644 blob {blob}\t{FILE}\n".encode())
            parents = ["-p", tip] if tip else []
            commit = self._written("commit-tree", tree, *parents, "-m", "Results of httpbed")
            try:
                git(self.repository, "update-ref", self._reference, commit, tip)
            except GitError:
                if self._tip() == tip:
                    raise
            else:
                return
        reason = f"{self.name} was moved {MAX_TRIES} times while results were added"
        raise HostError(reason, "add the campaign again")

    @property
    def has_valid_name(self) -> bool:
        """Whether git accepts the name."""
        try:
            git(self.repository, "check-ref-format", "--branch", self.name)
        except GitError:
            return False
        return True

    @property
    def _reference(self) -> str:
        return f"refs/heads/{self.name}"

    def _tip(self) -> str:
        """Return the branch's commit; an empty text, as for update-ref, if there is no branch."""
        spelled = ("for-each-ref", "--format=%(objectname) %(refname)", self._reference)
        references = (line.split(" ") for line in git(self.repository, *spelled).splitlines())
        return next((tip for tip, name in references if name == self._reference), "")

    def _content(self, tip: str) -> bytes:
        if not tip:
            return b""
        if git(self.repository, "ls-tree", "--name-only", "--full-tree", tip) != FILE:
            reason = f"has other files than {FILE}"
            raise ConfigError([Mistake(f"{BRANCH}{self.name}", reason, "name another branch")])
        return git_bytes(self.repository, "cat-file", "blob", f"{tip}:{FILE}")

    def _written(self, *words: str, given: bytes = b"") -> str:
        """Write an object of git, and return its hash."""
        return git_bytes(self.repository, *words, given=given).decode().strip()

    def _require_no_work_tree(self) -> None:
        listed = git(self.repository, "worktree", "list", "--porcelain").split("\n\n")
        for lines in (one.split("\n") for one in listed):
            if f"branch {self._reference}" in lines and "bare" not in lines:
                reason = f"is checked out in {lines[0].removeprefix('worktree ')}"
                remedy = "switch to another branch there, or name another one here"
                raise ConfigError([Mistake(f"{BRANCH}{self.name}", visible(reason), remedy)])


History = Folder | Branch


def place(word: str, repository: Path) -> History:
    """Return the history that an option names: a folder, or ``branch:NAME``.

    Raises:
        ConfigError: The branch has no name that git accepts.
    """
    if not word.startswith(BRANCH):
        return Folder(Path(word))
    branch = Branch(repository, word.removeprefix(BRANCH))
    if not branch.has_valid_name:
        reason = f"{branch.name!r} is no name of a branch"
        raise ConfigError([Mistake("--in", reason, f"write {BRANCH}httpbed-history, for example")])
    return branch


def rounded(value: float) -> float:
    """Return a value with as many digits as a history keeps."""
    return float(f"{value:.{DIGITS}g}")


def _lines(before: bytes, where: str, entries: Iterable[Entry]) -> bytes:
    """Return the lines that append entries to a history.

    Raises:
        ConfigError: With each line of the history that is no entry.
    """
    _entries(before, where)
    cut = b"\n" if before and not before.endswith(b"\n") else b""
    return cut + "".join(f"{entry.model_dump_json()}\n" for entry in entries).encode()


def _entries(content: bytes, where: str) -> list[Entry]:
    entries, mistakes = list[Entry](), list[Mistake]()
    if len(content) > MAX_BYTES:
        reason = f"has more than {MAX_BYTES} bytes"
        raise ConfigError([Mistake(where, reason, "begin a new history")])
    for number, line in enumerate(content.splitlines(), 1):
        try:
            entries.append(Entry.model_validate_json(line))
        except ValidationError as error:
            first = error.errors()[0]
            at = ".".join(map(str, first["loc"]))
            reason = visible(
                f"is no entry of a history: {at}: {first['msg']}".replace(": : ", ": ")
            )
            mistakes.append(Mistake(f"{where}, line {number}", reason, "remove the line"))
    require_none(mistakes)
    return entries
