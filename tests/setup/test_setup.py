"""The set-up's decisions; `make` itself tries the rest.

The commit that a wheel says it was built from.
Progress of set-up: steps are announced with their usual duration, and slow steps show life.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import time
from pathlib import Path
from types import ModuleType

import hatch_build
import pytest

import rust
from httpbed.bed.toolbox import compiled, pypi

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
    wrapper.write_text(compiled.cargo_script(tmp_path).replace("/usr/bin", str(usr_bin)))
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


AUTHOR = ("-c", "user.name=a", "-c", "user.email=a@example.org")


def git(folder: Path, *words: str) -> str:
    line = ["git", *AUTHOR, *words]
    return subprocess.run(line, cwd=folder, check=True, capture_output=True, text=True).stdout


def test_a_wheel_names_its_commit_and_whether_files_differ(tmp_path: Path) -> None:
    """Without git it names none."""
    assert hatch_build._commit(tmp_path) == ""
    git(tmp_path, "init", "--quiet")
    (tmp_path / "file").write_text("one")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "--quiet", "-m", "first")
    commit = git(tmp_path, "rev-parse", "HEAD").strip()
    assert hatch_build._commit(tmp_path) == commit
    (tmp_path / "file").write_text("two")
    assert hatch_build._commit(tmp_path) == f"{commit}+"


FILE = Path(__file__).parents[2] / "setup/progress.py"


@pytest.fixture
def progress() -> ModuleType:
    """Load ``setup/progress.py``, which is not part of the package."""
    spec = importlib.util.spec_from_file_location("setup_progress", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_step_is_announced_with_its_usual_duration(
    progress: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line appears on stderr when the step begins."""
    with progress.step("building", "a minute"):
        deadline = time.monotonic() + 10
        while not (line := capsys.readouterr().err) and time.monotonic() < deadline:
            time.sleep(0.01)
    assert line == "set-up: building (usually a minute)\n"


def test_a_quick_step_that_may_be_silent_prints_nothing(
    progress: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    """``make prepare`` without a change prints nothing."""
    with progress.step("building", "a minute", silent_s=60.0):
        pass
    assert capsys.readouterr().err == ""


def test_a_slow_step_reports_that_it_is_running(
    progress: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sign of life says how long the step has taken so far."""
    monkeypatch.setattr(progress, "SIGN_OF_LIFE_S", 0.01)
    text, deadline = "", time.monotonic() + 10
    with progress.step("building", "a minute"):
        while "so far" not in text and time.monotonic() < deadline:
            time.sleep(0.01)
            text += capsys.readouterr().err
    assert "set-up: building: 0 s so far\n" in text


def test_a_failing_step_passes_its_error_on(progress: ModuleType) -> None:
    """The thread that reports progress ends with the step."""
    with pytest.raises(OSError, match="broken"), progress.step("building", "a minute"):
        raise OSError("broken")
