"""A scheduler of Dask and workers in processes of their own, on the loopback interface."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import process_tree
from families import until
from httpbed.addons.cluster import certificates
from httpbed.programs.part import AUTHORITY

LOOPBACK = "127.0.0.1"
_SUPPORT = str(Path(__file__).parent)
_MAIN = "import patient_blocks; from httpbed.cli.main import main; main()"
WORKER = (sys.executable, "-c", _MAIN, "worker")
"""``httpbed worker`` without the limits on a busy machine."""
DASK = (sys.executable, "-c", "from dask.__main__ import main; main()")
_QUIET = ("--no-dashboard", "--dashboard-address", f"{LOOPBACK}:0")


def tls_options() -> list[str]:
    """Return Dask's options for the certificates in the user's folder."""
    folder = certificates.default_folder()
    names = {"ca-file": AUTHORITY, "cert": certificates.CERTIFICATE, "key": certificates.KEY}
    return [f"--tls-{option}={folder / name}" for option, name in names.items()]


@dataclass
class Service:
    """A process with a log."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def pid(self) -> int:
        """The process's identifier."""
        return self.process.pid

    def kill(self) -> None:
        """Kill it with SIGKILL."""
        os.kill(self.pid, signal.SIGKILL)
        self.process.wait()

    def is_in_a_trial(self) -> bool:
        """Whether a trial's emulator runs below it."""
        return any(
            descendant.name == "httpbed-link" for descendant in process_tree.descendants(self.pid)
        )


@contextlib.contextmanager
def service(
    words: Sequence[str], log: Path, *, stdin: int = subprocess.DEVNULL
) -> Iterator[Service]:
    """Run a process, and kill it afterwards."""
    paths = os.pathsep.join(filter(None, [_SUPPORT, os.environ.get("PYTHONPATH")]))
    with log.open("ab") as output:
        process = subprocess.Popen(
            [*words],
            stdout=output,
            stderr=output,
            stdin=stdin,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": paths},
        )
    try:
        yield Service(process, log)
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def scheduler(
    folder: Path, *, host: str = LOOPBACK, port: int = 0
) -> Iterator[tuple[Service, str]]:
    """Run a scheduler; yield it with its address."""
    about = folder / "scheduler.json"
    about.unlink(missing_ok=True)
    words = ["scheduler", "--host", f"tls://{host}", "--scheduler-file", str(about)]
    words += ["--port", str(port), *tls_options()]
    with service([*DASK, *words, *_QUIET], folder / "scheduler.log") as running:
        until(lambda: about.exists() and bool(about.read_text()))
        yield running, json.loads(about.read_text())["address"]


def worker(address: str, name: str, folder: Path) -> contextlib.AbstractContextManager[Service]:
    """Run ``httpbed worker``."""
    words = [*WORKER, address, "--name", name]
    return service(words, folder / f"{name}.log")
