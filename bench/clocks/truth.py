"""Whether virtual time gives the numbers of real time: the same trials, by both clocks.

    make bench-truth ARGS='--sizes "100 kB,1 MB" --minutes 25'    or: python -m bench.clocks.truth

Every cell runs ten seeds by each clock: in real time at ``--jobs auto``, in virtual time with one
guest on each CPU. The results are kept in ``--folder``. A second call runs the trials that are
still missing, and each call prints every chosen cell that has run. ``--minutes`` ends the run
between two cells; an interrupt ends it when the trials under way have ended.

The first table has, for each cell, the medians of the request time by both clocks, the
pseudo-median of the pairs' ratios (virtual over real, the same seed) with its 90 % interval, and
the verdict of two one-sided tests within 2 % (:mod:`httpbed.results.log_ratio`). CPU and wall
seconds are those of a trial; trials that run at a time share the wall seconds. The second table
shows in which part of the transfer the clocks differ, for each cell whose ratio lies more than 2 %
from 1.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from bench.clocks import costs, grid, judged
from bench.clocks.grid import Cell

from httpbed.base.clock import Clock
from httpbed.bed.machine import backend
from httpbed.bed.machine.backend import Backend
from httpbed.campaign import campaign_setup, preparation, run, settings
from httpbed.campaign.run import OpenRun
from httpbed.campaign.settings import DesignOptions, RunSettings
from httpbed.programs import catalog as catalogs

FOLDER = Path("build/clocks")


def main() -> None:
    """Run what is missing of the chosen cells, and print all that is there."""
    words = _arguments()
    cells = [*grid.cells(words.sizes, words.stacks, words.losses, words.delays)]
    words.folder.mkdir(parents=True, exist_ok=True)
    if not words.only_print:
        with _opened(words.folder, {grid.layout_of(stack) for _, stack, *_ in cells}) as runs:
            _run(cells, runs, words)
    judged.show(words.folder, cells)


@dataclass
class OpenCampaign:
    """A campaign of one layout by one clock, and the trials that it lacks."""

    run: OpenRun
    clock: Clock

    def missing(self, cell: Cell, blocks: int) -> OpenRun:
        """Return the run with the missing trials of a cell alone."""
        wanted = [
            one
            for one in self.run.pending
            if grid.cell_of(one[0].levels) == cell and one[0].block <= blocks
        ]
        return replace(self.run, pending=wanted)


@contextmanager
def _opened(folder: Path, layouts: Collection[str]) -> Iterator[Mapping[str, list[OpenCampaign]]]:
    """Hold the campaigns of some layouts, by both clocks."""
    with ExitStack() as stack:
        yield {
            layout: [_campaign(folder, layout, clock, stack) for clock in grid.CLOCKS]
            for layout in sorted(layouts)
        }


def _campaign(folder: Path, layout: str, clock: Clock, stack: ExitStack) -> OpenCampaign:
    catalog = catalogs.load()
    loaded = preparation.load(grid.experiment(layout), catalog, options=DesignOptions(clock=clock))
    chosen: Backend = backend.choose(None) if clock == "real" else "af_packet"
    ready = campaign_setup.prepare(
        loaded, catalog, RunSettings(backend=chosen, command="make bench-truth"), say=_say
    )
    directory = judged.directory(folder, layout, clock)
    jobs = settings.adapted_parallelism()
    return OpenCampaign(
        stack.enter_context(run.opened(ready, directory, jobs=jobs, say=_say)), clock
    )


def _run(
    cells: list[Cell], runs: Mapping[str, list[OpenCampaign]], words: argparse.Namespace
) -> None:
    ends_at = time.monotonic() + 60 * words.minutes
    for number, cell in enumerate(cells, start=1):
        if time.monotonic() >= ends_at:
            _say(f"{words.minutes:g} minutes are over: {len(cells) - number + 1} cells not begun")
            return
        for campaign in runs[grid.layout_of(cell[1])]:
            missing = campaign.missing(cell, words.blocks)
            if count := len(missing.pending):
                began = time.monotonic()
                with costs.noted(words.folder, campaign.clock, cell, count):
                    missing.finish(tell=lambda _: None)
                lasted = f"{count} trials in {time.monotonic() - began:.0f} s"
                where = f"{number} of {len(cells)}: {grid.title(cell)}"
                _say(f"{where}, {campaign.clock}: {lasted}")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.clocks.truth", description=(__doc__ or "").partition("\n")[0]
    )
    for name, known in (
        ("sizes", grid.SIZES),
        ("stacks", tuple(grid.STACKS)),
        ("losses", grid.LOSSES),
        ("delays", grid.DELAYS),
    ):
        parser.add_argument(
            f"--{name}",
            type=_some_of(known),
            default=known,
            help=f"some of {', '.join(known)}".replace("%", "%%"),
        )
    parser.add_argument("--blocks", type=int, default=grid.BLOCKS, help="seeds of each cell")
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--only-print", action="store_true", help="print, and run nothing")
    return parser.parse_args()


def _some_of(known: Collection[str]) -> Callable[[str], tuple[str, ...]]:
    def chosen(text: str) -> tuple[str, ...]:
        words = tuple(word.strip() for word in text.split(","))
        if unknown := [word for word in words if word not in known]:
            reason = f"unknown: {', '.join(unknown)}; use some of {', '.join(known)}"
            raise argparse.ArgumentTypeError(reason)
        return words

    return chosen


if __name__ == "__main__":
    main()
