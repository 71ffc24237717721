"""Real trials over links that the kernel carries, and what is said where it cannot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from httpbed.bed.network import kernel
from httpbed.experiment.impairments.rate import MTU_BYTES
from httpbed.experiment.trial import Record
from real_runs import SmallExperiment, artifact, check, httpbed, stage, values

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]

RATE_BIT_S = 20_000_000
OVER_TBF = SmallExperiment(rate="20 Mbit/s", delay="0 ms", size="1 MB")
FRAME_BYTES = 1514


def test_a_trial_over_tbf_is_valid_and_not_faster_than_its_rate(tmp_path: Path) -> None:
    """Over each protocol the body is complete and the kernel's counters match the packets."""
    staged = stage(OVER_TBF, backend="tbf")
    records = staged.results(tmp_path)
    assert len(records) == 3
    for record in records:
        assert record.attempt.outcome.kind == "completed", record.attempt.outcome.reason
        for name in ("kernel's link", "protocol used", "body as served", "round-trip time"):
            assert check(record, name).passed, name
        for name in ("client->server", "server->client"):
            assert check(record, f"conservation by the kernel's counters, {name}").passed
        assert check(record, "link backend").figure == "tbf, with an observer"
        found = values(record)
        way = record.attempt.trial.scenario().link.directions()[1]
        most = RATE_BIT_S * found["request_time"] / 8 + kernel.burst_bytes(way) + FRAME_BYTES
        assert found["goodput"] * found["request_time"] / 8 <= most
        result = artifact(tmp_path, record, "link-result.json")
        for seen in result["directions"]:
            count = seen["packets"]
            assert count["not_seen_leaving"] == count["in"] - count["delivered"]
            assert "lost" not in count


def test_a_short_queue_drops_by_the_kernels_counters(tmp_path: Path) -> None:
    """The queue holds ten packets, and the window exceeds them before the first loss."""
    settings = SmallExperiment(versions=("1.1",), rate="5 Mbit/s", delay="0 ms", size="1 MB")
    short = settings.text().replace("1000 packets", "10 packets")
    (tmp_path / "e.toml").write_text(short)
    done = httpbed(
        "run", tmp_path / "e.toml", "-o", tmp_path / "c", "--link-backend", "tbf", "--keep", "pcap"
    )
    assert done.returncode == 0, done.stderr
    (folder,) = tmp_path.glob("c/trials/*/*/1/artifacts")
    (_, towards) = json.loads((folder / "link-result.json").read_text())["directions"]
    assert "timeline" not in towards  # the fates of its packets are unknown
    down = towards["packets"]
    told = json.loads((folder / "qdiscs-after-stop.json").read_text())
    drops = {one["dev"]: one["drops"] for one in told if one.get("root") and one["kind"] == "tbf"}
    assert down["not_seen_leaving"] == drops["l0a"] > 0
    assert (folder / "link.pcapng").stat().st_size > 1_000_000
    manifest = json.loads((tmp_path / "c/manifest.json").read_text())
    assert manifest["link"] == {"backend": "tbf"}


def test_what_tbf_cannot_do_is_refused_before_anything_is_run(tmp_path: Path) -> None:
    """Every unsupported place is listed, with exit code 2."""
    (tmp_path / "e.toml").write_text(SmallExperiment(loss="1 %").text())
    done = httpbed("run", tmp_path / "e.toml", "-o", tmp_path / "c", "--link-backend", "tbf")
    assert done.returncode == 2
    assert "topology.links[0].delay" in done.stderr
    assert "topology.links[0].loss" in done.stderr
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize(("counted", "beyond"), [("ip", 0), ("ethernet", 14), ("wire", 38)])
def test_the_kernel_counts_the_bytes_that_were_asked_for(
    tmp_path: Path, counted: str, beyond: int
) -> None:
    """The kernel's byte counter matches the bytes of the observed IP packets."""
    settings = SmallExperiment(versions=("1.1",), delay="0 ms", link=f'counted = "{counted}"')
    (record,) = stage(settings, backend="tbf").results(tmp_path)
    result = artifact(tmp_path, record, "link-result.json")
    for way, port in zip(result["directions"], ("l0b", "l0a"), strict=True):
        roots = [_tbf(tmp_path, record, when, port) for when in ("before-start", "after-stop")]
        packets, sent = (roots[1][name] - roots[0][name] for name in ("packets", "bytes"))
        seen = way["packets"]["delivered"]
        late = packets - seen  # a host may say something while the observer is stopped
        assert late >= 0 < seen
        unseen = sent - way["bytes"]["delivered"] - beyond * seen
        assert 0 <= unseen <= late * (MTU_BYTES + beyond)


def _tbf(folder: Path, record: Record, when: str, port: str) -> Any:
    qdiscs = artifact(folder, record, f"qdiscs-{when}.json")
    return next(qdisc for qdisc in qdiscs if qdisc.get("dev") == port and qdisc["kind"] == "tbf")


def test_a_shaper_that_does_nothing_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commonest fault of the field: the queue exists and has no rate."""
    idle = ["qdisc add dev {} root handle 1: pfifo limit 1000"]
    monkeypatch.setattr(kernel, "_tbf", lambda port, *_: [line.format(port) for line in idle])
    records = stage(SmallExperiment(versions=("1.1",), delay="0 ms"), backend="tbf").run(tmp_path)
    assert {record.attempt.outcome.kind for record in records} == {"invalid"}
    broken = check(records[0], "kernel's link")
    assert (broken.passed, broken.figure) == (False, "pfifo at l0b, pfifo at l0a")
