"""How much the program behind a recorded site's server answers: requests and bytes a second.

h2load of the toolbox asks it over loopback, as a server under test would, on kept connections.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from importlib import resources
from pathlib import Path

from httpbed.bed.toolbox import root_filesystem
from httpbed.programs import catalog
from httpbed.programs.shipped_programs import shipped_programs

SMALL, LARGE = 1000, 10**7
"""Bytes of the bodies that are asked for."""
REQUESTS, CONNECTIONS = {SMALL: 20_000, LARGE: 300}, {SMALL: 16, LARGE: 6}
PATIENCE_S = 10.0
_FINISHED = re.compile(r"finished in \S+, (?P<rate>[\d.]+) req/s")


def main() -> None:
    """Print a line for each round."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    installs = catalog.load().installs(["h2load"])
    (root,) = (root_filesystem.ensure(contents, say=print).path for contents in installs)
    with tempfile.TemporaryDirectory() as name, socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
        free.close()
        run(Path(name), port, root, rounds)


def run(folder: Path, port: int, root: Path, rounds: int) -> None:
    """Start the program, and ask it."""
    write(folder, f"127.0.0.1:{port}")
    with resources.as_file(shipped_programs()["replay_origin.py"]) as program:
        words = [f"--site={folder}", f"--port={port}", f"--log={folder / 'log'}"]
        process = subprocess.Popen([sys.executable, str(program), *words])
        try:
            wait(port)
            for _ in range(rounds):
                small, large = (rate(root, port, length) for length in (SMALL, LARGE))
                print(
                    f"{small:7.0f} requests/s of {SMALL} bytes, {large * LARGE / 1e6:5.0f} MB/s in "
                    f"bodies of {LARGE} bytes, load {os.getloadavg()[0]:.1f}"
                )
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE_S)


def write(folder: Path, host: str) -> None:
    """Write a site of two bodies."""
    (folder / "0").mkdir()
    (folder / "0/prior.txt").write_bytes(b".")
    answers = []
    for length in (SMALL, LARGE):
        (folder / f"0/{length}").write_bytes(bytes(length))
        each = {"host": host, "path": f"/{length}", "file": f"0/{length}", "method": "GET"}
        answers.append({**each, "status": 200, "headers": [], "delay_s": 0.0})
    said = {"schema": 1, "hosts": [host], "skeleton": False, "answers": answers}
    (folder / "answers.json").write_text(json.dumps(said))


def wait(port: int) -> None:
    """Wait until somebody answers."""
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)


def rate(root: Path, port: int, length: int) -> float:
    """Return requests a second, by h2load, which runs here with its own root's libraries."""
    loader = [str(next((root / "lib64").glob("ld-linux-*"))), "--library-path"]
    libraries = str(next((root / "usr/lib").glob("*-linux-gnu")))
    asking = ["--h1", f"-n{REQUESTS[length]}", f"-c{CONNECTIONS[length]}"]
    said = subprocess.run(
        [*loader, libraries, str(root / "usr/bin/h2load"), *asking, f"http://127.0.0.1:{port}/{length}"],
        check=True, capture_output=True, text=True, timeout=120,
    ).stdout  # fmt: skip
    found = _FINISHED.search(said)
    if not found or f"{REQUESTS[length]} succeeded" not in said:
        raise SystemExit(f"h2load failed: {said}")
    return float(found["rate"])


if __name__ == "__main__":
    main()
