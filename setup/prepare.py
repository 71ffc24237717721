"""Makes this checkout ready to use: a Python environment, Rust, mmdebstrap, the project.

`make` runs it before every verb, under a guard that ends whatever a killed set-up leaves
running, and under a lock. Each step first looks whether it is needed, and each can be broken
off anywhere: the next run starts it again. When nothing has changed it takes half a second.

Standard library only, and httpbed's own host package, which keeps to it too.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import environment
import packages
import rust
from httpbed.experiment.errors import HostError

CHECKOUT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Prepare; return the exit code."""
    try:
        packages.ensure(say)
        environment.ensure(CHECKOUT, say)
        rust.ensure(CHECKOUT, say)
        environment.install_project(CHECKOUT)
    except HostError as error:
        say(f"error: {error.reason}")
        say(f"remedy: {error.remedy}")
        return 3
    except subprocess.CalledProcessError as error:
        say(f"error: {' '.join(map(str, error.cmd))} ended with {error.returncode}")
        return 1
    return 0


def say(line: str) -> None:
    """Tell the person who waits what they wait for."""
    print(f"set-up: {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
