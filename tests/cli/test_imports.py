"""Verbs that only read text import no library that takes long to import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import stored_campaigns
from httpbed.cli.main import verbs

EXPERIMENT = Path(__file__).parents[2] / "experiments" / "examples" / "versions.toml"
SLOW = ("PIL", "cryptography", "duckdb", "matplotlib", "numpy", "pyarrow", "scipy", "scipy.stats")
"""Libraries that take tens to hundreds of milliseconds to import."""
PROGRAM = f"""
import sys
from httpbed.cli.main import main
try:
    main()
finally:
    print("imported:", *(name for name in {SLOW} if name in sys.modules), file=sys.stderr)
"""


def imported(*words: str | Path) -> list[str]:
    """Run httpbed in a new interpreter; return the slow libraries that it imported."""
    argv = [sys.executable, "-c", PROGRAM, *map(str, words)]
    ended = subprocess.run(argv, capture_output=True, text=True, check=True)
    return ended.stderr.splitlines()[-1].removeprefix("imported:").split()


def test_the_help_of_a_verb_imports_no_slow_library() -> None:
    """A user reads it between two commands. One process asks all verbs, because none may."""
    program = f"""
import contextlib, io, sys
from httpbed.cli.main import cli
for verb in {list(verbs())}:
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        cli.main([verb, "--help"], standalone_mode=False)
    assert verb in shown.getvalue()
    print(verb, *(name for name in {SLOW} if name in sys.modules))
"""
    argv = [sys.executable, "-c", program]
    ended = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert ended.stdout.split() == list(verbs())


def test_what_runs_trials_imports_no_slow_library_before_the_first_trial() -> None:
    """Judging and reporting need them; both come later, after progress is shown."""
    modules = (
        "httpbed.campaign.run, httpbed.cli.progress, httpbed.addons.calibration.certificate, "
        "httpbed.addons.conformance.senders"
    )
    program = f"import sys, {modules}; print(*sorted({set(SLOW)} & set(sys.modules)))"
    argv = [sys.executable, "-c", program]
    ended = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert ended.stdout.split() == []


@pytest.mark.parametrize("verb", ["validate", "plan"])
def test_checking_an_experiment_imports_no_slow_library(verb: str) -> None:
    """A user runs these verbs after each edit of the file."""
    assert imported(verb, EXPERIMENT) == []


def test_importing_httpbed_link_builds_no_model() -> None:
    """Each validator takes milliseconds, and a link needs one."""
    program = """
import httpbed.addons.link.link_verb
from httpbed.base.value import Value
models = [Value]
for model in models:
    models += model.__subclasses__()
print(len(models) > 20, *(one.__name__ for one in models if one.__pydantic_complete__))
"""
    argv = [sys.executable, "-c", program]
    ended = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["True"]


def test_a_report_imports_all_slow_libraries_but_the_slowest(tmp_path: Path) -> None:
    """Intervals of medians need no scipy.stats. This shows, too, that the other tests can fail."""
    stored_campaigns.make(
        tmp_path / "campaign", map(stored_campaigns.record, stored_campaigns.loaded().trials)
    )
    found = imported("report", tmp_path / "campaign", "--json")
    assert ("pyarrow" in found, "scipy.stats" in found) == (True, False)
