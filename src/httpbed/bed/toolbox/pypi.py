"""Installs programs of the Python package index into a root filesystem.

They are installed as wheels for the root's Python; none of their code runs. uv installs them, with
the settings of uv and of pip (index, folder of wheels, certificate). Every file, including
dependencies, must have a SHA-256 from the recipe, because an index may replace a file of the same
name and version.

::

    /opt/pypi             the packages
    /usr/local/bin/NAME   a link to each of their executables and scripts

If a package has an executable and a script of the same name, the link leads to the executable.

Standard library only: set-up uses the settings before anything is installed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

from httpbed.base.errors import HostError
from httpbed.bed.toolbox import root_files

FOLDER = "opt/pypi"
_LINKS = "usr/local/bin"
_HASH = "--hash=sha256:"
_OTHER_FILE = re.compile(
    r"Hash mismatch for `(?P<what>[^\s`]+)`.*?Computed:\s+(?:sha256:)?(?P<got>[0-9a-f]{64})",
    re.DOTALL,
)
_NO_DIGEST = re.compile(r"no trusted hash was provided for: `(?P<what>[\w.-]+)")
_INTERPRETER = re.compile(rb"\A(#!.*\bpython[\d.]*\b[^\n]*|#!/bin/sh\n'''exec' [^\n]*\n' ''')\n")
"""First lines of an installed script; the second form is for long interpreter paths."""


def pinned(requirement: str, digests: Iterable[str]) -> str:
    """Return a requirement line for uv with the SHA-256 of each permitted file."""
    return " ".join([requirement, *(f"{_HASH}{digest}" for digest in sorted(set(digests)))])


def named(line: str) -> str:
    """Return the requirement of a line of :func:`pinned`, without digests."""
    return line.split(" ", 1)[0]


def command(listed: Path, root: Path) -> tuple[list[str], dict[str, str]]:
    """Return the command that installs a file's requirements into a root, and its environment.

    Raises:
        HostError: uv is missing.
    """
    beside = Path(sysconfig.get_path("scripts"), "uv")
    uv = str(beside) if os.access(beside, os.X_OK) else shutil.which("uv")
    if uv is None:
        raise HostError(
            "installing programs of the Python index needs uv, which httpbed's wheel depends on",
            "install it beside httpbed, or on the PATH",
        )
    words = ["--python", sys.executable, "--no-python-downloads"]
    words += ["--quiet", "--target", str(root / FOLDER), *_version(root)]
    words += ["--only-binary", ":all:", "--require-hashes", "--requirement", str(listed)]
    settings = settings_for_uv(sys.executable)
    return [uv, "pip", "install", *words], {**os.environ, **settings}


def refusal(log: str) -> HostError | None:
    """Return the error if uv rejected a digest; None for any other failure."""
    if match := _OTHER_FILE.search(log):
        return HostError(
            f"the Python index has another file of {match['what']} than the recipe names; its"
            f" SHA-256 is {match['got']}",
            "do not install it unless you know why it changed; check which index pip uses (pip"
            " config list), and correct the recipe if it is yours",
        )
    if match := _NO_DIGEST.search(log):
        return HostError(
            f"a program of the Python index needs {match['what']}, for which the recipe has no"
            " SHA-256",
            'add it to the recipe: [install.pypi."NAME==VERSION"] with a line for each wheel',
        )
    return None


def settings_for_uv(python: str) -> dict[str, str]:
    """Return the settings of an interpreter's pip as environment variables of uv."""
    # -P: not a pip in the folder where httpbed runs.
    words = [python, "-P", "-m", "pip", "config", "list"]
    listed = subprocess.run(words, check=False, capture_output=True, text=True).stdout
    settings = dict(re.findall(r"^\S+\.([\w-]+)='(.*)'$", listed, re.MULTILINE))
    return {
        uv: settings[pip].replace("\\n", " ").strip()
        for pip, uv in _NAMES.items()
        if pip in settings and uv not in os.environ
    }


_NAMES = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "cert": "SSL_CERT_FILE",
}


def _version(root: Path) -> list[str]:
    """Return the options for the root's Python version; empty if the root has no Python."""
    link = root / "usr/bin/python3"
    match = re.fullmatch(r"python(\d+\.\d+)", link.readlink().name) if link.is_symlink() else None
    return ["--python-version", match[1]] if match else []


def complete(root: Path) -> dict[str, str]:
    """Link the installed programs in the root; return the version of each package."""
    folder = root / FOLDER
    version = "".join(_version(root)[1:])
    if version:
        _let_python_find(root, version)
    programs = dict(_scripts(folder)) if version else {}
    programs |= {path.name: path for path in root_files.executables(folder)}
    links = root / _LINKS
    links.mkdir(parents=True, exist_ok=True)
    for name, path in programs.items():
        (links / name).symlink_to("/" / path.relative_to(root))
    packages = metadata.distributions(path=[str(folder)])
    return dict(sorted((package.metadata["Name"], package.version) for package in packages))


def _let_python_find(root: Path, version: str) -> None:
    packages = root / f"usr/local/lib/python{version}/dist-packages"
    packages.mkdir(parents=True)
    (packages / "httpbed.pth").write_text(f"/{FOLDER}\n")


def compile_modules(root: Path) -> None:
    """Compile all modules, as the packages' scripts would have; otherwise every trial would.

    The root's own interpreter does it, if there is one. The compiled files do not depend on the
    modification times of the sources.
    """
    version = "".join(_version(root)[1:])
    loading = root_files.loading(root, f"/usr/bin/python{version}") if version else None
    if loading is None:
        return
    # Python imports nothing of the user's folder, nor the modules that .pth files name.
    words = ["-S", "-m", "compileall", "-q", "-s", str(root)]
    words += ["--invalidation-mode", "unchecked-hash"]
    folders = [str(root / f"usr/lib/python{version}"), str(root / FOLDER)]
    environment = {"PYTHONHOME": str(root / "usr"), "LC_ALL": "C.UTF-8"}
    # A failure is ignored: some packages contain modules for other Python versions.
    subprocess.run(
        [*loading, *words, *folders], check=False, cwd=root, env=environment, capture_output=True
    )


def _scripts(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the packages' scripts, changed to run with the root's own Python."""
    for script in sorted((folder / "bin").glob("*")):
        text = script.read_bytes()
        if _INTERPRETER.match(text):
            script.unlink()  # it may be a hard link into the installer's cache
            script.write_bytes(_INTERPRETER.sub(b"#!/usr/bin/python3\n", text))
            script.chmod(0o755)
            yield script.name, script
