"""Prepares this checkout: Debian packages, a Python environment, Rust, and httpbed itself.

`make` runs it before every verb, under a lock and under a guard, which kills all processes of a
killed set-up. Each step first checks whether it is needed. After an interruption, the next run
repeats the interrupted step. Without a change, everything takes half a second.

Uses only the standard library and the modules of httpbed.bed.machine that use only the standard
library.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import environment
import packages
import rust
from httpbed.base.errors import HostError
from progress import say

CHECKOUT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Prepare the checkout; return the exit code."""
    try:
        packages.ensure()
        packages.unpack_pasta()
        environment.ensure(CHECKOUT)
        rust.ensure(CHECKOUT)
        environment.install_project(CHECKOUT)
    except HostError as error:
        say(f"error: {error.reason}")
        say(f"remedy: {error.remedy}")
        return 3
    except subprocess.CalledProcessError as error:
        say(f"error: {' '.join(map(str, error.cmd))} exited with code {error.returncode}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
