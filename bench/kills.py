"""Kills processes of running campaigns at random: nothing may be left, no trial may be wrong.

    make bench-kills ARGS="--kills 200 --seed 1 --jobs auto"

Each round starts or resumes ``httpbed run``, waits for a trial's sandbox, then for a random time,
and sends SIGKILL to one process chosen at random: the orchestrator, a first process of the sandbox
or of a part, the emulator, a server or a client. The round ends when the orchestrator was hit. Then
no process, namespace or mount of its sandboxes may exist, and finished trials must be what they
were. At the end the campaign's trials are read, and no value may be impossible.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests/support"))

import process_tree
from httpbed.store import campaign as campaigns
from orchestrator import Run, Sandbox
from real_runs import SmallExperiment, finished

LEFT_S = 20.0
"""How long the kernel may take to remove what was killed."""


def main() -> int:
    """Kill, look, and say what was found; return the exit code."""
    words = _arguments()
    draw = random.Random(words.seed)  # noqa: S311 - which process and when, not a secret
    killed, wrong = Counter[str](), list[str]()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
    began = time.monotonic()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "experiment.toml").write_text(
            SmallExperiment(replicates=words.kills, size="50 kB", time_limit="5 s").text()
        )
        while sum(killed.values()) < words.kills and not wrong:
            wrong += _round(folder, draw, killed, words.jobs)
        with Run(folder / "experiment.toml", folder / "campaign", jobs=words.jobs) as run:
            _until(lambda: bool(finished(folder / "campaign")) or run.is_over())
            run.interrupt()
        wrong += _wrong_trials(folder / "campaign")
        trials = len(finished(folder / "campaign"))
    print(f"{sum(killed.values())} kills in {time.monotonic() - began:.0f} s: {dict(killed)}")
    print(f"{trials} attempts finished meanwhile; wrong: {len(wrong)}", *wrong, sep="\n")
    return bool(wrong)


def _round(folder: Path, draw: random.Random, killed: Counter[str], jobs: str) -> list[str]:
    """Run, kill until the orchestrator is the victim, and look."""
    directory = folder / "campaign"
    before = finished(directory)
    seen = list[Sandbox]()
    with ExitStack() as held, Run(folder / "experiment.toml", directory, jobs=jobs) as run:
        while True:
            sandbox = run.await_victim("init", {one.pids["outer"] for one in seen})
            if sandbox is None and seen:  # what asks programs for their versions is no trial
                break
            if sandbox is None:
                return [f"the run ended by itself:\n{run.log[-2000:]}"]
            seen.append(sandbox)
            _hold(sandbox, held)
            time.sleep(draw.uniform(0, 0.25))
            family = [
                *process_tree.descendants(run.pid),
                process_tree.ProcessEntry(run.pid, 0, "orchestrator"),
            ]
            victim = draw.choice(family)
            try:
                os.kill(victim.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            killed[victim.name] += 1
            if victim.name == "orchestrator":
                break
        left = [process_tree.holders(one.namespaces) for one in seen if not _is_gone(one)]
    after = finished(directory)
    changed = [name for name, when in before.items() if after.get(name) != when]
    return [f"left: {what}" for what in left] + [f"changed: {name}" for name in changed]


def _hold(sandbox: Sandbox, held: ExitStack) -> None:
    """Hold a sandbox's namespaces: no other sandbox of this machine gets their numbers."""
    for pid, name in itertools.product(sandbox.pids.values(), process_tree.NAMESPACES):
        with suppress(OSError):
            held.callback(os.close, os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY))


def _is_gone(sandbox: Sandbox) -> bool:
    """Wait until no process has anything of a sandbox; a mount or an interface needs one."""
    return _until(lambda: not process_tree.holders(sandbox.namespaces))


def _wrong_trials(directory: Path) -> list[str]:
    """Look for completed trials with values that the link does not allow."""
    least_s = 50_000 * 8 / 10e6 + 2 * 0.005
    return [
        f"{record.attempt.id}: {observation.value} s"
        for record in campaigns.open_existing(directory).records()
        for observation in record.observations
        if record.attempt.outcome.kind == "completed"
        and observation.metric == "request_time"
        and observation.value < least_s
    ]


def _until(is_so: Callable[[], bool], limit_s: float = LEFT_S) -> bool:
    deadline = time.monotonic() + limit_s
    while not is_so():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", default="1", help="trials side by side, as for httpbed run")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
