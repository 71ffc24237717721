"""How many trials this machine carries at a time, and whether they give the same numbers.

    make bench-side-by-side      or: python -m bench.campaign.side_by_side [--kinds NAME,...]

Each kind of trial has its turn: trials at ``--jobs auto``, a part of them one at a time, and all at
``--jobs auto`` again. The figure is trial-seconds per second: the time that the valid trials would
have taken one at a time, over the time that they took side by side. A run begins with few trials at
a time, because their demand is unknown, and ends with few. So the rate of the middle half of the
trials, the steady state, stands beside that of the whole run. Beside both stands the audit's
verdict (:mod:`httpbed.addons.audit.audit_session`) on whether the values are the same within 2 %.

Memory per trial is what the machine lacks while trials run, over their number. The page cache does
not count, because the kernel gives it back.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from httpbed.addons.audit import audit_session
from httpbed.addons.audit.audit_session import AuditedTreatment
from httpbed.bed.machine import backend, machine_load
from httpbed.campaign import preparation, settings
from httpbed.campaign import run as campaign_run
from httpbed.campaign.executor import AttemptProgress
from httpbed.campaign.settings import ONE, DesignOptions, Parallelism, RunSettings
from httpbed.programs import catalog as catalogs
from httpbed.programs.catalog import Catalog
from httpbed.results import sample
from httpbed.store import query

EXPERIMENT = """
schema = 1
name = "side-by-side"
question = "How many trials does this machine carry at a time?"
replicates = 1
seed = 20261123
{roles}

[topology]
hosts = [{hosts}]

{links}

[workload]
{workload}

[report]
metric = "{metric}"
"""
LINK = """
[[topology.links]]
between = ["{}", "{}"]
rate = "10 Mbit/s"
delay = "{}"
"""
DOWNLOAD = 'kind = "download"\nsize = "{}"'
PAGE = 'kind = "page"\npage = "{}"'


@dataclass(frozen=True)
class Kind:
    """Trials that cost a machine about the same."""

    client: str
    """Keys of the client's table."""
    server: str = 'implementation = "nginx"'
    proxy: str = ""
    workload: str = DOWNLOAD.format("10 MB")
    metric: str = "request_time"
    share: float = 1.0
    """Of the trials that a kind has: page loads need the CPU time of twenty downloads."""

    def text(self) -> str:
        """Write the experiment."""
        names = ["client", "proxy", "server"] if self.proxy else ["client", "server"]
        roles = [f"[roles.client]\n{self.client}", f"[roles.server]\n{self.server}"]
        if self.proxy:
            roles.append(f"[[roles.proxies]]\n{self.proxy}")
        delays = ["20 ms", "0 ms"]
        links = [
            LINK.format(one, other, delay)
            for one, other, delay in zip(names, names[1:], delays, strict=False)
        ]
        return EXPERIMENT.format(
            roles="\n".join(roles),
            hosts=", ".join(f'"{name}"' for name in names),
            links="".join(links),
            workload=self.workload,
            metric=self.metric,
        )


KINDS: Mapping[str, Kind] = {
    "curl H2": Kind('implementation = "curl"\nhttp_version = "2"'),
    "curl H3": Kind('implementation = "curl"\nhttp_version = "3"'),
    "httpbed-quiche H3": Kind('implementation = "httpbed-quiche"\nhttp_version = "3"'),
    "aioquic H3": Kind('implementation = "aioquic"\nhttp_version = "3"'),
    "curl H3, Envoy": Kind(
        'implementation = "curl"\nhttp_version = "3"', proxy='implementation = "envoy"'
    ),
    "Chromium H3": Kind(
        'implementation = "chromium"\nhttp_version = "3"',
        workload=PAGE.format("material-kit"),
        metric="page_load_time",
        share=0.2,
    ),
}


@dataclass
class Occupancy:
    """Looks once a second at how many sandboxes this process has, and at the machine's memory."""

    trials: list[int] = field(default_factory=list)
    mb_per_trial: list[float] = field(default_factory=list)
    _ended: threading.Event = field(default_factory=threading.Event)
    _idle_mb: float = 0.0

    def __enter__(self) -> Self:
        self._idle_mb = available_mb()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: object, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._ended.wait(1.0):
            children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
            if children:
                self.trials.append(len(children))
                self.mb_per_trial.append((self._idle_mb - available_mb()) / len(children))


@dataclass(frozen=True)
class Measured:
    """What a kind's trials showed."""

    alone_s: float
    """Time per trial one at a time, its set-up included."""
    beside: tuple[Ran, Ran]
    """Both runs side by side."""
    occupancy: Occupancy
    treatment: AuditedTreatment

    def rates(self) -> list[float]:
        """Return trial-seconds per second of each run side by side."""
        return [len(ran.valid_s) * self.alone_s / ran.lasted_s for ran in self.beside]

    def steady_rates(self) -> list[float]:
        """Return those of the middle half of each run's trials."""
        return [self.alone_s * ran.steady_trials_per_s() for ran in self.beside]


