"""What each verb costs before it does its work: CPU seconds of ``--help`` and of small commands.

Of ``httpbed link`` also the elapsed time until its command runs.

CPU time is less disturbed by other processes than elapsed time, and the least of several rounds
less than their mean. The load average is printed, because a busy machine also slows a CPU down.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

from httpbed.cli.main import verbs

EXPERIMENT = Path(__file__).parents[1] / "experiments" / "examples" / "versions.toml"
HTTPBED = (sys.executable, "-c", "from httpbed.cli.main import main; main()")
FOR_AN_ANSWER_S = 0.3
"""Longer, and a user notices the wait."""


def main() -> None:
    """Print a line for each command; mark those that cost more than ``FOR_AN_ANSWER_S``."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--campaign", type=Path, help="also measure status and report of this one")
    chosen = options.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f}; CPU seconds, least of {chosen.rounds}")
    for words in commands(chosen.campaign):
        seconds = min(cpu_s(words) for _ in range(chosen.rounds))
        mark = "  slow" if seconds > FOR_AN_ANSWER_S else ""
        print(f"{seconds:6.2f}  httpbed {' '.join(words)}{mark}", flush=True)
    seconds = min(start_s() for _ in range(chosen.rounds))
    print(f"{seconds:6.2f}  elapsed until the command of httpbed link runs")


def commands(campaign: Path | None) -> list[list[str]]:
    """Return the words of every command to measure."""
    helps = [[verb, "--help"] for verb in verbs()]
    stored = [["status", str(campaign)], ["report", str(campaign)]] if campaign else []
    small = [["validate", str(EXPERIMENT)], ["plan", str(EXPERIMENT)], ["link", "--", "true"]]
    return [["--help"], *helps, *small, *stored]


def cpu_s(words: list[str]) -> float:
    """Return the user and system CPU seconds of one command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*HTTPBED, *words], capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def start_s() -> float:
    """Return the seconds from the start of ``httpbed link`` to the start of its command."""
    began = time.time()
    argv = [*HTTPBED, "link", "--", "date", "+%s.%N"]
    ended = subprocess.run(argv, capture_output=True, text=True, check=True)
    return float(ended.stdout) - began


if __name__ == "__main__":
    main()
