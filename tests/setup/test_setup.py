"""The set-up's decisions; `make` itself tries the rest."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import rust
from httpbed.bed.toolbox import pypi, quiche

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


def test_the_other_root_keeps_to_its_own_rust(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Proxies of rustup are passed over, though first on the PATH and in the environment."""
    proxies, usr_bin = tmp_path / "home/.cargo/bin", tmp_path / "usr/bin"
    tools = ("rustc", "rustdoc", "rustfmt", "cargo-fmt", "cargo-clippy", "gcc")
    for folder in (proxies, usr_bin):
        folder.mkdir(parents=True)
        for name in tools:
            (folder / name).touch(0o755)
    stand_in = usr_bin / "unshare"  # says what cargo would find
    stand_in.write_text(
        f"#!/bin/bash\ncommand -v {' '.join(tools)}\n"
        'printf "%s\\n" "$RUSTC" "$RUSTDOC" "$RUSTFMT" "$PATH"\n'
    )
    stand_in.chmod(0o755)
    wrapper = tmp_path / "cargo"
    wrapper.write_text(quiche.cargo_script(tmp_path).replace("/usr/bin", str(usr_bin)))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", f"{proxies}:{os.environ['PATH']}")
    monkeypatch.setenv("RUSTC", str(proxies / "rustc"))
    monkeypatch.delenv("CARGO_HOME", raising=False)
    told = subprocess.run(["sh", wrapper, "build"], check=True, capture_output=True, text=True)
    *found, path = told.stdout.splitlines()
    named = ("rustc", "rustdoc", "rustfmt")
    assert found == [str(usr_bin / name) for name in (*tools, *named)]
    assert path.endswith(f":{proxies}:/usr/sbin:/sbin"), "cargo would put it first"


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
    assert pypi.settings_for_uv(str(python)) == {
        "UV_DEFAULT_INDEX": "https://index.test/simple",
        "UV_FIND_LINKS": "/wheels",
    }
