"""What a large campaign costs: CPU seconds, elapsed seconds and memory of each verb that reads it.

    make bench-campaign ARGS="--trials 10000"     or: python -m bench.campaign.size

The campaign is synthesised (``tests/support/synthesised_campaigns.py``): the product's own code
plans its trials and commits its attempts, and each attempt has the checks, observations and
artifacts of a recorded one. Each verb is a process of its own. *compact* is ``httpbed report
--status`` as the first reader: it parses all attempts and writes the tables. All verbs after it
read the tables, and ``httpbed verify`` all files. *resume* is ``httpbed run`` until its first
trial would start.

Each verb has a goal for 100,000 trials, in CPU seconds, and may take 2 GB. The bench fails if a
verb exceeds them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

HTTPBED = (sys.executable, "-c", "from httpbed.cli.main import main; main()")
STEP = (sys.executable, "-m", "bench.campaign.large_campaign")
MAX_MB = 2000
PENDING = 20
"""Trials that the resumed run finds without an attempt."""


@dataclass(frozen=True)
class Step:
    """One process to measure."""

    name: str
    argv: Sequence[str]
    goal_s: float | None = None
    """CPU seconds with 100,000 trials."""


@dataclass(frozen=True)
class Cost:
    """What a process used."""

    cpu_s: float
    wall_s: float
    peak_mb: float


def main() -> int:
    """Make the campaign, measure each verb, and return the exit code."""
    words = _arguments()
    load = os.getloadavg()[0]
    print(f"{words.trials} trials, each verb once; load average {load:.1f} before", flush=True)
    print(f"{'':12}{'CPU s':>8}{'wall s':>8}{'MB':>6}{'CPU s per 1,000':>17}{'goal s':>8}")
    missed = []
    with tempfile.TemporaryDirectory(prefix="httpbed-bench-", dir=words.folder) as name:
        for step in steps(Path(name), words.trials):
            cost = measure(step.argv)
            if not _print(step, cost, words.trials):
                missed.append(step.name)
        print(_sizes(Path(name)))
    print(f"load average {os.getloadavg()[0]:.1f} after;", f"missed: {', '.join(missed) or 'none'}")
    return bool(missed)


def steps(folder: Path, trials: int) -> Iterator[Step]:
    """Yield the steps in order: each needs what an earlier one made."""
    file, campaign = str(folder / "large.toml"), str(folder / "campaign")
    yield Step("write", [*STEP, "write", file, str(trials)])
    yield Step("plan", [*HTTPBED, "plan", file], 20)
    yield Step("plan --json", [*HTTPBED, "plan", "--json", file], 20)
    yield Step("synthesise", [*STEP, "synthesise", file, campaign, str(PENDING)])
    yield Step("compact", [*HTTPBED, "report", campaign, "--status"], 120)
    yield Step("resume", [*STEP, "resume", file, campaign, str(PENDING)], 30)
    yield Step("status", [*HTTPBED, "report", campaign, "--status"], 15)
    output = str(folder / "observations.parquet")
    yield Step("export", [*HTTPBED, "export", campaign, "--format", "parquet", "-o", output], 30)
    yield Step("claims", [*HTTPBED, "claims", campaign], 60)
    yield Step("report", [*HTTPBED, "report", campaign], 90)
    yield Step("verify", [*HTTPBED, "verify", campaign], 180)


def measure(argv: Sequence[str]) -> Cost:
    """Run a process to its end, and return what it used.

    Raises:
        RuntimeError: It failed.
    """
    with tempfile.TemporaryFile() as notes:
        began = time.monotonic()
        process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=notes)
        _, status, used = os.wait4(process.pid, 0)
        wall_s = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            notes.seek(0)
            said = notes.read().decode(errors="replace")
            raise RuntimeError(f"{' '.join(argv)}: exit code {process.returncode}\n{said}")
    return Cost(used.ru_utime + used.ru_stime, wall_s, used.ru_maxrss / 1e3)


def _print(step: Step, cost: Cost, trials: int) -> bool:
    """Print a step's cost; return whether it is within its goal."""
    per_1000 = cost.cpu_s / trials * 1000
    goal = f"{step.goal_s:8.0f}" if step.goal_s else ""
    row = f"{step.name:12}{cost.cpu_s:8.1f}{cost.wall_s:8.1f}{cost.peak_mb:6.0f}{per_1000:17.3f}"
    print(f"{row}{goal}", flush=True)
    if step.goal_s is None:
        return True
    return cost.cpu_s <= step.goal_s and cost.peak_mb <= MAX_MB


def _sizes(folder: Path) -> str:
    """Return how much is on the disk."""
    files = [path for path in (folder / "campaign" / "trials").rglob("*") if path.is_file()]
    held = sum(file.stat().st_size for file in files)
    tables = sum(path.stat().st_size for path in (folder / "campaign").glob("*.parquet"))
    page = (folder / "campaign/report.html").stat().st_size
    return (
        f"{len(files)} files of attempts with {held / 1e6:.0f} MB,"
        f" tables {tables / 1e6:.1f} MB, HTML report {page / 1e6:.1f} MB"
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--trials", type=int, default=10_000)
    parser.add_argument("--folder", type=Path, help="where the campaign is; by default TMPDIR")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
