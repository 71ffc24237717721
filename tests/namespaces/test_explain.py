"""Real trials are divided: windows, the busy link, and trials that cannot be divided.

tests/virtual/test_explanation.py has what is exact only where computing takes no time.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from real_runs import SmallExperiment, httpbed

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]

NS = 1e9
# A window of 64 KiB is a quarter of what the path holds.
HELD = SmallExperiment(versions=("2", "3"), rate="50 Mbit/s", delay="20 ms", size="1 MB")


def run(folder: Path, experiment: SmallExperiment, *options: str) -> None:
    (folder / "e.toml").write_text(experiment.text())
    done = httpbed("run", folder / "e.toml", "-o", folder / "c", *options)
    assert done.returncode == 0, done.stderr


def explain(folder: Path, *options: str) -> dict[str, Any]:
    done = httpbed("explain", folder / "c", "--json", *options)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def costs(one: dict[str, Any]) -> dict[str, float]:
    return {cause["cause"]: cause["cost_s"] for cause in one["causes"]}


def test_kept_secrets_show_the_window_that_a_server_grants_to_an_upload(tmp_path: Path) -> None:
    upload = replace(HELD, versions=("3",), kind="upload")
    run(tmp_path, upload, "--keep", "packets,keylog,pcap")
    (one,) = explain(tmp_path, "--no-run")["explained"]
    seen = {cause["cause"]: cause["seen_s"] for cause in one["causes"]}
    assert seen["receiver's window"] > 0.05 * one["seconds"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["download", "upload"])
def test_the_link_is_busy_for_as_long_as_the_emulator_says(kind: str, tmp_path: Path) -> None:
    run(tmp_path, replace(HELD, kind=kind), "--keep", "packets")
    for one in explain(tmp_path, "--no-run")["explained"]:
        (folder,) = tmp_path.glob(f"c/trials/*/{one['trial']}/1/artifacts")
        result = json.loads((folder / "link-result.json").read_text())
        busy_s = result["directions"][kind == "download"]["busy_ns"] / NS
        # What the handshake and the end of the connection take is not of the answer.
        assert costs(one)["link"] == pytest.approx(busy_s, rel=0.02)
        assert costs(one)["link"] <= busy_s


def test_a_trial_without_packets_runs_again_beside_its_campaign(tmp_path: Path) -> None:
    run(tmp_path, HELD)
    files = sorted(path for path in tmp_path.glob("c/trials/**/*"))
    nothing = explain(tmp_path, "--no-run")
    assert not nothing["explained"]
    assert all("packets" in one["why"] for one in nothing["not_explained"])
    (one,) = explain(tmp_path, "--treatment", "http_version=3")["explained"]
    assert one["held"]["knob"] == "http3_stream_buffer_size"
    assert sorted(tmp_path.glob("c/trials/**/*")) == files
    assert len([*tmp_path.glob("c-explained/trials/*/*")]) == 1


@pytest.mark.slow
def test_a_trial_that_is_cut_off_is_divided_up_to_its_end(tmp_path: Path) -> None:
    """The time limit ends it; what it would have waited for is unknown."""
    experiment = SmallExperiment(
        versions=("2",), rate="1 Mbit/s", delay="20 ms", size="2 MB", time_limit="2 s"
    )
    (tmp_path / "e.toml").write_text(experiment.text())
    httpbed("run", tmp_path / "e.toml", "-o", tmp_path / "c", "--keep", "packets")
    (one,) = explain(tmp_path, "--no-run")["explained"]
    assert one["outcome"] == "timed out"
    assert costs(one)["link"] > 0.5 * one["seconds"]


@pytest.mark.slow
def test_a_handshake_that_fails_is_divided_without_an_answer(tmp_path: Path) -> None:
    experiment = SmallExperiment(versions=("2",), delay="20 ms", loss="100 %", time_limit="4 s")
    (tmp_path / "e.toml").write_text(experiment.text())
    httpbed("run", tmp_path / "e.toml", "-o", tmp_path / "c", "--keep", "packets")
    (one,) = explain(tmp_path, "--no-run")["explained"]
    assert set(costs(one)) <= {"set-up", "processing in the set-up", "timeout"}
    assert costs(one)["timeout"] > 0


@pytest.mark.slow
def test_the_slower_treatment_is_lifted_until_it_is_as_fast(tmp_path: Path) -> None:
    run(tmp_path, HELD, "--keep", "packets")
    found = explain(tmp_path, "--clock", "real", "--why", "http_version=2", "http_version=3")
    named = {one["levels"]["http_version"]: one for one in found["explained"]}
    assert found["difference"]["slow"][1] == named["3"]["trial"]
    assert not named["2"]["ladder"]
    first = next(one for one in named["3"]["ladder"] if one["cause"] == "fixed window")
    assert "http3_stream_buffer_size = 16m" in first["lifted"]
    assert first["kept"]
    assert first["after"]["seconds"] < named["3"]["seconds"]


def test_a_proxy_that_waits_for_its_server_has_nothing_to_send(tmp_path: Path) -> None:
    experiment = SmallExperiment(
        versions=("2",),
        size="300 kB",
        rate="10 Mbit/s",
        way=("client", "proxy", "server"),
        roles='[[roles.proxies]]\nimplementation = "nginx"\nhttp_version = "1.1"\n',
    )
    text = experiment.text()
    first, last = text.split('between = ["proxy", "server"]')
    slow = last.replace("10 Mbit/s", "1 Mbit/s", 1)
    (tmp_path / "e.toml").write_text(f'{first}between = ["proxy", "server"]{slow}')
    done = httpbed("run", tmp_path / "e.toml", "-o", tmp_path / "c", "--keep", "packets")
    assert done.returncode == 0, done.stderr
    (one,) = explain(tmp_path, "--no-run")["explained"]
    assert costs(one)["server"] > 0.5 * one["seconds"]
