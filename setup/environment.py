"""The Python environment in .venv: uv, the locked packages, and httpbed's wheel."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import progress
from httpbed.base.errors import HostError
from httpbed.bed.toolbox import debian, pypi


def ensure(checkout: Path) -> None:
    """Make .venv from the running interpreter, with exactly the locked packages.

    Two files in it record progress: ``made`` names the interpreter, ``synced`` the digest of the
    lock file. It is relocatable, because `setup/as-nobody` mounts it elsewhere.
    """
    venv, lock = checkout / ".venv", checkout / "requirements.lock"
    interpreter = f"{Path(sys.executable).resolve()} {sys.version}, relocatable"
    if _read(venv / "made") != interpreter:
        with progress.step("making the Python environment in .venv", "15 s"):
            shutil.rmtree(venv, ignore_errors=True)
            _make(venv)
            _install_uv(venv, lock.read_text())
            with (venv / "pyvenv.cfg").open("a") as settings_of_venv:
                settings_of_venv.write("relocatable = true\n")  # uv writes scripts accordingly
            (venv / "made").write_text(interpreter)
    wanted = hashlib.sha256(lock.read_bytes()).hexdigest()
    if _read(venv / "synced") != wanted:
        with progress.step("installing the locked Python packages", "30 s"):
            settings = pypi.settings_for_uv(str(venv / "bin/python"))
            _uv_pip(venv, "sync", "--require-hashes", str(lock), environment=settings)
            (venv / "synced").write_text(wanted)


def install_project(checkout: Path) -> None:
    """Build httpbed's wheel and install it, if its sources have changed.

    uv decides this by the cache keys in pyproject.toml.
    """
    venv = checkout / ".venv"
    path = f"{venv / 'bin'}:{os.environ['PATH']}:{Path.home() / '.cargo/bin'}"
    words = ("--no-deps", "--no-build-isolation", str(checkout))
    usual = "1 to 2 min the first time, 10 s after a change"
    with progress.step("building httpbed and its Rust executables", usual, silent_s=1.0):
        _uv_pip(venv, "install", *words, environment={"PATH": path})


def _read(path: Path) -> str | None:
    try:
        return path.read_text()
    except OSError:
        return None


def _make(venv: Path) -> None:
    """Make an environment with pip, even if Debian's python3-venv is not installed."""
    if importlib.util.find_spec("ensurepip"):
        _run(sys.executable, "-m", "venv", str(venv))
        return
    _run(sys.executable, "-m", "venv", "--without-pip", str(venv))
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch, "tree")
        try:
            debian.unpack(("python3-pip-whl",), tree)
        except HostError as error:
            raise HostError(
                f"Python has no ensurepip, and {error.reason}",
                "ask the administrator to install python3-venv, or set HTTPBED_PYTHON to another"
                " Python, 3.11 or newer",
            ) from error
        (wheel,) = map(str, tree.glob("usr/share/python-wheels/pip-*.whl"))
        pip_installs = (str(venv / "bin/python"), "-m", "pip", "install", "--quiet", "--no-index")
        _run(*pip_installs, wheel, environment={"PYTHONPATH": wheel})


def _install_uv(venv: Path, lock: str) -> None:
    """Install only uv, in its locked version."""
    locked = re.search(r"^uv==.*(?:\n    --hash=.*)*", lock, re.MULTILINE)
    if locked is None:
        raise AssertionError("requirements.lock does not hold uv")
    requirement = venv / "uv.lock"
    requirement.write_text(locked[0].rstrip("\\ ") + "\n")
    _run(
        *(str(venv / "bin/python"), "-m", "pip", "install", "--quiet"),
        *("--disable-pip-version-check", "--require-hashes", "-r", str(requirement)),
    )


def _uv_pip(venv: Path, verb: str, *words: str, environment: dict[str, str]) -> None:
    """Run uv; compile the modules, because each process compiles those that it cannot store."""
    uv = [str(venv / "bin/uv"), "pip", verb, "--quiet", "--compile-bytecode"]
    _run(*uv, "--python", str(venv / "bin/python"), *words, environment=environment)


def _run(*words: str, environment: dict[str, str] | None = None) -> None:
    subprocess.run(words, check=True, env={**os.environ, **(environment or {})})
