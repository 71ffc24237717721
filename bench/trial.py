"""What a trial costs beside its transfer: everything from the request to the finished directory.

    make bench            or: python bench/trial.py [--trials 30] [--size 100] [--goal-ms 100]
                              [--each 10] [--each-goal-ms 250]

HTTP/1.1, HTTP/2 and HTTP/3 take turns over a link without rate, delay and loss, fetching a file
of 0 or 100 bytes. The three phases that are the measurement itself are left out: the probe
(round-trip time), and of the client the request time that the wire saw, handshake included;
what curl takes before its first and after its last packet is cost. Between trials of the same
run a bound is measured that no bed could beat: a sandbox that starts and ends with nothing in
it, and as many processes as a trial starts, begun and ended one after the other.

Then each client and each proxy of the toolbox has its turn, on a network of two links: direct the
host between them is a router, else the proxy is on it, and its start is part of the cost.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from httpbed.bed.machine import facts
from httpbed.bed.sandbox.supervisor import sandbox
from httpbed.campaign import campaign_setup, executor, preparation
from httpbed.campaign.loaded_experiment import LoadedExperiment
from httpbed.experiment.trial import Record, Trial
from httpbed.programs import catalog as catalogs
from httpbed.programs.catalog import Catalog
from httpbed.store import campaign as campaigns
from httpbed.store.campaign import Campaign
from httpbed.trial import plan
from httpbed.trial.attempt_plan import CampaignSetup
from httpbed.trial.run import runner

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
EACH = """
schema = 1
name = "overhead-of-each"
question = "What does a trial cost with each client and each proxy?"
replicates = {blocks}
seed = 1
time_limit = "20 s"
roles = {{ factor = "cast" }}

[factors.cast]
{casts}

[topology]
hosts = ["client", "proxy", "server"]
links = [{{ between = ["client", "proxy"] }}, {{ between = ["proxy", "server"] }}]

