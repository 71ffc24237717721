"""The commands of the guides, run as they are printed."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from real_runs import httpbed

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]

GUIDES = Path(__file__).parents[2] / "docs/guides"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_a_hand_over_is_measured_as_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The guide's experiment runs, and its report shows what the guide says."""
    text = (GUIDES / "handovers.md").read_text()
    (experiment,) = [block for language, block in BLOCK.findall(text) if language == "toml"]
    once = experiment.replace("replicates = 6", "replicates = 1")
    (tmp_path / "leaving-wifi.toml").write_text(once)
    monkeypatch.chdir(tmp_path)
    ran = httpbed("run", "leaving-wifi.toml", "-o", "leaving-wifi", "--json")
    assert ran.returncode == 0, ran.stderr
    treatments = json.loads(ran.stdout)["treatments"]
    assert {treatment["trials"]["outcomes"].get("completed") for treatment in treatments} == {1}
    moves = {
        treatment["levels"]["client"]: treatment["handovers"]
        for treatment in treatments
        if treatment["levels"]["address"] == "changed"
    }
    assert {client: found["on_the_wire"] for client, found in moves.items()} == {
        "quiche-h3": {"migrated": 1},
        "wget-resume": {"new connection": 1},
        "curl-restart": {"new connection": 1},
    }
    twice = moves["curl-restart"]["estimates"]["bytes_fetched_twice"]["median"]["value"]
    assert twice > 10**6
    folder = next(tmp_path.glob("leaving-wifi/trials/*/*"))
    shown = httpbed("report", "leaving-wifi", "--trial", f"1/{folder.name}")
    assert shown.returncode == 0, shown.stderr
    assert "delivered" in shown.stdout
    assert (tmp_path / "leaving-wifi/figures/handovers-1.svg").is_file()


@pytest.mark.slow
def test_an_implementation_is_added_in_twenty_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guide's recipe works with the guide's commands."""
    text = (GUIDES / "own-implementation.md").read_text()
    (recipe, commands) = [block for _, block in BLOCK.findall(text)][:2]
    assert sum(1 for line in recipe.splitlines() if line) <= 20
    (name,) = set(re.findall(r"`(my-recipes/\S+\.toml)`", text))
    (tmp_path / name).parent.mkdir()
    (tmp_path / name).write_text(recipe)
    monkeypatch.chdir(tmp_path)
    build, check, compare = [shlex.split(line)[1:] for line in commands.splitlines()]
    built = httpbed(*build)
    assert built.returncode == 0, built.stderr
    checked = httpbed(*check)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "1 of 1 pairings" in checked.stdout
    ran = httpbed(*compare, "--clock", "real", "--json", "-o", "campaign")
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)
    ended = [
        json.loads(path.read_text()) for path in tmp_path.glob("campaign/trials/*/*/*/trial.json")
    ]
    kinds = {
        (one["trial"]["levels"]["server"], one["outcome"]["kind"])
        for one in ended
        if one["outcome"]["kind"] != "invalid"
    }
    assert kinds == {("nginx", "completed"), ("nghttpd", "completed")}
    manifest = json.loads((tmp_path / "campaign/manifest.json").read_text())
    assert "nghttpd" in {program["name"] for program in manifest["programs"]}
