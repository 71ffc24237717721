"""Runs a build command, with a time limit, and keeps the end of its output."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import IO

from httpbed.bed.machine import guard

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