[workload]
kind = "download"
size = "{size} B"
"""
LEFT_OUT = ("probe", "visit")
Phases = dict[str, float]


def main() -> None:
    """Measure, print, and fail when a goal is missed."""
    words = _arguments()
    catalog = catalogs.load()
    blocks = -(-words.trials // 3) + 1  # the first only warms the caches
    met = _versions(EXPERIMENT.format(blocks=blocks, size=words.size), catalog, words)
    if words.each:
        casts = "\n".join(_casts(catalog))
        text = EACH.format(blocks=words.each + 1, size=words.size, casts=casts)
        met &= _each(text, catalog, words)
    sys.exit(0 if met or words.only_tell else 1)


def _versions(text: str, catalog: Catalog, words: argparse.Namespace) -> bool:
    """Measure the three HTTP versions; tell whether the goal is met."""
    measured = _measured(text, catalog, words.folder)
    phases, bounds = [one for _, one, _ in measured], [one for _, _, one in measured]
    _print(phases, bounds)
    median = statistics.median(sum(trial.values()) for trial in phases)
    met = bool(median * 1e3 <= words.goal_ms)
    said = "within" if met else "above"
    print(f"\nmedian {median * 1e3:.1f} ms, {said} the goal of {words.goal_ms:.0f} ms")
    return met


def _each(text: str, catalog: Catalog, words: argparse.Namespace) -> bool:
    """Measure every client and proxy; tell whether all meet their goal."""
    measured = _measured(text, catalog, words.folder)
    print(f"\n{'ms':32}{'median':>8}{'p90':>8}   n = {words.each} each, over two links")
    medians = {}
    for name in dict.fromkeys(name for name, _, _ in measured):
        costs = [sum(phases.values()) for cast, phases, _ in measured if cast == name]
        medians[name] = statistics.median(costs) * 1e3
        _row(name, costs)
    above = [name for name, median in medians.items() if median > words.each_goal_ms]
    said = f"above it: {', '.join(above)}" if above else "met by all"
    print(f"\ngoal of {words.each_goal_ms:.0f} ms {said}")
    return not above


def _casts(catalog: Catalog) -> Iterator[str]:
    """Write a level for each client and proxy: who takes part."""
    recipes = [one for one in catalog.recipes.values() if one.install.binary is None]
    for recipe in recipes:
        if "client" in recipe.roles:
            yield _cast(f"{recipe.name}", recipe.name, recipe.http_versions[-1])
    for recipe in recipes:
        if "proxy" in recipe.roles and "1.1" in recipe.upstream_http_versions:
            for version in recipe.http_versions[1:]:
                yield _cast(f"curl, {recipe.name}, HTTP {version}", "curl", version, recipe.name)


def _cast(name: str, client: str, version: str, proxy: str | None = None) -> str:
    between = f'proxies = [{{ implementation = "{proxy}" }}], ' if proxy else ""
    return (
        f'"{name}" = {{ client = {{ implementation = "{client}", http_version = "{version}" }},'
        f' {between}server = {{ implementation = "nginx" }} }}'
    )


def _measured(text: str, catalog: Catalog, folder: Path | None) -> list[tuple[str, Phases, Phases]]:
    """Run an experiment; return the treatment, the cost and the bound of each of its trials."""
    loaded = preparation.load(text, catalog)
    setup = campaign_setup.make_setup(loaded, catalog, say=print)
    with tempfile.TemporaryDirectory(prefix="httpbed-bench-", dir=folder) as name:
        return asyncio.run(_measure(loaded, setup, Path(name) / "campaign"))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trials", type=int, default=30, help="of all HTTP versions together")
    parser.add_argument("--size", type=int, default=100, help="of the file in bytes")
    parser.add_argument("--goal-ms", type=float, default=100.0)
    parser.add_argument("--each", type=int, default=10, help="trials of each client and proxy")
    parser.add_argument("--each-goal-ms", type=float, default=250.0)
    parser.add_argument("--only-tell", action="store_true", help="do not fail above the goals")
    parser.add_argument("--folder", type=Path, help="where the campaign is; by default TMPDIR")
    return parser.parse_args()


async def _measure(
    loaded: LoadedExperiment, setup: CampaignSetup, directory: Path
) -> list[tuple[str, Phases, Phases]]:
    """Run every trial and a bound after it; the first block only warms the caches."""
    measured = []
    manifest = {"schema": 1, "programs": [], "recipes": {}}
    with campaigns.opened(directory, loaded.text, loaded.trials, manifest) as campaign:
        for trial in loaded.trials:
            cost = await _trial(campaign, setup, trial)
            bound = await _bound(setup, trial, directory)
            if trial.block > 1:
                measured.append((" ".join(trial.levels.values()), cost, bound))
    return measured


async def _trial(campaign: Campaign, setup: CampaignSetup, trial: Trial) -> Phases:
    """Run a trial as the executor does and return what each phase cost."""
    began = time.monotonic()
    record = await executor.commit_attempt(campaign, setup, trial, 1)
    whole = time.monotonic() - began
    if record.attempt.outcome.kind != "completed":
        print(f"  {trial.levels}: {record.attempt.outcome}")
    return _costs(record.attempt.phases_s, whole, record)


def _costs(seconds: Mapping[str, float], whole: float, record: Record) -> Phases:
    seen = {observation.metric: observation.value for observation in record.observations}
    costs = {name: value for name, value in seconds.items() if name not in LEFT_OUT}
    costs["client"] -= seen.get("request_time", 0.0)
    return {**costs, "judge and commit": whole - sum(seconds.values())}


async def _bound(setup: CampaignSetup, trial: Trial, directory: Path) -> Phases:
    """Measure what no bed could do without."""
    artifacts = directory / "bound" / "artifacts"
    artifacts.parent.mkdir()
    began = time.monotonic()
    planned = plan.by_setup(trial, setup)
    spec = plan.sandbox_spec(setup, planned, artifacts)
    runner._make_folders(spec.scratch, artifacts)  # noqa: SLF001 - a part of the runner
    async with sandbox(replace(spec, hosts={}, parts={})):
        pass
    bare = time.monotonic() - began
    began = time.monotonic()
    for _ in planned.attempt.specs():
        subprocess.run(["/bin/true"], check=True)  # noqa: ASYNC221 - nothing else is to run now
    processes = time.monotonic() - began
    shutil.rmtree(artifacts.parent)
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
