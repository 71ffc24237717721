"""Lines that a verb prints: the one way from a verb to the terminal, beside tables and bars."""

from __future__ import annotations

import click

from httpbed.experiment.errors import visible_lines


def echo(text: object = "", *, err: bool = False, nl: bool = True) -> None:
    """Print a text to stdout, or to stderr; characters that do not print become escapes.

    File names, servers and experiment files may hold characters that move a terminal's cursor.
    JSON passes unchanged: :func:`json.dumps` has escaped them already.
    """
    click.echo(visible_lines(str(text)), err=err, nl=nl)
