"""What a trial in virtual time costs, by phases: boot, sandbox, programs, transfer, end.

    make bench-guest ARGS='--sizes "100 kB,10 MB" --times 5'    or: python -m bench.clocks.shares

curl fetches a file from nginx at 10 Mbit/s. Each guest has a processor of its own and nothing else
runs, so that the seconds of a phase are those of this machine's CPU. The phases are those of
``trial.json``, with what comes before and after them. The memory is what the machine lacks at the
most while the guest runs; the page cache does not count.

Time in a guest passes only when all its programs wait. So a phase in which one waits has the work
of the others: ``ping`` has the start of the server, which began in ``network``.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.clocks import costs, marked
from bench.clocks.marked import MARKS

from httpbed.addons.virtual import boot, job, outside
from httpbed.addons.virtual.inside import PHASES
from httpbed.bed.machine import machine_load
from httpbed.campaign import campaign_setup, preparation
from httpbed.campaign.settings import DesignOptions
from httpbed.experiment.trial import Trial
from httpbed.programs import catalog as catalogs
from httpbed.trial import plan
from httpbed.trial.attempt_plan import CampaignSetup

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

END = "power off"
LOOK_S = 0.05
SETTLE_S = 1.0
"""The machine frees the memory of the previous guest shortly after that guest has ended."""


@dataclass(frozen=True)
class GuestCost:
    """What one guest cost."""

    phases_s: Mapping[str, float]
    cpu_s: float
    memory_mb: float
    virtual_s: float

    def whole_s(self) -> float:
        """Return the seconds of all phases."""
        return sum(self.phases_s.values())


def main() -> None:
    """Run the trials, and print a column for each."""
    words = _arguments()
    load = " ".join(f"{value:.2f}" for value in os.getloadavg())
    print(f"medians of {words.times} guests; ms of this machine's clock; load average {load}")
    columns = {}
    for version, size in itertools.product(words.versions, words.sizes):
        trial, setup = _prepared(version, size, words.loss)
        found = [asyncio.run(_cost(trial, setup)) for _ in range(1 + words.times)]
        columns[f"H{version}, {size}"] = found[1:]  # the first one fills the page cache
    _print(columns)


def _prepared(version: str, size: str, loss: str) -> tuple[Trial, CampaignSetup]:
    text = EXPERIMENT.format(blocks=1, loss=loss, version=version, control="cubic", size=size)
    catalog = catalogs.load()
    loaded = preparation.load(text, catalog, options=DesignOptions(clock="virtual"))
    return loaded.trials[0], campaign_setup.make_setup(loaded, catalog, say=print)


async def _cost(trial: Trial, setup: CampaignSetup) -> GuestCost:
    """Run a guest; return what it cost."""
    with tempfile.TemporaryDirectory(prefix="httpbed-bench-") as name:
        folder = Path(name)
        planned = plan.by_setup(trial, setup)
        work, _ = outside.handed(planned, setup)
        given = job.hand_over(folder, marked.__name__, work)
        with boot.processor() as cpu, _memory() as lacking_mb, ExitStack() as stack:
            guest = outside._guest(planned, outside._kernel(setup), given, work, cpu)  # noqa: SLF001
            opened = list[int]()
            cpu_s, began_s = costs.cpu_s(), time.time()
            left = await boot.run(guest, folder, watch=partial(_open, opened, stack))
            ended_s, cpu_s = time.time(), costs.cpu_s() - cpu_s
            phases_s = _phases(opened[0], began_s, ended_s)
        virtual_s = sum(job.read_result(left)[PHASES].values())
    return GuestCost(phases_s, cpu_s, max(lacking_mb, default=0.0), virtual_s)


def _open(opened: list[int], stack: ExitStack, left: Path) -> None:
    """Hold the memory in which the guest leaves its marks: a copy has no time of its own."""
    opened.append(os.open(left, os.O_RDONLY | os.O_DIRECTORY))
    stack.callback(os.close, opened[0])


def _phases(left: int, began_s: float, ended_s: float) -> dict[str, float]:
    """Return the seconds between the marks, by the phase that each mark ended."""
    found, since = dict[str, float](), began_s
    marks = os.open(MARKS, os.O_RDONLY | os.O_DIRECTORY, dir_fd=left)
    names = sorted(os.listdir(marks))  # noqa: PTH208 - of a descriptor
    at = {name: os.stat(name, dir_fd=marks).st_ctime_ns / 1e9 for name in names}
    os.close(marks)
    for file, at_s in at.items():
        name = file.partition(" ")[2]
        found[name] = found.get(name, 0.0) + at_s - since
        since = at_s
    found[END] = ended_s - since
    return found


@contextmanager
def _memory() -> Iterator[list[float]]:
    """Look at the machine's memory while the context lasts; what it lacks is appended, in MB."""
    time.sleep(SETTLE_S)
    before, lacking, over = machine_load.available_bytes() / 1e6, list[float](), threading.Event()

    def look() -> None:
        while not over.wait(LOOK_S):
            lacking.append(before - machine_load.available_bytes() / 1e6)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield lacking
    finally:
        over.set()
        watcher.join()


def _print(columns: Mapping[str, Sequence[GuestCost]]) -> None:
    print(f"\n{'':26}" + "".join(f"{name:>18}" for name in columns))
    for phase in dict.fromkeys(name for column in columns.values() for name in column[0].phases_s):
        cells = (_share(found, phase) for found in columns.values())
        print(f"{phase:26}" + "".join(f"{cell:>18}" for cell in cells))
    figures: Mapping[str, Callable[[GuestCost], float]] = {
        "together, ms": lambda guest: 1e3 * guest.whole_s(),
        "CPU, ms": lambda guest: 1e3 * guest.cpu_s,
        "virtual, ms": lambda guest: 1e3 * guest.virtual_s,
        "memory, MB": lambda guest: guest.memory_mb,
    }
    for name, figure in figures.items():
        cells = (f"{_median(map(figure, found)):.0f}" for found in columns.values())
        print(f"{name:26}" + "".join(f"{cell:>18}" for cell in cells))


def _share(found: Sequence[GuestCost], phase: str) -> str:
    """Return the median of a phase in ms, and as a share of the whole."""
    lasted = _median(guest.phases_s[phase] for guest in found)
    whole = _median(guest.whole_s() for guest in found)
    return f"{1e3 * lasted:.0f} {lasted / whole:>5.0%}"


def _median(values: Iterable[float]) -> float:
    return statistics.median(values)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.clocks.shares", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--versions", type=_words, default=["2", "3"], help="of HTTP")
    parser.add_argument("--sizes", type=_words, default=["100 kB", "10 MB"])
    parser.add_argument("--loss", default="0 %")
    parser.add_argument("--times", type=int, default=5, help="guests of each kind")
    return parser.parse_args()


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",")]


if __name__ == "__main__":
    main()
