"""The steps of the GitHub Action, run in turn with the variables that GitHub documents."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

import github_api
from git_repositories import git
from github_api import Api
from real_runs import SmallExperiment

ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
CURL = shutil.which("curl") or ""
INSTALLS = "pip install"
pytestmark = pytest.mark.skipif(not CURL, reason="this machine has no curl")


@dataclass
class Job:
    """A job of a pull request, in a clean checkout."""

    checkout: Path
    environment: dict[str, str]
    inputs: dict[str, str]
    outputs: dict[str, str] = field(default_factory=dict)
    """Of the step ``gate``."""

    def run(self) -> Iterator[tuple[str, subprocess.CompletedProcess[str]]]:
        """Run the steps that are scripts, the last one whatever the others did."""
        for step in (one for one in ACTION["runs"]["steps"] if "run" in one):
            script = step["run"]
            if script.startswith(INSTALLS):
                script = script.partition(" && ")[2]  # httpbed is installed here
            given = {name: self.expanded(text) for name, text in step.get("env", {}).items()}
            ended = subprocess.run(
                ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
                cwd=self.checkout,
                env={**self.environment, **given},
                capture_output=True,
                text=True,
                check=False,
            )
            file = Path(self.environment["GITHUB_OUTPUT"])
            self.outputs |= dict(line.split("=", 1) for line in file.read_text().splitlines())
            yield step["name"], ended

    def expanded(self, text: str) -> str:
        """Replace the expressions that the action uses."""
        values = {f"inputs.{name}": value for name, value in self.inputs.items()}
        values |= {f"steps.gate.outputs.{name}": value for name, value in self.outputs.items()}
        return re.sub(r"\$\{\{ (\S+) \}\}", lambda found: values[found[1]], text)


@pytest.fixture
def api() -> Iterator[Api]:
    """Serve comments on loopback."""
    with github_api.serving() as state:
        yield state


def job(folder: Path, api: Api, head: str) -> Job:
    """A pull request that replaces a copy of this machine's curl by ``head``."""
    checkout = folder / "checkout"
    checkout.mkdir()
    git(checkout, "init", "--quiet")
    experiment = SmallExperiment(versions=("1.1",), replicates=5, size="10 kB")
    (checkout / "bench.toml").write_text(experiment.text())
    for source in (CURL, head):
        (checkout / "Makefile").write_text(f"client:\n\tcp {source} client\n")
        git(checkout, "add", ".")
        git(checkout, "commit", "--quiet", "--allow-empty", "--message", "change")
    defaults = {name: str(one.get("default", "")) for name, one in ACTION["inputs"].items()}
    inputs = {
        "program": "curl",
        "build": "make client",
        "executable": "client",
        "scenario": "bench.toml",
        "base": git(checkout, "rev-parse", "HEAD~1").strip(),
        "token": "token",
    }
    event = folder / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 7}}))
    for name in ("output", "summary"):
        (folder / name).touch()
    of_github = {
        "GITHUB_ACTIONS": "true",
        "GITHUB_ACTION_PATH": str(ROOT),
        "GITHUB_API_URL": api.address,
        "GITHUB_GRAPHQL_URL": f"{api.address}/graphql",
        "GITHUB_REPOSITORY": "owner/name",
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_OUTPUT": str(folder / "output"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary"),
        "GITHUB_WORKSPACE": str(checkout),
        "RUNNER_TEMP": str(folder),
    }
    path = {"PATH": f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}"}
    return Job(checkout, {**os.environ, **path, **of_github}, {**defaults, **inputs})


def ran(job: Job) -> Mapping[str, subprocess.CompletedProcess[str]]:
    """Run a job; return its steps by name."""
    return dict(job.run())


@pytest.mark.parametrize(
    ("head", "verdict", "code"), [(CURL, "pass", 0), ("/bin/true", "regression", 1)]
)
def test_a_pull_request_gets_its_verdict_where_people_look(
    tmp_path: Path, api: Api, head: str, verdict: str, code: int
) -> None:
    """As an exit code, in one comment, as annotations and in the summary; twice, it is one still.

    The head that does not fetch at all exits at once with success.
    """
    steps = ran(asked := job(tmp_path, api, head))
    assert steps["Install"].returncode == 0, steps["Install"].stderr
    measured = steps["Measure both revisions"]
    assert measured.returncode == code, measured.stderr
    assert asked.outputs["verdict"] == verdict
    assert ("::error" in measured.stdout) == bool(code)
    assert (tmp_path / "summary").read_text().count("| before |") == 1
    assert steps["Comment"].returncode == 0, steps["Comment"].stdout
    (comment,) = api.comments
    assert f"## httpbed: {verdict}" in comment["body"]
    assert "git worktree add" in comment["body"]
    assert git(asked.checkout, "worktree", "list").count("\n") == 0
    assert git(asked.checkout, "status", "--porcelain").splitlines() == ["?? client"]
