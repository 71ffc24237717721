"""Do trials in virtual time give the same bytes again? For every program, role and HTTP version.

    make bench-exactness      or: python -m bench.exactness [--kinds downloads pages handovers]

Every trial runs three times: alone; beside programs that keep every processor busy; and in a folder
with another name, beside another trial. Its observations and the emulator's result must be the
same bytes. The table says for each program, role and HTTP version whether they are, by what they
differ, or why the trial does not run. If a trial is not exact, the exit code is 1.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from bench.exactness import families, repetitions, table
from bench.exactness.families import Family
from bench.exactness.table import Row

from httpbed.addons.interop import interop_session
from httpbed.programs import catalog as catalogs
from httpbed.programs.recipe import Recipe

KINDS = ("downloads", "pages", "handovers")


def main() -> None:
    """Run every family of trials three times, and print the tables."""
    words = _arguments()
    catalog = catalogs.load()
    recipes, absent = interop_session.here(catalog)
    rows = list[Row]()
    with tempfile.TemporaryDirectory(prefix="httpbed-bench-") as scratch:
        folder = Path(words.keep or scratch)
        for family in _families(words, recipes):
            rows += repetitions.measured(family, catalog, folder / family.name, _say)
    print(table.markdown(rows))
    print("".join(f"Not tried: {why}.\n" for why in absent.values()), end="")
    sys.exit(0 if all(row.is_exact() for row in rows) else 1)


def _families(words: argparse.Namespace, recipes: list[Recipe]) -> Iterator[Family]:
    """Yield the families of the kinds that the user names, or their trials with a word."""
    page = words.page or families.SMALL_PAGE
    found: Mapping[str, Iterable[Family]] = {
        "downloads": families.downloads(recipes),
        "pages": families.pages(recipes, page),
        "handovers": [families.handovers()],
    }
    for kind in words.kinds:
        for family in found[kind]:
            if chosen := families.only(family, words.only):
                yield chosen


def _say(line: str) -> None:
    print(line, file=sys.stderr)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS, help="of trials")
    parser.add_argument("--only", default="", help="trials with this word, such as nginx")
    parser.add_argument("--page", help="name of a page; default: eight images of 10 kB")
    parser.add_argument("--keep", help="folder for the campaigns")
    return parser.parse_args()


if __name__ == "__main__":
    main()
