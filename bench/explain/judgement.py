"""What the division and the two baselines said of each planted trial, as rows of a table."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.explain import baselines
from bench.explain.plants import T_RAT, Plant, dapper_expects
from bench.explain.trials import has_trial

from httpbed.addons.explain.causes import BY_NAME
from httpbed.addons.explain.explanation import Explained, explain
from httpbed.programs.catalog import Catalog
from httpbed.results import attempts
from httpbed.store import query

Row = dict[str, Any]
INHERENT = frozenset({"set-up", "processing in the set-up", "path"})
"""Causes that every transfer has; no plant is one of them."""
NS = 1_000_000_000
KERNEL_POINTS = 3
SHARES = (50, 90)
"""Percentiles that are printed."""


def row(plant: Plant, folder: Path, catalog: Catalog) -> Row:
    """Return what was planted and what was answered; times in seconds, shares of the whole."""
    before = time.process_time()
    trial = divided(folder / plant.label, catalog)
    spent = time.process_time() - before
    columns: Row = {
        "planted": plant.cause,
        "http_version": plant.http_version,
        "seed": plant.seed,
        "expected": sorted(plant.expected),
        "top": "not divided",
        "is_right": False,
        "cpu_s": round(spent, 4),
    }
    if trial is None:
        return columns
    forces, costs, whole = trial.division.forces(), trial.division.costs(), trial.division.whole
    planted = {name: ns for name, ns in forces.items() if name not in INHERENT}
    top = max(planted, key=lambda name: planted[name])
    columns |= {
        "top": top,
        "is_right": top in plant.expected,
        "seconds": whole / NS,
        **_features(trial),
        "held_back_share": None
        if trial.transfer.held_back_ns is None
        else trial.transfer.held_back_ns / whole,
        **{f"in_force: {name}": forces.get(name, 0) / whole for name in BY_NAME},
        **{f"cost: {name}": costs.get(name, 0) / whole for name in BY_NAME},
        **_of_twin(plant, folder, catalog, trial),
    }
    if trial.transfer.protocol == "tcp":
        columns["t_rat"], columns["dapper"] = (
            baselines.t_rat(trial.transfer),
            baselines.dapper(trial.transfer),
        )
        columns |= _of_kernel(trial)
    return columns


def _of_kernel(trial: Explained) -> Row:
    """Return the receiver's window as a share of the busy time, by the kernel and as divided."""
    if trial.kernel is None or not trial.kernel.busy:
        return {}
    ours = trial.division.forces().get("receiver's window", 0)
    return {
        "kernel: receiver limited": trial.kernel.receiver_limited / trial.kernel.busy,
        "divided: receiver limited": ours / trial.kernel.busy,
    }


def divided(place: Path, catalog: Catalog) -> Explained | None:
    """Return the division of the only trial of a campaign; None if it cannot be divided."""
    results = query.read(place)
    (row,) = attempts.valid(results)
    trial = explain(results, row, catalog)
    return trial if isinstance(trial, Explained) else None


def _features(trial: Explained) -> Row:
    data, answers, path = trial.transfer.content, trial.transfer.answers, trial.transfer.path
    return {
        "rate_bit_s": path.rate_bit_s,
        "round_trip_s": path.round_trip_ns / NS,
        "packets": len(data),
        "payload_bytes": int(data.payload.sum()),
        "lost_packets": int(data.lost.sum()),
        "answers": len(answers),
        "lost_answers": int(answers.lost.sum()),
    }


def _of_twin(plant: Plant, folder: Path, catalog: Catalog, trial: Explained) -> Row:
    """Return what the planted cause cost: the time less that of the twin, and as divided."""
    place = folder / plant.of_twin().label
    twin = divided(place, catalog) if plant.twin and has_trial(place) else None
    if twin is None:
        return {"true_cost": None, "divided_cost": None}
    own, others = (
        sum(ns for name, ns in part.division.costs().items() if name in plant.expected)
        for part in (trial, twin)
    )
    whole = trial.division.whole
    return {
        "true_cost": (whole - twin.division.whole) / whole,
        "divided_cost": (own - others) / whole,
    }


# Tables


