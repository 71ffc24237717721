"""Documents agree with the code that they describe, and their links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from httpbed.addons.pages.page import NamedPage
from httpbed.addons.pages.sites.generated import ranjan
from httpbed.experiment.check import all_checks

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs/reference"
"""`make docs` writes these pages; the build of the site checks links to them."""
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")
TABLE_OF_CHECKS = re.compile(r"<!-- checks: (\w+) -->\n(.*?)<!-- end of checks -->", re.DOTALL)
PAGES = sorted({*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")} - {*REFERENCE.glob("*.md")})


def test_ranjans_sites_are_listed_with_their_weights() -> None:
    """The table's figures are those of the sites' outlines."""
    table = (ROOT / "docs/concepts/seeded-pages.md").read_text()
    for name in ranjan.NAMES:
        known = ranjan.outline(NamedPage(name=name), ROOT)
        assert f'| `"{name}"` | {known.requests} | {known.weight:,} B |' in table


def test_the_tables_of_checks_are_those_of_the_registry() -> None:
    """Every check has its line in the table of the bed, of the subject or of notes."""
    page = (ROOT / "docs/concepts/evidence.md").read_text()
    tables = dict(TABLE_OF_CHECKS.findall(page))
    assert set(tables) == {"bed", "subject", "notes"}
    for check in all_checks().values():
        table = tables["notes" if check.is_note else check.of]
        name = re.sub(r"\{(\w+)\}", r"*\1*", check.name)
        assert f"| {name} | {check.meaning} |" in table, "make docs writes the tables"
    assert sum(table.count("\n") - 2 for table in tables.values()) == len(all_checks())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    """Each relative link leads to a folder, or to a file that is not empty or not in git."""
    for target in LINK.findall(page.read_text()):
        place = (page.parent / target).resolve()
        assert place.parent == REFERENCE or place.is_dir() or place.stat().st_size > 0, target


def test_the_map_names_modules_that_exist() -> None:
    """Every file that ARCHITECTURE.md names is in the package or in the repository."""
    named = re.findall(r"[\w/-]+/[\w-]+\.(?:py|toml|md)", (ROOT / "ARCHITECTURE.md").read_text())
    assert len(named) > 20
    for path in named:
        assert (ROOT / "src/httpbed" / path).is_file() or (ROOT / path).is_file(), path


def test_the_map_names_every_room() -> None:
    """The table of rooms lists each package below ``httpbed``, and no other."""
    map_of_rooms = (ROOT / "ARCHITECTURE.md").read_text()
    table = re.search(r"\| room \|.*?\n\n", map_of_rooms, re.DOTALL)
    assert table
    first_cells = re.findall(r"^\| (`.*?) \| ", table[0], re.MULTILINE)
    rooms = {room for cell in first_cells for room in re.findall(r"`(\w+)`", cell)}
    packages = {folder.parent.name for folder in ROOT.glob("src/httpbed/*/__init__.py")}
    assert rooms == packages
