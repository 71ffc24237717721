"""What a trial costs beside its transfer: everything from the request to the finished directory.

    make bench            or: python bench/trial.py [--trials 30] [--size 100] [--goal-ms 100]

HTTP/1.1, HTTP/2 and HTTP/3 take turns over a link without rate, delay and loss, fetching a file
of 0 or 100 bytes. The three phases that are the measurement itself are left out: the probe
(round-trip time), and of the client the request time that the wire saw, handshake included;
what curl takes before its first and after its last packet is cost. Between trials of the same
run a bound is measured that no bed could beat: a sandbox that starts and ends with nothing in
it, and as many processes as a trial starts, begun and ended one after the other.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from httpbed.host import facts
from httpbed.implementations import catalog as catalogs
from httpbed.model.trial import Record, Trial
from httpbed.process.supervisor import sandbox
from httpbed.store import campaign as campaigns
from httpbed.store.campaign import Campaign
from httpbed.trial import preparation, runner, verdict
from httpbed.trial.bed import Bed, plan
from httpbed.trial.preparation import Loaded
from httpbed.trial.verdict import Try

EXPERIMENT = """
schema = 1
name = "overhead"
question = "What does a trial cost beside its transfer?"
replicates = {blocks}
seed = 1
time_limit = "20 s"

[factors]
http_version = ["1.1", "2", "3"]

[topology]
hosts = ["client", "server"]

[[topology.links]]
between = ["client", "server"]
delay = "0 ms"

[roles.client]
implementation = "curl"
http_version = {{ factor = "http_version" }}

[roles.server]
implementation = "nginx"

[workload]
kind = "download"
size = "{size} B"
"""
LEFT_OUT = ("probe",)
Phases = dict[str, float]


def main() -> None:
    """Measure, print, and fail when the goal is missed."""
    words = _arguments()
    loaded, bed = _prepare(words.trials, words.size)
    with tempfile.TemporaryDirectory(prefix="httpbed-bench-", dir=words.folder) as name:
        phases, bounds = asyncio.run(_measure(loaded, bed, Path(name) / "campaign"))
    costs = [sum(trial.values()) for trial in phases]
    _print(phases, bounds)
    median = statistics.median(costs)
    goal_s = words.goal_ms / 1e3
    said = "within" if median <= goal_s else "above"
    print(f"\nmedian {median * 1e3:.1f} ms, {said} the goal of {words.goal_ms:.0f} ms")
    sys.exit(0 if median <= goal_s or words.only_tell else 1)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trials", type=int, default=30, help="of all HTTP versions together")
    parser.add_argument("--size", type=int, default=100, help="of the file in bytes")
    parser.add_argument("--goal-ms", type=float, default=100.0)
    parser.add_argument("--only-tell", action="store_true", help="do not fail above the goal")
    parser.add_argument("--folder", type=Path, help="where the campaign is; by default TMPDIR")
    return parser.parse_args()


def _prepare(trials: int, size: int) -> tuple[Loaded, Bed]:
    catalog = catalogs.load()
    blocks = -(-trials // 3)
    loaded = preparation.load(EXPERIMENT.format(blocks=blocks + 1, size=size), catalog)
    return loaded, preparation.make_bed(loaded, catalog, capture=False, say=print)


async def _measure(loaded: Loaded, bed: Bed, directory: Path) -> tuple[list[Phases], list[Phases]]:
    """Run every trial and a bound after it; the first block only warms the caches."""
    phases, bounds = list[Phases](), list[Phases]()
    manifest = {"schema": 1, "programs": [], "recipes": {}}
    with campaigns.opened(directory, loaded.text, loaded.trials, manifest) as campaign:
        for trial in loaded.trials:
            cost = await _trial(campaign, bed, trial)
            bound = await _bound(bed, trial, directory)
            if trial.block > 1:
                phases.append(cost)
                bounds.append(bound)
    return phases, bounds


async def _trial(campaign: Campaign, bed: Bed, trial: Trial) -> Phases:
    """Run a trial as the executor does and return what each phase cost."""
    began = time.monotonic()
    folder = campaign.unfinished(trial, 1)
    this = Try(trial, 1, datetime.now(UTC))
    ran = await runner.run(trial, bed, folder / "artifacts")
    record = verdict.judge(this, bed, folder / "artifacts", ran.seconds)
    campaign.commit(record, folder)
    whole = time.monotonic() - began
    if record.attempt.outcome.kind != "completed":
        print(f"  {trial.levels}: {record.attempt.outcome}")
    return _costs(ran.seconds, whole, record)


def _costs(seconds: Mapping[str, float], whole: float, record: Record) -> Phases:
    seen = {observation.metric: observation.value for observation in record.observations}
    costs = {name: value for name, value in seconds.items() if name not in LEFT_OUT}
    costs["client"] -= seen.get("request_time", 0.0)
    return {**costs, "judge and commit": whole - sum(seconds.values())}


async def _bound(bed: Bed, trial: Trial, directory: Path) -> Phases:
    """Measure what no bed could do without."""
    artifacts = directory / "bound" / "artifacts"
    artifacts.parent.mkdir()
    began = time.monotonic()
    scratch = runner._folders(artifacts, ("client", "server"))  # noqa: SLF001 - the bound is made of the runner's parts
    spec = runner._sandbox_spec(trial, bed, scratch, artifacts)  # noqa: SLF001
    async with sandbox(replace(spec, hosts={})):
        pass
    bare = time.monotonic() - began
    began = time.monotonic()
    for _ in plan(trial, bed.catalog).specs():
        subprocess.run(["/bin/true"], check=True)  # noqa: ASYNC221 - nothing else is to run now
    processes = time.monotonic() - began
    for path in (scratch, artifacts, artifacts.parent):
        path.rmdir()
    return {"bare sandbox": bare, "its processes, begun and ended": processes}


def _print(phases: Sequence[Phases], bounds: Sequence[Phases]) -> None:
    machine = facts.gather()
    load = " ".join(f"{value:.2f}" for value in os.getloadavg())
    print(f"n = {len(phases)}, HTTP/1.1, HTTP/2 and HTTP/3 in turns; load average {load}")
    print(f"{machine.cores} cores, {machine.cpu or machine.architecture}, Linux {machine.kernel}\n")
    print(f"{'ms':32}{'median':>8}{'p90':>8}")
    for rows in (phases, bounds):
        for name in rows[0]:
            _row(name, [row.get(name, 0.0) for row in rows])
        _row("together", [sum(row.values()) for row in rows])
        print()
    ratios = [
        sum(cost.values()) / sum(bound.values()) for cost, bound in zip(phases, bounds, strict=True)
    ]
    print(f"{statistics.median(ratios):.1f} times the bound (median of {len(ratios)} pairs)")


def _row(name: str, seconds: Sequence[float]) -> None:
    ordered = sorted(seconds)
    p90 = ordered[min(len(ordered) - 1, round(0.9 * len(ordered)))]
    print(f"{name:32}{statistics.median(ordered) * 1e3:8.1f}{p90 * 1e3:8.1f}")


if __name__ == "__main__":
    main()
