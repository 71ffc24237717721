"""The set-up's decisions; `make` itself tries the rest."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import environment
import rust

SETUP = Path(__file__).resolve().parent.parent.parent / "setup"


def test_the_interpreter_is_new_enough() -> None:
    """What it prints is a Python of 3.11 or newer."""
    told = subprocess.run([SETUP / "interpreter"], check=True, capture_output=True, text=True)
    program = "import sys; sys.exit(sys.version_info < (3, 11))"
    assert subprocess.run([told.stdout.strip(), "-c", program], check=False).returncode == 0


@pytest.mark.parametrize(
    ("told", "version"),
    [
        ("cargo 1.85.1 (d73d2caf9 2024-12-31)", (1, 85, 1)),
        ("1.85", (1, 85)),
        ("error: no override and no default toolchain set", ()),
    ],
)
def test_versions_of_cargo(told: str, version: tuple[int, ...]) -> None:
    """A cargo that cannot say its version is older than every other."""
    assert rust._version(told) == version


def test_settings_of_pip_are_carried_over_to_uv(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index comes along, whichever way pip was told; what uv was told itself is kept."""
    python = tmp_path / "bin/python"
    python.parent.mkdir()
    python.write_text(
        "#!/bin/sh\n"
        "echo \"global.index-url='https://index.test/simple'\"\n"
        "echo \":env:.find-links='/wheels'\"\n"
        "echo \"global.cert='/ca.pem'\"\n"
    )
    python.chmod(0o755)
    for name in ("UV_DEFAULT_INDEX", "UV_FIND_LINKS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SSL_CERT_FILE", "/own.pem")
    assert environment._indexes(tmp_path) == {
        "UV_DEFAULT_INDEX": "https://index.test/simple",
        "UV_FIND_LINKS": "/wheels",
    }
