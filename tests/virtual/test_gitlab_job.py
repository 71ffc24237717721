"""The script of GitLab's job, run as its runner does, with the variables that GitLab documents."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml  # type: ignore[import-untyped]

from git_repositories import git
from real_runs import SmallExperiment

TEMPLATE = Path(__file__).parents[2] / "action/gitlab-ci.yml"
CURL = shutil.which("curl") or ""


@pytest.fixture
def job() -> dict[str, Any]:
    """Return the job of the template."""
    job: dict[str, Any] = yaml.safe_load(TEMPLATE.read_text())[".httpbed"]
    return job


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository whose build is a copy of this machine's curl."""
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "--quiet")
    experiment = SmallExperiment(versions=("1.1",), replicates=5, size="10 kB")
    (folder / "bench.toml").write_text(experiment.text())
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "first")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "second")
    return folder


def run(job: dict[str, Any], repository: Path, **given: str) -> subprocess.CompletedProcess[str]:
    """Run the script in one shell, with variables expanded as a runner does."""
    of_gitlab = {
        "CI_PROJECT_DIR": str(repository),
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": git(repository, "rev-parse", "HEAD~1").strip(),
    }
    own = {name: text for name, text in job["variables"].items() if name != "HTTPBED_CACHE"}
    scripts = sysconfig.get_path("scripts")
    path = {"PATH": f"{scripts}:{os.environ['PATH']}"}
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", "\n".join(job["script"])],
        cwd=repository,
        env={**os.environ, **path, **of_gitlab, **own, **given},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.skipif(not CURL, reason="this machine has no curl")
def test_two_like_builds_pass(job: dict[str, Any], repository: Path) -> None:
    """The report of tests has no failure, and the job succeeds."""
    ended = run(
        job,
        repository,
        HTTPBED_PROGRAM="curl",
        HTTPBED_BUILD=f"cp {CURL} client",
        HTTPBED_EXECUTABLE="client",
        HTTPBED_SCENARIO="bench.toml",
    )
    assert ended.returncode == 0, ended.stderr
    suites = ET.parse(repository / "httpbed.xml").getroot()  # noqa: S314 - httpbed wrote it
    assert suites.get("failures") == "0"
    assert int(suites.get("tests", "0")) >= 2
    assert "pass" in (repository / "httpbed.md").read_text()


def test_a_build_that_fails_fails_the_job(job: dict[str, Any], repository: Path) -> None:
    """Nothing is measured."""
    ended = run(job, repository, HTTPBED_BUILD="exit 7", HTTPBED_EXECUTABLE="client")
    assert ended.returncode == 7
    assert not (repository / "httpbed.xml").exists()
