"""One build of a program, measured: what a search for a commit asks at each step."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from httpbed.base.errors import ConfigError
from httpbed.bed.machine import backend, guard
from httpbed.campaign.preparation import LoadedExperiment
from httpbed.cli import run
from httpbed.programs.catalog import Catalog
from httpbed.report.phrasing import treatment
from httpbed.results import sample
from httpbed.results.estimate import estimate
from httpbed.store import query

Values = Mapping[str, float]
"""The median of the metric in each treatment that has one."""


@dataclass(frozen=True)
class Measured:
    """A commit with its build's values, or why it has none."""

    commit: str
    values: Values
    reason: str = ""


@dataclass(frozen=True)
class BuildMeasurement:
    """How each build is made and measured."""

    command: str
    """What builds the program, as a line for ``sh``."""
    program: str
    """The implementation."""
    executable: str
    """Its path within the checkout, once it is built."""
    loaded: LoadedExperiment
    catalog: Catalog
    metric: str

    def measure(self, checkout: Path, commit: str, place: Path) -> Measured:
        """Build what is in a checkout, and run the experiment with it.

        Args:
            checkout: The folder in which the command runs.
            commit: The name of what is checked out.
            place: A folder to make, for the campaign and the end of the build's output.
        """
        place.mkdir(parents=True)
        with (place / "build.log").open("wb") as log:
            reason = build(self.command, checkout, log, BUILD_TIMEOUT_S)
        if reason:
            return Measured(commit, {}, f"the build failed: {reason}")
        executable = (checkout / self.executable).absolute()
        try:
            catalog = self.catalog.with_programs({self.program: str(executable)})
        except ConfigError as error:
            return Measured(commit, {}, "; ".join(mistake.reason for mistake in error.mistakes))
        settings = run.settings(backend.choose(None))
        run.execute(self.loaded, catalog, place / "campaign", settings)
        return _read(place / "campaign", commit, self.metric)


def _read(campaign: Path, commit: str, metric: str) -> Measured:
    """Return what a campaign of one build measured."""
    values, reasons = dict[str, float](), list[str]()
    for treatment_sample in sample.samples(query.read(campaign), metric).values():
        name = treatment(treatment_sample.levels, tuple(treatment_sample.levels))
        if found := estimate(treatment_sample):
            values[name] = found.median.value
        else:
            reasons += [reason for (_, reason), _ in treatment_sample.tally.reasons.most_common(1)]
    return Measured(commit, values, reasons[0] if reasons else "")


BUILD_TIMEOUT_S = 1800.0
LOG_BYTES = 1 << 20
"""What is kept of the output of a build: its end."""


def build(command: str, folder: Path, log: IO[bytes], timeout_s: float) -> str:
    """Run a build command in a folder; return why it failed, or nothing.

    Its processes end with it, daemons included, and with this process, however that ends. All of
    its output is read, and the last megabyte is kept.
    """
    process = subprocess.Popen(
        guard.guarded(["sh", "-c", command]),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    deadline, end = time.monotonic() + timeout_s, bytearray()
    os.set_blocking(process.stdout.fileno(), False)
    try:
        while time.monotonic() < deadline:
            part = process.stdout.read(1 << 16)
            end += part or b""
            del end[:-LOG_BYTES]
            if not part:
                if process.poll() is not None:
                    break
                time.sleep(0.02)
        else:
            return f"took longer than {timeout_s:g} s"
    finally:
        process.terminate()  # which ends what is left
        process.wait()
        process.stdout.close()
        log.write(end)
    return f"exit code {process.returncode}" if process.returncode else ""
