"""Printing lines. Every line of a verb goes through here, except tables and progress bars."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence

import click

from httpbed.base.errors import visible_lines


def echo(text: object = "", *, err: bool = False, nl: bool = True) -> None:
    """Print a text to stdout or stderr, with non-printing characters as escapes.

    File names, servers and experiment files may contain characters that move a terminal's cursor.
    JSON is unchanged, because :func:`json.dumps` has escaped them already.
    """
    click.echo(visible_lines(str(text)), err=err, nl=nl)


def say(line: str) -> None:
    """Print a line to stderr: progress and notes, never results."""
    echo(line, err=True)


def command_line() -> str:
    """Return the command line of this process, as a manifest keeps it."""
    return shlex.join(["httpbed", *sys.argv[1:]])


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield rows as lines with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        words = (word.ljust(width) for word, width in zip(row, widths, strict=True))
        yield ("  " + "  ".join(words)).rstrip()
