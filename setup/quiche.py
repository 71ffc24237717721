"""Lints and tests httpbed-quiche, which is not part of the Rust workspace.

    python setup/quiche.py check | test

Everything is compiled with one profile into one folder of the user's cache, so that BoringSSL is
compiled once. That takes three minutes on two cores. Afterwards a run takes a second, or half a
minute if the sources have changed.

Uses only the standard library and the modules of httpbed.bed.machine that use only the standard
library.
"""

from __future__ import annotations

import sys

from httpbed.base.errors import HostError
from httpbed.bed.toolbox import quiche
from progress import say, step

_USUAL = "3 min the first time, 30 s after a change"

LINTS = ("--all-targets", "--", "--deny", "warnings")


def main(words: list[str]) -> int:
    """Run the lints or the tests; return the exit code."""
    try:
        match words:
            case ["check"]:
                with step("checking httpbed-quiche", _USUAL, silent_s=2.0):
                    return quiche.run("clippy", LINTS, say)
            case ["test"]:
                with step("testing httpbed-quiche", _USUAL, silent_s=2.0):
                    quiche.ensure(say)
                    return quiche.run("test", (), say)
    except HostError as error:
        say(f"error: {error.reason}")
        say(f"remedy: {error.remedy}")
        return 3
    say("usage: setup/quiche.py check | test")
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
