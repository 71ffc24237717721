"""git's command, as histories and searches for a commit call it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import click

from httpbed.base.errors import ConfigError, HostError, Mistake, visible
from httpbed.cli.options import NamedPath

OF_ANOTHER_REPOSITORY = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")
"""Variables that git sets for its hooks, and that would lead from a work tree to another one."""
IDENTITY = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL")

repository_option = click.option(
    "--repository",
    type=NamedPath(exists=True, file_okay=False),
    default=".",
    metavar="DIR",
    help="The git repository; default: the current folder.",
)


class GitError(HostError):
    """git ended with an error."""


def git(folder: Path, *words: str) -> str:
    """Run git in a folder, and return what it prints, without space at its ends.

    Raises:
        GitError: With git's last line.
    """
    return git_bytes(folder, *words).decode(errors="replace").strip()


def git_bytes(folder: Path, *words: str, given: bytes = b"") -> bytes:
    """Run git in a folder with an input, and return what it prints.

    Raises:
        GitError: With git's last line.
        HostError: There is no git.
    """
    try:
        ended = subprocess.run(
            ["git", *words],
            cwd=folder,
            env=_environment(),
            input=given,
            capture_output=True,
            check=False,
        )
    except FileNotFoundError as error:
        if error.filename != "git":
            raise
        raise HostError("git is not installed", "apt-get install git") from None
    if ended.returncode:
        output = (ended.stderr or ended.stdout).decode(errors="replace")
        last = (output.strip().splitlines() or [f"exit code {ended.returncode}"])[-1]
        raise GitError(visible(f"git {words[0]}: {last}"), visible(f"look at {folder} with git"))
    return ended.stdout


def commit(folder: Path, option: str, word: str) -> str:
    """Return the hash of the commit that an option names.

    Raises:
        ConfigError: There is no such commit, or no repository.
    """
    try:
        spelled = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{word}^{{commit}}")
        return git(folder, *spelled)
    except GitError:
        _require_repository(folder)
        reason = f"{word!r} is no commit of the repository in {folder}"
        remedy = "name a commit, a branch or a tag; a shallow clone lacks older ones (git fetch)"
        raise ConfigError([Mistake(option, visible(reason), remedy)]) from None


def _require_repository(folder: Path) -> None:
    try:
        git(folder, "rev-parse", "--git-dir")
    except GitError:
        reason = visible(f"git finds no repository in {folder}")
        raise ConfigError([Mistake("--repository", reason, "name a folder of one")]) from None


def _environment() -> Mapping[str, str]:
    kept = {name: one for name, one in os.environ.items() if name not in OF_ANOTHER_REPOSITORY}
    return dict.fromkeys(IDENTITY, "httpbed") | kept | {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0"}
