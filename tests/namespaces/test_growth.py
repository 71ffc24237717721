"""A campaign of real trials grows by a block and by a level, even if the growing run is killed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from families import until
from httpbed.store import campaign as campaigns
from orchestrator import Run
from real_runs import SmallExperiment, completed, finished, httpbed

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]


def test_a_campaign_grows_by_a_block_and_a_level(tmp_path: Path) -> None:
    """Each trial runs once; what ran before is not touched; other settings are refused by name."""
    file, directory = tmp_path / "experiment.toml", tmp_path / "campaign"
    small = SmallExperiment(versions=("2",), replicates=2)
    file.write_text(small.text())
    assert httpbed("run", file, "-o", directory).returncode == 0
    first = finished(directory)
    larger = SmallExperiment(versions=("2", "3"), replicates=2)
    file.write_text(larger.text())
    with Run(file, directory, "--replicates", "3") as run:
        until(lambda: len(finished(directory)) > len(first) or run.is_over())
        run.kill()
    assert httpbed("verify", directory).returncode == 0
    before = finished(directory)
    resumed = httpbed("run", file, "-o", directory, "--replicates", "3", "--json")
    assert resumed.returncode == 0, resumed.stderr
    assert first.items() <= before.items() <= finished(directory).items()
    design = campaigns.open_existing(directory).design()
    assert [trial.block for trial in design] == [1, 1, 2, 2, 3, 3]
    assert completed(directory) == {trial.id for trial in design}
    assert json.loads(resumed.stdout)
    assert httpbed("verify", directory).returncode == 0
    file.write_text(larger.text().replace("10 Mbit/s", "20 Mbit/s"))
    other = httpbed("run", file, "-o", directory)
    assert other.returncode == 2
    assert 'topology.links[0].rate was "10 Mbit/s" and is now "20 Mbit/s"' in other.stderr
