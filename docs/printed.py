"""What commands on the published archives print, in the guides.

A block whose first line is ``$ httpbed VERB ... results/...`` shows what this line prints in a
checkout. `make docs` runs the line and writes the rest of the block.
"""

from __future__ import annotations

import os
import re
import shlex
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

from click.testing import CliRunner

from httpbed.cli.main import cli
from results_archives import PUBLISHED

BLOCK = re.compile(
    r"^```console\n(\$ httpbed [^\n]* results/[^\n]*)\n.*?^```", re.MULTILINE | re.DOTALL
)
COLUMNS = "100"


def page(text: str) -> str:
    """Return a page whose blocks of published archives have what their lines print today."""
    return BLOCK.sub(lambda block: f"```console\n{block[1]}\n{_printed(block[1])}```", text)


def _printed(line: str) -> str:
    """Return what a line after the prompt prints in a folder that has only the archives.

    The machine's own state, such as conformance tests of senders, changes nothing.
    """
    words = shlex.split(line.removeprefix("$ httpbed "))
    with TemporaryDirectory() as folder, chdir(folder):
        Path(PUBLISHED.name).symlink_to(PUBLISHED)
        surroundings = {"COLUMNS": COLUMNS, "NO_COLOR": "1", "XDG_STATE_HOME": folder}
        ran = CliRunner(env=os.environ | surroundings).invoke(cli, words)
    if ran.exit_code:
        raise ValueError(f"{line}: exit code {ran.exit_code}: {ran.output or ran.exception}")
    return ran.output
