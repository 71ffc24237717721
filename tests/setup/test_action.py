"""The steps of the GitHub Action, run as scripts with the variables that GitHub documents."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import github_api
from git_repositories import git
from github_api import Api

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "action/pull_request.py"
_SPEC = importlib.util.spec_from_file_location("pull_request", SCRIPT)
assert _SPEC is not None
assert _SPEC.loader is not None
action: Any = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(action)


@pytest.fixture
def api() -> Iterator[Api]:
    """Serve comments on loopback."""
    with github_api.serving() as state:
        yield state


@pytest.fixture
def environment(api: Api, tmp_path: Path) -> dict[str, str]:
    """Return a job's variables."""
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 7}}))
    return {
        "GITHUB_API_URL": api.address,
        "GITHUB_GRAPHQL_URL": f"{api.address}/graphql",
        "GITHUB_REPOSITORY": "owner/name",
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_TOKEN": "token",
    }


def test_one_comment_is_written_and_replaced(api: Api, environment: dict[str, str]) -> None:
    """Also behind two hundred forged ones of other users; another program has its own."""
    inputs = {"PROGRAM": "curl", "SCENARIO": "standard"}
    marked = action.body("pass", "forged", [], inputs)
    users = [{"login": "mallory"}, None]
    api.comments += [
        {"id": number + 1, "body": marked, "user": users[number % 2]} for number in range(200)
    ]
    for verdict in ("regression", "pass"):
        text = action.body(verdict, "table", ["httpbed gate"], inputs)
        assert action.comment(text, environment) == 0
    own = action.body("pass", "table", [], {"PROGRAM": "caddy"})
    assert action.comment(own, environment) == 0
    assert api.methods == ["POST", "PATCH", "POST"]
    assert len(api.comments) == 202
    assert "httpbed: pass" in api.comments[200]["body"]


def test_a_fork_without_rights_does_not_fail(api: Api, environment: dict[str, str]) -> None:
    """The summary has the table; an API that does not answer is no regression, either."""
    api.may_write = False
    assert action.comment("text", environment) == 0
    assert api.comments == []
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    nowhere = dict.fromkeys(("GITHUB_API_URL", "GITHUB_GRAPHQL_URL"), f"http://127.0.0.1:{port}")
    assert action.comment("text", environment | nowhere) == 0


def test_a_comment_is_shorter_than_github_accepts() -> None:
    """And no line of a build's output leads out of its block."""
    text = action.body("pass", "x" * 100_000, [], {"PROGRAM": "curl"})
    assert len(text) < 65_536
    assert action.fenced("```\n# heading").count("```") == 2


def test_each_input_is_declared_and_read() -> None:
    """By the names that the script uses."""
    text = (ROOT / "action.yml").read_text()
    declared = set(re.findall(r"^  (\w+):\n    description", text, re.MULTILINE)) - {"verdict"}
    used = set(re.findall(r"inputs\.(\w+)", text))
    assert used == declared
    script = SCRIPT.read_text()
    names = re.findall(r"^        ([A-Z]+): \$\{\{ inputs", text, re.MULTILINE)
    assert {name for name in names if name != "INSTALL"} <= set(re.findall(r'"([A-Z]+)"', script))


@pytest.mark.parametrize(
    ("inputs", "reason"),
    [
        ({"BUILD": "echo broken; exit 1"}, "the build of the base failed"),
        ({"BUILD": "true"}, "made no server"),
        ({"BASE": "0" * 40}, "fetch-depth"),
        ({"BASE": ""}, "input base"),
    ],
)
def test_a_build_that_fails_has_a_reason_and_no_verdict(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    inputs: dict[str, str],
    reason: str,
) -> None:
    """Exit code 1, a comment that says why, and nothing left in the checkout."""
    repository = tmp_path / "repository"
    repository.mkdir()
    git(repository, "init", "--quiet")
    git(repository, "commit", "--quiet", "--allow-empty", "--message", "first")
    output = tmp_path / "output"
    usual = {
        "PROGRAM": "my-server",
        "BUILD": "true",
        "EXECUTABLE": "server",
        "BASE": "HEAD",
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_OUTPUT": str(output),
    }
    for name, value in (usual | inputs).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(repository)
    assert action.main(["measure"]) == 1
    printed = capsys.readouterr().out
    assert re.search(rf"^::error title=httpbed::.*{reason}", printed, re.MULTILINE)
    values = dict(line.split("=", 1) for line in output.read_text().splitlines())
    assert values["verdict"] == "not measured"
    assert reason in Path(values["comment"]).read_text()
    assert git(repository, "worktree", "list").count("\n") == 0


@pytest.mark.parametrize("scenario", ["standard", "ci/bench.toml"])
def test_the_commands_of_a_comment_name_no_folder_of_the_runner(scenario: str) -> None:
    """A reader runs them in a checkout of the pull request."""
    inputs = {
        "PROGRAM": "my-server",
        "BUILD": "make server",
        "EXECUTABLE": "out dir/server",
        "RECIPES": "ci/recipes",
        "SCENARIO": scenario,
        "THRESHOLD": "1 %",
        "BASE": "0123abc",
        "RUNNER_TEMP": "/runner",
    }
    lines = action.commands(inputs)
    assert lines[1:4] == [
        "git worktree add --detach ../base 0123abc",
        "( cd ../base && make server )",
        "make server",
    ]
    words = [word for line in lines[4:] for word in shlex.split(line)]
    assert not [word for word in words if word.startswith("/") or "=/" in word]
    assert {"my-server=../base/out dir/server", "my-server=./out dir/server"} <= set(words)
    assert words[-2:] == ["--margin", "1 %"]
