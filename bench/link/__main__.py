"""httpbed-link beside its peers and bounds: speed, exactness, capacity, cost.

    make bench-link       or: python -m bench.link [--only NAME,...] [--quick] [--json FILE]

It reports, it never fails for a figure: goals stand beside them with ``met`` or ``missed``. All
of it happens in namespaces that end with it, as root or as an ordinary user; only root may give
SCHED_FIFO. Within a section the subjects take turns, every round beginning with another one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from bench.link import capacity, peers, shaping, subjects, throughput, timing
from bench.link.emulators import SCRATCH, SPIN_US, schema
from bench.link.figures import Section
from bench.link.subjects import Bench

from httpbed.bed.machine import facts

SECTIONS: dict[str, Callable[[Bench], Section]] = {
    "throughput": throughput.measure,
    "latency": timing.measure_round_trips,
    "delay": timing.measure_delay,
    "rate": shaping.measure_rate,
    "loss": shaping.measure_loss,
    "capacity": capacity.measure,
    "cost": capacity.measure_cost,
}
INSIDE = "HTTPBED_BENCH_INSIDE"
"""Set once the namespaces are made."""


def main() -> None:
    """Prepare the peers, enter fresh namespaces, measure and print."""
    words = _arguments()
    if os.environ.get(INSIDE):
        # Opened while its folder is the machine's.
        with words.json.open("w") if words.json else nullcontext() as out:
            _cover()
            _measure(words, out)
        return
    if not words.offline:
        peers.prepare()
    _enter_namespaces()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.link", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument(
        "--only",
        type=_names,
        default=list(SECTIONS),
        metavar="NAME,...",
        help=f"some of {', '.join(SECTIONS)}",
    )
    parser.add_argument("--quick", action="store_true", help="one short round: does it work?")
    parser.add_argument("--rounds", type=int, help="how often every subject has its turn")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every value there")
    parser.add_argument("--link", type=Path, help="another httpbed-link than the installed one")
    parser.add_argument("--offline", action="store_true", help="install no peers")
    return parser.parse_args()


def _names(text: str) -> list[str]:
    names = text.split(",")
    if unknown := [name for name in names if name not in SECTIONS]:
        raise argparse.ArgumentTypeError(
            f"no section {', '.join(unknown)}; there are {', '.join(SECTIONS)}"
        )
    return names


def _enter_namespaces() -> None:
    """Become the first process of namespaces of our own; they end with it, and it with us."""
    kinds = ["--net", "--mount", "--ipc", "--uts", "--pid", "--fork", "--mount-proc"]
    if os.geteuid() != 0:
        kinds = ["--user", "--map-root-user", *kinds]
    again = [sys.executable, "-m", "bench.link", *sys.argv[1:]]
    os.environ[INSIDE] = "1"
    dying = ["setpriv", "--pdeathsig", "KILL", "unshare", *kinds, "--kill-child", "--", *again]
    sys.stdout.flush()
    os.execvp(dying[0], dying)


def _cover() -> None:
    """Have memory take what ip and rattan write to /run and /tmp, and spare the kernel's log."""
    _mount("-t", "tmpfs", "httpbed-bench", "/run")
    upper, work = SCRATCH / "upper", SCRATCH / "work"
    for folder in (upper, work):
        folder.mkdir(parents=True)
    layers = f"lowerdir=/tmp,upperdir={upper},workdir={work},userxattr"
    _mount("-t", "overlay", "httpbed-bench", "-o", layers, "/tmp")  # noqa: S108 - rattan's place
    if Path("/dev/kmsg").exists():
        _mount("--bind", "/dev/null", "/dev/kmsg")


def _mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True)


def _measure(words: argparse.Namespace, out: TextIO | None) -> None:
    found = peers.find(words.link)
    scale = subjects.QUICK if words.quick else subjects.FULL
    if words.rounds:
        scale = replace(scale, rounds=max(1, words.rounds))
    about = _about(found)
    print(_headline(about), flush=True)
    bench = subjects.gather(found, scale)
    measured = []
    for name in words.only:
        section = SECTIONS[name](bench)
        measured.append(section)
        print(f"\n{section.table()}", flush=True)
    if out:
        said = {**about, "sections": [section.as_json() for section in measured]}
        out.write(json.dumps(said, indent=1) + "\n")


def _about(found: peers.Peers) -> dict[str, Any]:
    return {
        "schema": 1,
        "measured": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": facts.gather().model_dump(),
        "httpbed_link": {"schema": schema(found.link), "spin_us": SPIN_US},
        "peers": found.versions(),
    }


def _headline(about: dict[str, Any]) -> str:
    machine = about["machine"]
    cpu = machine["cpu"] or machine["architecture"]
    load = " ".join(f"{value:.2f}" for value in machine["load"])
    programs = "; ".join(f"{name}: {said}" for name, said in about["peers"].items())
    return (
        f"{machine['cores']} cores, {cpu}, Linux {machine['kernel']}; load average {load};"
        f" configuration schema {about['httpbed_link']['schema']}\npeers: {programs}"
    )


if __name__ == "__main__":
    main()
