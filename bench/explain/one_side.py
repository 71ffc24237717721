"""How much is lost when only one side is captured? Planted trials, seen whole and from each side.

    python -m bench.explain.one_side DIR [--seeds 101-105]

DIR is the folder of ``make bench-explain ARGS="--keep DIR"``. From each trial over one link a
capture at the client and one at the server are made, and divided as those of others are. Printed
are, for each plant, the differences of the largest shares, and of rate and round trip.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

sys.path.insert(0, str(Path(__file__).parents[2] / "tests/support"))

from bench.explain import judgement
from bench.explain.__main__ import parsed_seeds
from bench.explain.plants import Plant, plants

import side_capture
from httpbed.addons.explain.explanation import Explained
from httpbed.addons.explain.foreign import evidence_file
from httpbed.programs import catalog as catalogs
from httpbed.programs.catalog import Catalog

Side = Literal["client", "server"]
SIDES: tuple[Side, ...] = ("client", "server")
SEVERAL_LINKS = frozenset({"competitor", "proxy's upstream", "proxy's full buffer"})


@dataclass(frozen=True)
class Compared:
    """A trial seen whole, and from one side."""

    plant: Plant
    side: Side
    truth: Explained
    seen: Explained

    def difference(self) -> float:
        """Return the largest difference of a cause's share; unknown time is no difference."""
        whole, part = _shares(self.truth), _shares(self.seen)
        unknown = part.pop("unknown", 0.0)
        names = {*whole, *part}
        found = [abs(whole.get(name, 0.0) - part.get(name, 0.0)) for name in names]
        return max(0.0, max(found) - unknown)

    @property
    def unknown(self) -> float:
        """Return the share of unknown time from one side."""
        return _shares(self.seen).get("unknown", 0.0)

    @property
    def rate(self) -> str:
        """Return the inferred rate as a share of the true one."""
        true, found = (one.transfer.path.rate_bit_s for one in (self.truth, self.seen))
        return f"{found / true:.3f}" if true and found else ""

    @property
    def round_trip(self) -> float:
        """Return the inferred round trip as a share of the true one."""
        true, found = (one.transfer.path.round_trip_ns for one in (self.truth, self.seen))
        return found / true


def _shares(one: Explained) -> dict[str, float]:
    """Return shares up to the last data: what a client does afterwards no capture shows."""
    end = max(1, int(one.transfer.content.arrived.max(initial=1)))
    totals = dict[str, float]()
    for period in one.division.periods:
        lasts = max(0, min(period.end, end) - period.begin)
        totals[period.cause] = totals.get(period.cause, 0.0) + lasts / end
    return totals


def main() -> None:
    """Print a line for each plant and side."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=parsed_seeds, default=range(101, 106))
    words = parser.parse_args()
    catalog = catalogs.load([words.folder / "recipes"])
    print("| planted | HTTP | side | largest difference | unknown | rate | round trip |")
    print("| --- | --- | --- | ---: | ---: | ---: | ---: |")
    for seed in words.seeds:
        for plant in plants(seed):
            for compared in _compared(words.folder / plant.label, plant, catalog):
                cells = f"{100 * compared.difference():.0f} % | {100 * compared.unknown:.0f} %"
                print(
                    f"| {plant.cause} | {plant.http_version} | {compared.side} | {cells}"
                    f" | {compared.rate} | {compared.round_trip:.3f} |"
                )


def _compared(place: Path, plant: Plant, catalog: Catalog) -> Iterator[Compared]:
    if plant.cause in SEVERAL_LINKS or not any(place.glob("trials/*/*/1/trial.json")):
        return
    (artifacts,) = place.glob("trials/*/*/1/artifacts")
    if truth := judgement.divided(place, catalog):
        for side in SIDES:
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "one.pcapng"
                side_capture.write(file, side_capture.frames_at(artifacts, side))
                seen = evidence_file.of_capture(file, catalog, None, None).answer
            yield Compared(plant, side, truth, seen)


if __name__ == "__main__":
    main()
