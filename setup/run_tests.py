"""Runs checks and tests side by side, so that no core waits: what `make test` does.

    python setup/run_tests.py [slow]

What computes comes first: the pure tests in three parts, Rust, types and lints, beside the root
filesystems, which take minutes and which only later tests need. One job more than cores runs,
because pytest, mypy and the end of each compilation use one core, and cargo any number. Tests
marked `alone` measure times, so nothing runs beside them. Other tests with namespaces mostly wait
for their links, in real time, and jobs that compute would delay the programs under test: they come
last. Root runs the tests as the user nobody, and those marked `as_root` as root, too. With `slow`,
only the tests of that mark run, which `make test` leaves out, and before them the lints and tests
of the programs that are compiled on demand.

Each job reports its wall time and the CPU time of all its processes. The last line counts the
tests as pytest does. Standard library only.
"""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import IO

CHECKOUT = Path(__file__).resolve().parent.parent
CORES = len(os.sched_getaffinity(0))
IS_ROOT = os.geteuid() == 0
COUNTED = re.compile(r"(\d+) (passed|failed|errors?|skipped|xfailed|xpassed)\b")
ALL_NAMESPACES = re.compile(r"^pytestmark = \[?pytest\.mark\.namespaces\b", re.MULTILINE)
CLOSING = re.compile(r"^\d+ (?:passed|failed|skipped|deselected|error).* in [\d.]+s", re.MULTILINE)


@dataclass(frozen=True)
class Job:
    """A command line that may run beside others."""

    name: str
    words: tuple[str, ...]


@dataclass(frozen=True)
class Running:
    """A job that has been started, and the file that takes its output."""

    job: Job
    process: subprocess.Popen[bytes]
    """Kept, because subprocess reaps those that nobody keeps."""
    output: IO[str]
    since: float


def main(words: list[str]) -> int:
    """Run the jobs; return the exit code."""
    began = time.monotonic()
    counts = Counter[str]()
    failed = list[str]()
    for stage, slots in slow_stages() if words == ["slow"] else stages():
        failed += run(stage, slots, counts)
    if failed:
        print(f"failed: {', '.join(failed)}")
    known = ", ".join(f"{number} {word}" for word, number in sorted(counts.items()))
    print(f"{known} in {time.monotonic() - began:.2f}s", flush=True)
    return 1 if failed else 0


def stages() -> list[tuple[list[Job], int]]:
    """Return what runs one after the other: jobs, and how many of them side by side."""
    alone = [pytest("alone", "alone and not slow", *files_with("alone"))]
    if IS_ROOT:
        alone.append(as_root("alone as root", "alone", *files_with("alone", "as_root")))
    linked = files_with("namespaces")
    waiting = [pytest("namespaces", "namespaces and not alone and not slow", *spread(4), *linked)]
    if IS_ROOT:
        waiting.append(as_root("as root", "not alone", *spread(2), *files_with("as_root")))
    elsewhere = [f"--ignore={path}" for path in (ADDONS, VERBS, *files_of_namespaces_alone())]
    computing = [
        Job("root filesystems", ("httpbed", "toolbox", "build")),
        pytest("pure, addons", PURE, ADDONS),
        pytest("pure, the rest", PURE, "tests", *elsewhere),
        Job("rust", ("make", "--keep-going", "rust-lints", "rust-tests")),
        pytest("pure, verbs", PURE, VERBS),
        *(Job(name, ("make", name)) for name in ("types", "lint")),
    ]
    return [(computing, CORES + 1), (alone, 1), (waiting, CORES)]


def slow_stages() -> list[tuple[list[Job], int]]:
    """Return the tests marked `slow`, and before them what compiles the programs that some run."""
    compiled = [Job("compiled", ("make", "compiled"))]
    alone = [pytest("slow, alone", "slow and alone", *files_with("alone"))]
    beside = [pytest("slow", "slow and not alone", *spread(CORES + 2), "tests")]
    return [(compiled, 1), (alone, 1), (beside, 1)]


PURE = "not namespaces and not alone and not slow"
ADDONS, VERBS = "tests/addons", "tests/cli"
"""Folders whose pure tests have a process of their own: it needs no dispatch, and keeps what its
tests share. The longest parts begin first."""
SETTINGS = ("--quiet", "-p", "no:cacheprovider")


def pytest(name: str, marks: str, *words: str) -> Job:
    """Return a job of tests that root runs as the user nobody."""
    user = ("setup/as-nobody",) if IS_ROOT else ()
    return Job(name, (*user, "python", "-m", "pytest", *SETTINGS, "-m", marks, *words))


def as_root(name: str, marks: str, *words: str) -> Job:
    """Return a job of those tests that differ by user, as root."""
    marks = f"as_root and {marks} and not slow"
    return Job(name, ("python", "-m", "pytest", *SETTINGS, "-m", marks, *words))


def spread(processes: int) -> tuple[str, ...]:
    """Return pytest's options for tests side by side, each module's in one process."""
    return ("--numprocesses", str(processes), "--dist", "loadscope", "--no-loadscope-reorder")


def files_with(*marks: str) -> list[str]:
    """Return the files that name these marks: collecting all others takes each process 15 s."""
    return [path for path, text in files() if all(f"mark.{mark}" in text for mark in marks)]


def files_of_namespaces_alone() -> list[str]:
    """Return the files without pure tests, which would be collected for nothing."""
    return [path for path, text in files() if ALL_NAMESPACES.search(text)]


@functools.cache
def files() -> list[tuple[str, str]]:
    """Return the paths and texts of the files with tests, but for those in guests."""
    paths = sorted((CHECKOUT / "tests").rglob("test_*.py"))
    named = [path for path in paths if "virtual" not in path.parts]
    return [(str(path.relative_to(CHECKOUT)), path.read_text()) for path in named]


def run(waiting: list[Job], slots: int, counts: Counter[str]) -> list[str]:
    """Run jobs in this order, several at a time; return the names of those that failed."""
    running: dict[int, Running] = {}
    failed: list[str] = []
    queue = list(waiting)
    while queue or running:
        while queue and len(running) < slots:
            started = start(queue.pop(0))
            running[started.process.pid] = started
        process, status, used = os.wait4(-1, 0)
        ended = running.pop(process)
        if not report(ended, status, used.ru_utime + used.ru_stime, counts):
            failed.append(ended.job.name)
    return failed


def start(job: Job) -> Running:
    """Start a job."""
    print(f"tests: {job.name} started", flush=True)
    output = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 - until the job ends
    kept = {key: text for key, text in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(
        job.words, cwd=CHECKOUT, env=kept, stdout=output, stderr=subprocess.STDOUT
    )
    return Running(job, process, output, time.monotonic())


def report(ended: Running, status: int, cpu_s: float, counts: Counter[str]) -> bool:
    """Print a job's output and costs, and count its tests; return whether it succeeded."""
    ended.output.seek(0)
    text = ended.output.read()
    ended.output.close()
    for line in CLOSING.finditer(text):
        counts.update({word: int(number) for number, word in COUNTED.findall(line[0])})
    code = ended.process.returncode = os.waitstatus_to_exitcode(status)
    result = f"failed with code {code}" if code else "passed"
    wall_s = time.monotonic() - ended.since
    print(text, end="")
    print(f"tests: {ended.job.name} {result} in {wall_s:.0f} s, {cpu_s:.0f} s of CPU", flush=True)
    return code == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
