"""Small experiments with real programs, run in this process or by the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import patience
from httpbed.bed.machine.backend import Backend
from httpbed.campaign import campaign_setup, preparation
from httpbed.campaign import run as campaign_run
from httpbed.campaign.executor import MAX_RETRIES
from httpbed.campaign.loaded_experiment import LoadedExperiment
from httpbed.campaign.settings import Parallelism
from httpbed.cli import main as command_line
from httpbed.experiment.trial import Check, Record
from httpbed.programs import catalog as catalogs
from httpbed.store import campaign as campaigns
from httpbed.trial.attempt_plan import CampaignSetup, PlanOptions
from patience import HTTPBED

CLI_S = 60.0
"""Time limit in seconds; these campaigns take far less."""


@dataclass(frozen=True)
class SmallExperiment:
    """A small experiment: curl fetches one file from nginx, or uploads one."""

    versions: tuple[str, ...] = ("1.1", "2", "3")
    replicates: int = 1
    seed: int = 7
    rate: str = "10 Mbit/s"
    delay: str = "5 ms"
    loss: str = "0 %"
    size: str = "100 kB"
    time_limit: str = "20 s"
    clock: str = "real"
    congestion_control: str = "cubic"
    client: str = "curl"
    server: str = "nginx"
    link: str = ""
    """Further lines of the link, in TOML."""
    way: tuple[str, ...] = ("client", "server")
    """Hosts in a row, with such a link between neighbours."""
    branches: tuple[tuple[str, str], ...] = ()
    """Further such links, by their ends; one end may be a new host."""
    roles: str = ""
    """Further lines of the roles, such as proxies."""
    on_client: str = ""
    """Further lines of the client's role."""
    on_server: str = ""
    """Further lines of the server's role."""
    kind: str = "download"
    workload: str = ""
    """Further lines of the workload."""
    more: str = ""
    """Further tables, such as competitors."""

    def text(self) -> str:
        """Write the experiment file."""
        return f"""
schema = 1
name = "tried"
question = "Does the bed do what its label says?"
replicates = {self.replicates}
seed = {self.seed}
time_limit = "{self.time_limit}"
clock = "{self.clock}"

[factors]
http_version = {json.dumps(self.versions)}

[topology]
hosts = {json.dumps(self.hosts())}
{"".join(self.links())}
[roles]
{self.roles}

[roles.client]
implementation = "{self.client}"
http_version = {{ factor = "http_version" }}
{self.on_client}

[roles.server]
implementation = "{self.server}"
congestion_control = "{self.congestion_control}"
{self.on_server}

[workload]
kind = "{self.kind}"
size = "{self.size}"
{self.workload}

{self.more}
"""

    def hosts(self) -> list[str]:
        """Name all hosts."""
        return list(dict.fromkeys([*self.way, *(host for ends in self.branches for host in ends)]))

    def links(self) -> Iterator[str]:
        """Write the links."""
        for ends in (*pairwise(self.way), *self.branches):
            yield f"""
[[topology.links]]
between = {json.dumps(ends)}
rate = "{self.rate}"
delay = "{self.delay}"
loss = "{self.loss}"
queue = {{ limit = "1000 packets" }}
{self.link}
"""


@dataclass
class Stage:
    """A prepared experiment in this process, which a test may damage."""

    loaded: LoadedExperiment
    setup: CampaignSetup

    def run(self, directory: Path, *, jobs: int = 1, retries: int = MAX_RETRIES) -> list[Record]:
        """Run every trial, retries included, and return the record of every attempt."""
        manifest = {"schema": 1, "programs": [], "recipes": {}}
        at_once = Parallelism(jobs)
        ready = campaign_run.Prepared(self.loaded, self.setup, manifest)
        with campaign_run.opened(ready, directory, jobs=at_once, say=lambda _: None) as run:
            run.finish(tell=lambda _: None, retries=retries)
            return list(run.campaign.records())

    def results(self, directory: Path) -> list[Record]:
        """Run every trial and return the attempt of each that counts."""
        return counting(self.run(directory))


def counting(records: Iterable[Record]) -> list[Record]:
    """Return the last attempt of each trial, the one that counts.

    A busy machine may make attempts invalid, and only such an attempt is repeated.
    """
    return list({record.attempt.id: record for record in records}.values())


def stage(
    settings: SmallExperiment,
    recipes: Iterable[Path] = (),
    *,
    folder: Path = Path(),
    backend: Backend = "af_packet",
) -> Stage:
    """Prepare an experiment as ``httpbed run`` does; its files are in ``folder``."""
    catalog = catalogs.load(recipes)
    loaded = preparation.load(settings.text(), catalog, folder)
    setup = campaign_setup.make_setup(
        loaded, catalog, PlanOptions(backend=backend), say=lambda _: None
    )
    return Stage(loaded, setup)


def check(record: Record, name: str) -> Check:
    """Find a check of an attempt by the beginning of its name."""
    return next(check for check in record.attempt.checks if check.name.startswith(name))


def values(record: Record) -> dict[str, float]:
    """Return an attempt's observations by metric."""
    return {
        observation.metric: observation.value
        for observation in record.observations
        if not observation.item
    }


def artifact(directory: Path, record: Record, name: str) -> Any:
    """Read one of the JSON files that an attempt left."""
    attempt = record.attempt
    place = f"{attempt.trial.block:04d}/{attempt.id}/{attempt.number}/artifacts/{name}"
    return json.loads((directory / "trials" / place).read_text())


def httpbed(*words: str | Path, within_s: float | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command line to its end, in this process or, with a time limit, in one of its own.

    A process of its own takes seconds to import what this one has.
    """
    if within_s is not None:
        return subprocess.run(
            [*HTTPBED, *words], check=False, capture_output=True, text=True, timeout=within_s
        )
    argv = ["httpbed", *map(str, words)]
    with pytest.MonkeyPatch.context() as patch, _captured(1) as out, _captured(2) as err:
        patience.lift(patch.setattr)
        patch.setattr(sys, "argv", argv)
        with pytest.raises(SystemExit) as left:
            command_line.main()
    assert isinstance(left.value.code, int)
    return subprocess.CompletedProcess(argv, left.value.code, *map("".join, (out, err)))


@contextmanager
def _captured(number: int) -> Iterator[list[str]]:
    """Append to a list what this process and its children write to stdout (1) or stderr (2)."""
    name, written = {1: "stdout", 2: "stderr"}[number], list[str]()
    with tempfile.TemporaryFile("w+", encoding="utf-8") as file, pytest.MonkeyPatch.context() as p:
        before = os.dup(number)
        os.dup2(file.fileno(), number)
        p.setattr(sys, name, os.fdopen(number, "w", encoding="utf-8", closefd=False))
        try:
            yield written
        finally:
            getattr(sys, name).close()
            os.dup2(before, number)
            os.close(before)
            file.seek(0)
            written.append(file.read())


def completed(directory: Path) -> set[str]:
    """Return the ids of the trials with a completed attempt."""
    records = campaigns.open_existing(directory).records()
    kinds = {(record.attempt.id, record.attempt.outcome.kind) for record in records}
    return {trial for trial, kind in kinds if kind == "completed"}


def finished(directory: Path) -> dict[str, int]:
    """Return every finished attempt with its modification time in ns."""
    return {
        str(folder.relative_to(directory)): folder.stat().st_mtime_ns
        for folder in directory.glob("trials/*/*/*")
    }
