"""Packages of the npm registry: npm fetches them; they are neither installed nor run.

npm is this machine's, or else that of a root filesystem of the toolbox. The latter runs in a mount
namespace whose /usr is that of the root filesystem.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from httpbed.base import file_digest, folders
from httpbed.base.errors import HostError
from httpbed.bed.toolbox import toolbox, usr_cover

TOOLS = toolbox.Contents("trixie", frozenset({"npm", "dash", "coreutils"}))
"""The root filesystem that is used if this machine has no npm."""
_TIME_LIMIT_S = 600

Say = Callable[[str], None]


def ensure(name: str, version: str, sha256: str, say: Say) -> Path:
    """Return a package's file; fetch it if it is not in the cache.

    Raises:
        HostError: npm cannot fetch it, or its digest is not ``sha256``.
    """
    target = folders.cache() / "packages" / f"{name}-{version}.tgz"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        say(f"fetching {name} {version}")
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".npm-") as scratch:
            _pack(f"{name}@{version}", Path(scratch), say)
            fetched = next(iter(sorted(Path(scratch).glob("*.tgz"))))
            _check(fetched, f"{name} {version}", sha256)
            fetched.rename(target)
    _check(target, f"{name} {version} in {target}", sha256)
    return target


def _check(file: Path, what: str, sha256: str) -> None:
    digest = file_digest.sha256(file)
    if digest != sha256:
        raise HostError(
            f"{what} has the SHA-256 {digest}, not {sha256}",
            "it is not the expected package: remove the file if it exists, and check which npm"
            " registry this machine uses",
        )


def _pack(wanted: str, folder: Path, say: Say) -> None:
    words = ["pack", wanted, "--silent", "--ignore-scripts", "--no-update-notifier"]
    try:
        done = subprocess.run(
            [*_npm(say), *words],
            cwd=folder,
            check=False,
            capture_output=True,
            text=True,
            timeout=_TIME_LIMIT_S,
        )
        errors = done.stderr.strip().splitlines() or ["no reason given"]
        failed = done.returncode != 0 or not [*folder.glob("*.tgz")]
    except subprocess.TimeoutExpired:
        errors, failed = [f"it took more than {_TIME_LIMIT_S} s"], True
    if failed:
        raise HostError(
            f"npm could not fetch {wanted}: {errors[-1]}",
            "check the network and npm's settings, or try again later",
        )


def _npm(say: Say) -> list[str]:
    """Return the beginning of npm's command line."""
    if own := shutil.which("npm"):
        return [own]
    root = toolbox.ensure(TOOLS, say=say)
    return ["sh", "-c", _script(root.path), "npm"]


def _script(root: Path) -> str:
    """Return a shell command that runs npm."""
    npm = 'exec /usr/bin/node /usr/share/nodejs/npm/bin/npm-cli.js "$@"'
    cover = f"{usr_cover.commands(root)}\n{npm}\n"
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return f'exec {shlex.join(["unshare", *user, "--mount", "sh", "-c", cover, "npm"])} "$@"'
