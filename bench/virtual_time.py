"""The same trials in virtual and in real time: request times, and what they cost this machine.

    make bench-virtual    or: python -m bench.virtual_time [--blocks 3] [--repeat 2] [--size "1 MB"]

curl fetches a file from nginx at 10 Mbit/s with 50 ms each way, with and without 4 % loss. Both
clocks get the same seeds, so the link draws the same losses. The trials in virtual time are
repeated, while programs keep every processor busy, and must give the same observations and the same
emulator result byte for byte; otherwise the exit code is 1.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from httpbed.base.clock import Clock
from httpbed.campaign import preparation, run
from httpbed.campaign.executor import AttemptProgress
from httpbed.campaign.settings import ONE, DesignOptions, RunSettings
from httpbed.experiment.kept import LINK_RESULT
from httpbed.experiment.trial import Record
from httpbed.programs import catalog as catalogs
from httpbed.store.attempts import OBSERVATIONS
from httpbed.store.campaign import Campaign

EXPERIMENT = """
schema = 1
name = "clocks"
question = "What does a trial give and cost by each clock?"
replicates = {blocks}
seed = 20261123

[topology]
hosts = ["client", "server"]

[[topology.links]]
between = ["client", "server"]
rate = "10 Mbit/s"
delay = "50 ms"
loss = "{loss}"

[roles.client]
implementation = "curl"
http_version = "{version}"

[roles.server]
implementation = "nginx"
congestion_control = "{control}"

[workload]
kind = "download"
size = "{size}"
"""
SENDERS = (("2", "cubic"), ("2", "bbr"), ("3", "cubic"))
LOSSES = ("0 %", "4 %")


@dataclass(frozen=True)
class Timed:
    """A trial, and what it cost this machine."""

    request_s: float | None
    """Request time by the trial's clock; None if the trial did not complete."""
    cpu_s: float
    wall_s: float
    evidence: tuple[bytes, ...]
    """The observations and the emulator's result."""


@dataclass
class Costs:
    """What each attempt cost: CPU and wall seconds since the one before."""

    found: list[tuple[float, float]] = field(default_factory=list)
    _since: tuple[float, float] = field(default_factory=lambda: _now())  # noqa: PLW0108 - later

    def note(self, _: AttemptProgress) -> None:
        """Note the costs of the attempt that has just ended."""
        now = _now()
        self.found.append((now[0] - self._since[0], now[1] - self._since[1]))
        self._since = now


def main() -> None:
    """Run every trial by both clocks, repeat it in virtual time, and print a line for each."""
    words = _arguments()
    exact = True
    print(f"{'':18}{'block':>6}{'real s':>10}{'virtual s':>11}{'CPU s':>8}{'wall s':>8}  repeated")
    for (version, control), loss in itertools.product(SENDERS, LOSSES):
        text = EXPERIMENT.format(
            version=version, control=control, loss=loss, blocks=words.blocks, size=words.size
        )
        with tempfile.TemporaryDirectory(prefix="httpbed-bench-") as folder:
            real, virtual, *again = _campaigns(text, Path(folder), words.repeat)
        for block, trial in enumerate(virtual):
            same = all(one[block].evidence == trial.evidence for one in again)
            exact &= same
            row = f"H{version} {control}, {loss}"
            print(_line(row, block + 1, real[block], trial), f"{len(again)}x", _verdict(same))
    sys.exit(0 if exact else 1)


def _campaigns(text: str, folder: Path, repeat: int) -> list[list[Timed]]:
    """Run an experiment by the real clock, in virtual time, and again on a busy machine."""
    quiet = [_run(text, clock, folder / clock) for clock in ("real", "virtual")]
    with burning():
        return quiet + [_run(text, "virtual", folder / f"again-{one}") for one in range(repeat)]


def _run(text: str, clock: Clock, directory: Path) -> list[Timed]:
    """Run an experiment one trial at a time; return the trials by block."""
    catalog = catalogs.load()
    loaded = preparation.load(text, catalog, options=DesignOptions(clock=clock))
    ready = run.prepare(loaded, catalog, RunSettings("af_packet", "bench"), say=_say)
    with run.opened(ready, directory, jobs=ONE, say=_say) as campaign_run:
        costs = Costs()
        campaign_run.finish(tell=costs.note, retries=0)
        campaign = campaign_run.campaign
        records = sorted(campaign.records(), key=lambda record: record.attempt.trial.block)
        return [
            _timed(campaign, record, *cost)
            for record, cost in zip(records, costs.found, strict=True)
        ]


def _timed(campaign: Campaign, record: Record, cpu_s: float, wall_s: float) -> Timed:
    artifacts = campaign.artifacts(record.attempt)
    files = (artifacts.parent / OBSERVATIONS, artifacts / LINK_RESULT)
    times = [one.value for one in record.observations if one.metric == "request_time"]
    is_completed = record.attempt.outcome.kind == "completed"
    evidence = tuple(file.read_bytes() for file in files if file.exists())
    return Timed(times[0] if is_completed else None, cpu_s, wall_s, evidence)


def _now() -> tuple[float, float]:
    """Return the CPU time of this process and of its ended children, and the wall time."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in usages), time.monotonic()


@contextlib.contextmanager
def burning() -> Iterator[None]:
    """Keep every processor busy with two programs that compute."""
    count = 2 * len(os.sched_getaffinity(0))
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for one in burners:
            one.kill()
            one.wait()


def _line(row: str, block: int, real: Timed, virtual: Timed) -> str:
    times = ["-" if one.request_s is None else f"{one.request_s:.6f}" for one in (real, virtual)]
    costs = f"{virtual.cpu_s:>8.1f}{virtual.wall_s:>8.1f}"
    return f"{row:18}{block:>6}{times[0]:>10}{times[1]:>11}{costs} "


def _verdict(same: bool) -> str:
    return "same bytes" if same else "OTHER BYTES"


def _say(line: str) -> None:
    print(line, file=sys.stderr)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--blocks", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=2, help="times in virtual time, under load")
    parser.add_argument("--size", default="1 MB", help="of the file")
    return parser.parse_args()


if __name__ == "__main__":
    main()
