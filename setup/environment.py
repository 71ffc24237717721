"""The Python environment in .venv: uv, the locked packages, and httpbed as a built wheel."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from httpbed.experiment.errors import HostError
from httpbed.host.packages import apt, pypi


def ensure(checkout: Path, say: Callable[[str], None]) -> None:
    """Make .venv from the interpreter that runs this, holding exactly what is locked.

    Two files inside say how far it is: ``made`` names the interpreter, ``synced`` the lock.
    """
    venv, lock = checkout / ".venv", checkout / "requirements.lock"
    interpreter = f"{Path(sys.executable).resolve()} {sys.version}"
    if _read(venv / "made") != interpreter:
        say("making the Python environment")
        shutil.rmtree(venv, ignore_errors=True)
        _make(venv)
        _install_uv(venv, lock.read_text())
        (venv / "made").write_text(interpreter)
    wanted = hashlib.sha256(lock.read_bytes()).hexdigest()
    if _read(venv / "synced") != wanted:
        say("installing the locked Python packages")
        settings = pypi.settings_for_uv(str(venv / "bin/python"))
        _uv_pip(venv, "sync", "--require-hashes", str(lock), environment=settings)
        (venv / "synced").write_text(wanted)


def install_project(checkout: Path) -> None:
    """Build httpbed's wheel and install it, unless its sources are as they were.

    uv decides that by the cache keys in pyproject.toml.
    """
    venv = checkout / ".venv"
    path = f"{venv / 'bin'}:{os.environ['PATH']}:{Path.home() / '.cargo/bin'}"
    words = ("--no-deps", "--no-build-isolation", str(checkout))
    _uv_pip(venv, "install", *words, environment={"PATH": path})


def _read(path: Path) -> str | None:
    try:
        return path.read_text()
    except OSError:
        return None


def _make(venv: Path) -> None:
    """Make an environment that has pip, also where Debian's python3-venv is missing."""
    if importlib.util.find_spec("ensurepip"):
        _run(sys.executable, "-m", "venv", str(venv))
        return
    _run(sys.executable, "-m", "venv", "--without-pip", str(venv))
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch, "tree")
        try:
            apt.unpack(("python3-pip-whl",), tree)
        except HostError as error:
            raise HostError(
                f"Python has no ensurepip, and {error.reason}",
                "have the administrator install python3-venv, or name another Python, 3.11 or"
                " newer, in HTTPBED_PYTHON",
            ) from error
        (wheel,) = map(str, tree.glob("usr/share/python-wheels/pip-*.whl"))
        pip_installs = (str(venv / "bin/python"), "-m", "pip", "install", "--quiet", "--no-index")
        _run(*pip_installs, wheel, environment={"PYTHONPATH": wheel})


def _install_uv(venv: Path, lock: str) -> None:
    """Install uv alone, as locked."""
    found = re.search(r"^uv==.*(?:\n    --hash=.*)*", lock, re.MULTILINE)
    if found is None:
        raise AssertionError("requirements.lock does not hold uv")
    requirement = venv / "uv.lock"
    requirement.write_text(found[0].rstrip("\\ ") + "\n")
    _run(
        *(str(venv / "bin/python"), "-m", "pip", "install", "--quiet"),
        *("--disable-pip-version-check", "--require-hashes", "-r", str(requirement)),
    )


def _uv_pip(venv: Path, verb: str, *words: str, environment: dict[str, str]) -> None:
    uv = [str(venv / "bin/uv"), "pip", verb, "--quiet", "--python", str(venv / "bin/python")]
    _run(*uv, *words, environment=environment)


def _run(*words: str, environment: dict[str, str] | None = None) -> None:
    subprocess.run(words, check=True, env={**os.environ, **(environment or {})})
