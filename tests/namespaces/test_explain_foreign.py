"""A planted link is captured at one side, inferred, and run again: is it the same link?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import side_capture
from real_runs import SmallExperiment, httpbed
from side_capture import Side

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]

RATE_BIT_S, ROUND_TRIP_S = 20_000_000, 0.040


def captured(folder: Path, file: Path, side: Side) -> Path:
    (artifacts,) = folder.glob("trials/*/*/1/artifacts")
    side_capture.write(file, side_capture.frames_at(artifacts, side))
    return file


def explained(file: Path, *options: str) -> dict[str, Any]:
    done = httpbed("explain", file, "--json", *options)
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout)["explained"]
    assert isinstance(found, dict)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("side", ["client", "server"])
def test_a_captured_link_is_inferred_and_runs_again(tmp_path: Path, side: Side) -> None:
    experiment = SmallExperiment(
        versions=("2",), rate="20 Mbit/s", delay="20 ms", loss="1 %", size="2 MB"
    )
    (tmp_path / "e.toml").write_text(experiment.text())
    done = httpbed("run", tmp_path / "e.toml", "-o", tmp_path / "c", "--keep", "packets")
    assert done.returncode == 0, done.stderr
    file = captured(tmp_path / "c", tmp_path / "one.pcapng", side)
    written = tmp_path / "again.toml"
    found = explained(file, "--experiment", str(written))
    assert found["link"]["rate_bit_s"] == pytest.approx(RATE_BIT_S, rel=0.05)
    assert found["link"]["round_trip_s"] == pytest.approx(ROUND_TRIP_S, abs=0.005)
    # Of 1,400 packets each is lost with 1 %: outside of 0.2 % to 2.2 % with p < 0.001.
    (loss,) = [line for line in written.read_text().splitlines() if line.startswith("down")]
    assert 0.2 < float(loss.split('"')[1].removesuffix(" %")) < 2.2
    assert httpbed("explain", file, "--experiment", written).returncode == 2  # it is there already
    done = httpbed("run", written, "-o", tmp_path / "d", "--keep", "packets", "--replicates", "1")
    assert done.returncode == 0, done.stderr
    again = explained(captured(tmp_path / "d", tmp_path / "two.pcapng", side))
    assert again["link"]["rate_bit_s"] == pytest.approx(RATE_BIT_S, rel=0.05)
    assert again["link"]["round_trip_s"] == pytest.approx(ROUND_TRIP_S, abs=0.005)


def test_options_of_campaigns_are_refused_for_a_file_all_at_once(tmp_path: Path) -> None:
    file = tmp_path / "one.pcapng"
    file.write_bytes(side_capture.SECTION)
    done = httpbed("explain", file, "--trial", "1/2", "--try")
    assert done.returncode == 2
    assert "--trial" in done.stderr
    assert "--try" in done.stderr
    assert httpbed("explain", file).returncode == 2  # it has no packet
