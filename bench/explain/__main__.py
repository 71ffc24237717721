"""Does ``httpbed explain`` find planted causes? Trials in virtual time, with a confusion matrix.

    make bench-explain      or: python -m bench.explain [--seeds 101-105] [--only loss] [--keep DIR]

Each plant runs once for each seed. The cause that was **in force** for longest counts, apart from
what every transfer has: set-up, path and client. The rules of the division were fixed with the
seeds 1 to 9, and are tested with those from 101 on. The exit code is 1 if a plant is missed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.explain.plants import Plant, plants, recipes

from httpbed.addons.explain.explanation import Explained, Unexplained, typical
from httpbed.programs import catalog as catalogs
from httpbed.store import query

INHERENT = frozenset({"set-up", "processing in the set-up", "path"})
"""Causes that every transfer has; no plant is one of them."""


@dataclass(frozen=True)
class Found:
    """What was found of a plant."""

    plant: Plant
    seed: int
    top: str
    share: float
    """Of the top cause in the time."""
    unknown: float
    cpu_s: float

    @property
    def is_right(self) -> bool:
        """Whether a planted cause is the top one."""
        return self.top in self.plant.expected


def main() -> None:
    """Run the plants and print the matrix."""
    words = _arguments()
    with tempfile.TemporaryDirectory(prefix="httpbed-bench-") as scratch:
        folder = Path(words.keep or scratch)
        found = [*_measured(words, folder)]
    print(_table(found))
    print(_matrix(found))
    right = sum(one.is_right for one in found)
    print(f"\n{right} of {len(found)} right ({100 * right / max(1, len(found)):.1f} %)")
    median = sorted(one.cpu_s for one in found)[len(found) // 2] if found else 0.0
    print(f"unknown at most {100 * max((one.unknown for one in found), default=0):.1f} %;", end=" ")
    print(f"median CPU time of reading and dividing a trial {median:.3f} s")
    sys.exit(0 if right == len(found) else 1)


def _measured(words: argparse.Namespace, folder: Path) -> Iterator[Found]:
    own = folder / "recipes"
    own.mkdir(parents=True, exist_ok=True)
    for name, text in recipes().items():
        (own / name).write_text(text)
    catalog = catalogs.load([own])
    for seed in words.seeds:
        for plant in plants(seed):
            if words.only and words.only not in plant.cause:
                continue
            place = folder / plant.label
            _run(place, plant.text, own)
            before = time.process_time()
            (one,) = typical(query.read(place), catalog)
            yield _judged(plant, seed, one, time.process_time() - before)


def _run(place: Path, text: str, own: Path) -> None:
    """Run an experiment, unless its trial is there already."""
    if any(place.glob("trials/*/*/*/trial.json")):
        return
    file = place.with_suffix(".toml")
    file.write_text(text)
    command = [str(Path(sys.executable).with_name("httpbed")), "run", str(file), "-o", str(place)]
    done = subprocess.run(
        [*command, "--keep", "packets", "--recipes", str(own)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in {0, 1}:
        sys.exit(f"{file}: {done.stderr}")


def _judged(plant: Plant, seed: int, one: Explained | Unexplained, cpu_s: float) -> Found:
    if isinstance(one, Unexplained):
        print(f"{plant.cause}, HTTP/{plant.http_version}: {one.reason}", file=sys.stderr)
        return Found(plant, seed, "not divided", 1.0, 1.0, cpu_s)
    forces = {name: ns for name, ns in one.division.forces().items() if name not in INHERENT}
    top = max(forces, key=lambda name: forces[name])
    whole = one.division.whole
    found = Found(plant, seed, top, forces[top] / whole, forces.get("unknown", 0) / whole, cpu_s)
    sign = "" if found.is_right else "  MISSED"
    line = f"{seed} {plant.cause}, HTTP/{plant.http_version}: {top} {100 * found.share:.0f} %{sign}"
    print(line, file=sys.stderr)
    return found


def _table(found: Sequence[Found]) -> str:
    groups = defaultdict[tuple[str, str], list[Found]](list)
    for one in found:
        groups[one.plant.cause, one.plant.http_version].append(one)
    lines = ["| planted | HTTP | right | median share in force |", "| --- | --- | --- | ---: |"]
    for (cause, version), some in groups.items():
        right = sum(one.is_right for one in some)
        share = sorted(one.share for one in some)[len(some) // 2]
        lines.append(f"| {cause} | {version} | {right} of {len(some)} | {100 * share:.0f} % |")
    return "\n".join(lines) + "\n"


def _matrix(found: Sequence[Found]) -> str:
    tops = list(dict.fromkeys(one.top for one in found))
    rows = defaultdict[str, Counter[str]](Counter)
    for one in found:
        rows[one.plant.cause][one.top] += 1
    lines = [f"| planted | {' | '.join(tops)} |", f"| --- |{' ---: |' * len(tops)}"]
    for cause, counts in rows.items():
        lines.append(f"| {cause} | {' | '.join(str(counts[top] or '') for top in tops)} |")
    return "\n".join(lines)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--seeds", type=parsed_seeds, default=range(101, 106), help="such as 101-105"
    )
    parser.add_argument("--only", help="plants with this word")
    parser.add_argument("--keep", help="folder for the campaigns")
    return parser.parse_args()


def parsed_seeds(text: str) -> range:
    """Return the seeds of words such as ``101-105``."""
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


if __name__ == "__main__":
    main()
