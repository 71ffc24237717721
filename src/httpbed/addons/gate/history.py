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
import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from httpbed.base.errors import ConfigError, HttpbedError, Mistake, visible
from httpbed.base.value import Value

FILE = "history.jsonl"
BRANCH = "branch:"
MAX_BYTES = 256 << 20
MAX_TRIES = 20
"""Times that a branch is written again because another job moved it."""
DIGITS = 9
"""Significant digits of a value: nanoseconds in times up to a second."""
EMPTY = "0" * 40
"""What git calls the value of a branch that does not exist."""


class HistoryError(HttpbedError):
    """A history cannot be read or written."""


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
    values: Mapping[str, Sequence[float]]
    """By treatment: the median, and the ends of its interval if it has one."""


@dataclass(frozen=True)
class Folder:
    """A history in a folder."""

    path: Path

    def read(self) -> list[Entry]:
        """Return all entries, in the order in which they were added.

        Raises:
            ConfigError: With each line that is none.
        """
        file = self.path / FILE
        return _entries(file.read_bytes(), str(file)) if file.is_file() else []

    def append(self, entries: Iterable[Entry]) -> None:
        """Add entries; another process that adds some waits."""
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / FILE).open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(_lines(entries))


@dataclass(frozen=True)
class Branch:
    """A history on a branch that has nothing else, as ``git checkout --orphan`` makes them."""

    repository: Path
    name: str

    def read(self) -> list[Entry]:
        """Return all entries, in the order in which they were added.

        Raises:
            ConfigError: With each line that is none.
        """
        return _entries(self._content(self._tip()), f"{BRANCH}{self.name}")

    def append(self, entries: Iterable[Entry]) -> None:
        """Add entries in a commit.

        Raises:
            HistoryError: Git cannot, or others move the branch all the time.
        """
        lines = _lines(entries)
        for _ in range(MAX_TRIES):
            tip = self._tip()
            blob = self._git("hash-object", "-w", "--stdin", given=self._content(tip) + lines)
            tree = self._git("mktree", given=f"100644 blob {blob}\t{FILE}\n".encode())
            parents = ["-p", tip] if tip != EMPTY else []
            commit = self._git("commit-tree", tree, *parents, "-m", "Results of httpbed")
            try:
                self._git("update-ref", f"refs/heads/{self.name}", commit, tip)
            except HistoryError:
                if self._tip() == tip:
                    raise
            else:
                return
        raise HistoryError(f"{self.name} was moved {MAX_TRIES} times while results were added")

    @property
    def has_valid_name(self) -> bool:
        """Whether git accepts the name."""
        ended = self._run("check-ref-format", "--branch", self.name, given=b"")
        return ended.returncode == 0

    def _tip(self) -> str:
        spelled = ("--verify", "--quiet", f"refs/heads/{self.name}")
        ended = self._run("rev-parse", *spelled, given=b"")
        return ended.stdout.decode().strip() or EMPTY

    def _content(self, tip: str) -> bytes:
        if tip == EMPTY:
            return b""
        ended = self._run("cat-file", "blob", f"{tip}:{FILE}", given=b"")
        if ended.returncode:
            reason = f"has other files than {FILE}"
            raise ConfigError([Mistake(f"{BRANCH}{self.name}", reason, "name another branch")])
        return ended.stdout

    def _git(self, *words: str, given: bytes = b"") -> str:
        ended = self._run(*words, given=given)
        if ended.returncode:
            lines = ended.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
            raise HistoryError(visible(f"git {words[0]}: {lines[-1]}"))
        return ended.stdout.decode().strip()

    def _run(self, *words: str, given: bytes) -> subprocess.CompletedProcess[bytes]:
        names = {
            f"GIT_{who}_{what}" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
        }
        known = dict.fromkeys(names, "httpbed") | dict(os.environ) | {"LC_ALL": "C"}
        return subprocess.run(
            ["git", *words],
            cwd=self.repository,
            env=known,
            input=given,
            capture_output=True,
            check=False,
        )


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


def _lines(entries: Iterable[Entry]) -> bytes:
    return "".join(f"{one.model_dump_json()}\n" for one in entries).encode()


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
    if mistakes:
        raise ConfigError(mistakes)
    return entries
