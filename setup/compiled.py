"""Lints and tests the programs that are compiled on demand, outside the Rust workspace.

    python setup/compiled.py check | test [PROGRAM]...

Without a name, all of them.

Everything of a program is compiled with one profile into one folder of the user's cache, so that
BoringSSL is compiled once. That takes three minutes on two cores. Afterwards a run takes a second,
or half a minute if the sources have changed.

Uses only the standard library and the modules of httpbed.bed.machine that use only the standard
library.
"""

from __future__ import annotations

import sys

from httpbed.base.errors import HostError
from httpbed.bed.toolbox import compiled
from httpbed.bed.toolbox.compiled import Compiled
from progress import say, step

_WORDS = {"check": "checking", "test": "testing"}


def main(words: list[str]) -> int:
    """Run the lints or the tests; return the exit code."""
    verb, *names = words or [""]
    if verb not in _WORDS or not compiled.PROGRAMS.keys() >= {*names}:
        say(f"usage: setup/compiled.py check | test [{' | '.join(compiled.PROGRAMS)}]...")
        return 2
    try:
        return max(_run(verb, compiled.PROGRAMS[name]) for name in names or compiled.PROGRAMS)
    except HostError as error:
        say(f"error: {error.reason}")
        say(f"remedy: {error.remedy}")
        return 3


def _run(verb: str, program: Compiled) -> int:
    usual = f"{program.lasts} the first time, 30 s after a change"
    with step(f"{_WORDS[verb]} {program.name}", usual, silent_s=2.0):
        if verb == "check":
            return program.run(program.check, say)
        program.ensure(say)
        return program.run(program.test, say)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