def tables(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the tables, each as Markdown."""
    yield _by_plant(rows)
    yield _matrix(rows, "top")
    tcp = [one for one in rows if one.get("t_rat")]
    yield _matrix(tcp, "t_rat")
    yield _matrix(tcp, "dapper")
    yield "\n".join(_summary(rows, tcp))


def _by_plant(rows: Sequence[Row]) -> str:
    groups = _grouped(rows, lambda one: (one["planted"], one["http_version"]))
    lines = [
        "| planted | HTTP | right | median share in force | true cost | as divided |",
        "| --- | --- | --- | ---: | ---: | ---: |",
    ]
    for (cause, version), some in groups.items():
        right = sum(one["is_right"] for one in some)
        shares = [_expected_share(one) for one in some if "seconds" in one]
        twins = [one for one in some if one.get("true_cost") is not None]
        costs = (_percent([twin[key] for twin in twins]) for key in ("true_cost", "divided_cost"))
        cells = " | ".join([_percent(shares), *costs])
        lines.append(f"| {cause} | {version} | {right} of {len(some)} | {cells} |")
    return "\n".join(lines)


def _expected_share(one: Row) -> float:
    return float(sum(one[f"in_force: {name}"] for name in one["expected"]))


def _percent(shares: Sequence[float]) -> str:
    return f"{100 * _middle(shares):.0f} %" if shares else ""


def _middle(values: Sequence[float], percent: int = 50) -> float:
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


def _matrix(rows: Sequence[Row], answer: str) -> str:
    tops = list(dict.fromkeys(one[answer] for one in rows))
    counts = defaultdict[str, Counter[str]](Counter)
    for one in rows:
        counts[one["planted"]][one[answer]] += 1
    lines = [f"| planted | {' | '.join(tops)} |", f"| --- |{' ---: |' * len(tops)}"]
    lines += [
        f"| {cause} | {' | '.join(str(some[top] or '') for top in tops)} |"
        for cause, some in counts.items()
    ]
    return "\n".join(lines)


def _summary(rows: Sequence[Row], tcp: Sequence[Row]) -> Iterator[str]:
    yield f"{_right(rows, lambda one: one['is_right'])} right"
    known = [one for one in tcp if one["planted"] in T_RAT]
    yield f"of TCP {_right(tcp, lambda one: one['is_right'])}"
    yield f"T-RAT {_right(known, lambda one: one['t_rat'] in T_RAT[one['planted']])} that it knows"
    same = _right(known, lambda one: one["is_right"])
    yield f"of these, the division {same}"
    yield f"Dapper {_right(tcp, lambda one: one['dapper'] == dapper_expects(one['planted']))}"
    twins = [one for one in rows if one.get("true_cost") is not None]
    apart = [100 * abs(twin["true_cost"] - twin["divided_cost"]) for twin in twins]
    if apart:
        near = sum(one <= 5 for one in apart)
        points = ", ".join(f"{_middle(apart, share):.1f} ({share} %)" for share in SHARES)
        yield f"costs within 5 points of the twin's in {near} of {len(apart)}; points: {points}"
    yield from _kernel_line(
        [one for one in rows if one.get("kernel: receiver limited") is not None]
    )
    unknown = [one["in_force: unknown"] for one in rows if "seconds" in one]
    yield f"unknown at most {100 * max(unknown, default=0):.1f} %"
    yield f"median CPU time of reading and dividing {_middle([o['cpu_s'] for o in rows]):.3f} s"


def _kernel_line(rows: Sequence[Row]) -> Iterator[str]:
    keys = "kernel: receiver limited", "divided: receiver limited"
    apart = [100 * abs(one[keys[0]] - one[keys[1]]) for one in rows]
    limited = sum(any(one[key] for key in keys) for one in rows)
    if apart:
        near = sum(one <= KERNEL_POINTS for one in apart)
        most = f"most {max(apart):.1f} points"
        yield f"receiver limited as in the kernel, within 3 points: {near} of {len(apart)}; {most}"
        yield f"of these, {limited} have such time by either count"


def _right(rows: Sequence[Row], is_right: Callable[[Row], bool]) -> str:
    count = sum(map(is_right, rows))
    return f"{count} of {len(rows)} ({100 * count / max(1, len(rows)):.1f} %)"


def _grouped(rows: Sequence[Row], key: Callable[[Row], Any]) -> Mapping[Any, list[Row]]:
    groups = defaultdict[Any, list[Row]](list)
    for one in rows:
        groups[key(one)].append(one)
    return groups
