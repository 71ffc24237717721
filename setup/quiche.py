"""httpbed-quiche, which is no part of the Rust workspace: its lints, its tests, its executable.

    python setup/quiche.py check | test

Everything is compiled in one profile and one folder of the user's cache, so that BoringSSL is
compiled once: three minutes on two cores; afterwards this takes a second, or half a minute where
the sources have changed.

Standard library only, and httpbed's own host package, which keeps to it too.
"""

from __future__ import annotations

import sys

from httpbed.experiment.errors import HostError
from httpbed.host.packages import quiche
from prepare import say

LINTS = ("--all-targets", "--", "--deny", "warnings")


def main(words: list[str]) -> int:
    """Do it; return the exit code."""
    try:
        match words:
            case ["check"]:
                return quiche.run("clippy", LINTS, say)
            case ["test"]:
                quiche.ensure(say)
                return quiche.run("test", (), say)
    except HostError as error:
        say(f"error: {error.reason}")
        say(f"remedy: {error.remedy}")
        return 3
    say("use it like: setup/quiche.py check | test")
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