def main() -> None:
    """Measure each kind, and print a row for it."""
    words = _arguments()
    catalog = catalogs.load()
    load = " ".join(f"{value:.2f}" for value in os.getloadavg())
    print(
        f"{settings.cpus()} CPUs, load average {load}; {words.trials} downloads of 10 MB of each"
        f" kind at --jobs auto, twice, and {words.alone} one at a time; 10 Mbit/s, 20 ms each way"
    )
    print(
        f"{'kind':20}{'trial-s/s':>12}{'steady':>12}{'at a time':>11}{'MB/trial':>10}{'invalid':>9}"
        f"{'alone':>9}  side by side, 90 %"
    )
    for name in words.kinds:
        with tempfile.TemporaryDirectory(prefix="httpbed-bench-") as folder:
            print(_row(name, _measure(KINDS[name], catalog, Path(folder), words)), flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.campaign.side_by_side", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--kinds", type=_kinds, default=list(KINDS), metavar="NAME,...")
    parser.add_argument("--alone", type=int, default=8, help="trials of a kind one at a time")
    parser.add_argument("--trials", type=int, default=200, help="downloads of a kind side by side")
    return parser.parse_args()


def _kinds(text: str) -> list[str]:
    names = [name for name in KINDS if any(word in name for word in text.split(","))]
    if not names:
        raise argparse.ArgumentTypeError(f"some of {', '.join(KINDS)}")
    return names


def _measure(kind: Kind, catalog: Catalog, folder: Path, words: argparse.Namespace) -> Measured:
    auto, trials = settings.adapted_parallelism(), max(2, round(kind.share * words.trials))
    with Occupancy() as occupancy:
        first = _run(kind, catalog, folder / "1", trials, auto)
        second = _run(kind, catalog, folder / "2", trials, auto)
    alone = _run(kind, catalog, folder / "alone", words.alone, ONE)
    results = [query.read(folder / name) for name in ("1", "alone", "2")]
    (treatment,) = audit_session.treatments(*(sample.samples(one, kind.metric) for one in results))
    return Measured(alone.lasted_s / words.alone, (first, second), occupancy, treatment)


@dataclass(frozen=True)
class Ran:
    """How long a run took, and when its attempts ended."""

    lasted_s: float
    valid_s: list[float]
    """When each valid attempt ended, in order."""
    invalid: int
    """Attempts that were thrown away."""

    def steady_trials_per_s(self) -> float:
        """Return how many valid trials ended a second, in the middle half of them."""
        first, last = len(self.valid_s) // 4, len(self.valid_s) * 3 // 4
        if last == first:
            return math.nan
        return (last - first) / (self.valid_s[last] - self.valid_s[first])


def _run(kind: Kind, catalog: Catalog, folder: Path, trials: int, jobs: Parallelism) -> Ran:
    loaded = preparation.load(kind.text(), catalog, options=DesignOptions(replicates=trials))
    options = RunSettings(backend.choose(None), "make bench-side-by-side")
    ready = campaign_run.prepare(loaded, catalog, options, say=_silent)
    ends_s: dict[bool, list[float]] = {True: [], False: []}

    def note(progress: AttemptProgress) -> None:
        ends_s[progress.attempt.outcome.kind != "invalid"].append(time.monotonic())

    lasted_s = campaign_run.timed(ready, folder, jobs=jobs, tell=note, say=_silent)
    return Ran(lasted_s, ends_s[True], len(ends_s[False]))


def _silent(_line: str) -> None:
    """Building and resuming are not what is measured."""


def _row(name: str, found: Measured) -> str:
    rates, steady = (
        " ".join(f"{rate:.1f}" for rate in one) for one in (found.rates(), found.steady_rates())
    )
    invalid = " ".join(str(ran.invalid) for ran in found.beside)
    one = found.treatment
    middle = statistics.median(found.occupancy.trials or [0])
    memory = statistics.median(found.occupancy.mb_per_trial or [0.0])
    return (
        f"{name:20}{rates:>12}{steady:>12}{middle:>11.0f}{memory:>10.0f}{invalid:>9}"
        f"{one.alone:>7.2f} s  {one.ratio:.3f}x  {one.low:.3f} .. {one.high:.3f}  {one.verdict}"
    )


def available_mb() -> float:
    """Return the memory that programs may still use."""
    return machine_load.available_bytes() / 1e6


if __name__ == "__main__":
    main()
