"""Does ``httpbed conformance --identify`` name senders right? A matrix of trials in virtual time.

    make bench-identify    or: python -m bench.identify [--groups seeds,stacks] [--keep DIR]

Each group has the senders and the conditions that its name says (:mod:`bench.identify.groups`).
``--references`` runs the training group instead and writes ``references.json`` of the addon. No
sender of another group, no seed and no network of theirs has a say in the references or the bounds.
``--leave-out`` asks of the training group what happens to an algorithm that has no reference.
``--keep`` keeps the campaigns; those that are there are continued or read.

Published: Nebby names the algorithms of the Linux kernel and BBRv2 with an average accuracy of
96.7 % (Mishra et al., SIGCOMM 2024, abstract); CCAnalyzer names all 15 of Linux that are deployed
(Ware et al., SIGCOMM 2024, abstract); CClinguist names 12 of Linux with 97.33 % (Li et al., SIGCOMM
2025, abstract). All three measure over real paths, where queues and jitter are not their own.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from bench.identify.groups import GROUPS, TRAINING, Seen, transfers

from httpbed.addons.conformance import fingerprint, identification
from httpbed.addons.conformance.identification import FILE, SCHEMA, UNKNOWN

DIGITS = 2


def main() -> None:
    """Run the groups, and print a matrix for each."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--groups", default=",".join(GROUPS))
    options.add_argument("--references", action="store_true")
    options.add_argument("--leave-out", action="store_true")
    options.add_argument("--keep", type=Path)
    words = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="httpbed-bench-") as scratch:
        folder = words.keep or Path(scratch)
        if words.references:
            write_references([*transfers(TRAINING, folder / "training")])
        elif words.leave_out:
            leave_out([*transfers(TRAINING, folder / "training")])
        else:
            for name in words.groups.split(","):
                print(f"\n{name}\n")
                print_matrix(transfers(GROUPS[name], folder / name))


def write_references(seen: Sequence[Seen]) -> None:
    """Write the mean fingerprint of each algorithm, and a curve of one of its trials."""
    stated = {}
    for name in identification.TITLES:
        own = [one for one in seen if one.truth == name]
        if not own:
            continue
        # Quantile by quantile: Wasserstein's barycentre.
        centre = {
            network: np.mean([one.fingerprint.networks[network] for one in own], axis=0)
            for network in fingerprint.BEGIN_S
        }
        stated[name] = {
            "of": own[0].sender,
            "n": len(own),
            "quantiles": {network: rows.round(DIGITS).tolist() for network, rows in centre.items()},
            "curves": {
                network: [round(window) for window in curve]
                for network, curve in fingerprint.drawn(own[0].transfers)
            },
        }
    lines = [f" {json.dumps(name)}: {json.dumps(one)}" for name, one in stated.items()]
    head = f'{{"schema": {SCHEMA}, "levels": {fingerprint.LEVELS.round(DIGITS).tolist()},'
    FILE.write_text(head + '\n"references": {\n' + ",\n".join(lines) + "\n}}\n")
    identification.references.cache_clear()
    print_spread(seen)


def print_spread(seen: Iterable[Seen]) -> None:
    """Print the distances between references, the bounds, and the spread of the training trials."""
    known = identification.references()
    bounds = identification.bounds(known)
    names = " | ".join(reference.name for reference in known)
    print(f"| reference | bound | farthest own trial | {names} |")
    print(f"| --- | --- | --- |{' --- |' * len(known)}")
    trials = [*seen]
    for reference in known:
        own = (other.fingerprint for other in trials if other.truth == reference.name)
        far = max(other.distance(reference.fingerprint) for other in own)
        row = " | ".join(f"{reference.fingerprint.distance(o.fingerprint):.2f}" for o in known)
        print(f"| {reference.name} | {bounds[reference.name]:.2f} | {far:.2f} | {row} |")


def print_matrix(seen: Iterable[Seen]) -> None:
    """Print every answer as it comes, then how often each algorithm got each name."""
    known = identification.references()
    counts: Counter[tuple[str, str]] = Counter()
    for one in seen:
        naming = identification.name_of(one.fingerprint, known)
        counts[one.truth, naming.name] += 1
        far = ", ".join(f"{name} {naming.distances[name]:.2f}" for name in naming.nearest)
        mark = "" if naming.name == one.truth else f"  <- {one.truth}"
        answer = f"{naming.name} ({far or 'not whole'}){mark}"
        print(f"{one.sender}, seed {one.seed}: {answer}", flush=True)
    columns = [*(reference.name for reference in known), UNKNOWN]
    print(f"\n| sent | n | {' | '.join(columns)} |")
    print(f"| --- | --- |{' --- |' * len(columns)}")
    for truth in dict.fromkeys(truth for truth, _ in counts):
        row = [counts[truth, name] for name in columns]
        print(f"| {truth} | {sum(row)} | {' | '.join(str(n) if n else '' for n in row)} |")
    right = sum(n for (truth, name), n in counts.items() if truth == name)
    unknown = sum(n for (_, name), n in counts.items() if name == UNKNOWN)
    wrong = counts.total() - right - unknown
    print(f"\n{right} of {counts.total()} right, {wrong} wrong, {unknown} unknown")


def leave_out(seen: Sequence[Seen]) -> None:
    """Print the names of training trials without the reference of their own algorithm."""
    known = identification.references()
    bounds = identification.bounds(known)
    for one in seen:
        others = [other for other in known if other.name != one.truth]
        nearest = min(others, key=lambda other: one.fingerprint.distance(other.fingerprint))
        far = one.fingerprint.distance(nearest.fingerprint)
        name = nearest.name if far <= bounds[nearest.name] else UNKNOWN
        print(f"{one.sender}, seed {one.seed}: {name} (nearest {nearest.name}, {far:.2f})")


if __name__ == "__main__":
    main()
