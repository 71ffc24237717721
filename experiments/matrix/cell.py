"""Prints the experiment file of one cell of the competition.

python experiments/matrix/cell.py tcp-bbr quic-go > cell.toml
httpbed run cell.toml --clock virtual
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

FILE = Path(__file__).with_name("competition.toml")
_TABLE = re.compile(r"(?m)^(?=\[)")
_LEVEL = re.compile(r"\[factors\.(sender|beside)\.([\w-]+)\]")
_SCALE = "[scales."


def main(words: Sequence[str]) -> int:
    """Print the file, or what is wrong with the words."""
    tables = _TABLE.split(FILE.read_text())
    levels = [_LEVEL.match(table) for table in tables]
    known = list(dict.fromkeys(level[2] for level in levels if level))
    if len(words) != 2 or not {*words} <= {*known}:
        print(f"usage: cell.py SENDER BESIDE; each is one of {', '.join(known)}", file=sys.stderr)
        return 2
    chosen = dict(zip(("sender", "beside"), words, strict=True))
    kept = (
        table
        for table, level in zip(tables, levels, strict=True)
        if (chosen[level[1]] == level[2] if level else not table.startswith(_SCALE))
    )
    print("".join(kept), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
