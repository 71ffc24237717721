"""Source files stay short enough to be read in one sitting."""

from __future__ import annotations

from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "crates", "setup", "tests", "bench")
MAX_LINES = 500


def test_a_file_has_at_most_500_lines() -> None:
    paths = [path for name in FOLDERS for path in (CHECKOUT / name).rglob("*.[pr][ys]")]
    lengths = {path.relative_to(CHECKOUT): path.read_text().count("\n") for path in paths}
    assert not {str(path): lines for path, lines in lengths.items() if lines > MAX_LINES}
