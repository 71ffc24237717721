"""What the documents point at is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from httpbed.experiment import profiles
from httpbed.experiment.metric import METRICS
from httpbed.experiment.page import NamedPage
from httpbed.web.sites.generated import ranjan

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def test_every_profile_is_listed_with_its_source() -> None:
    """`make docs` writes the page; a profile that was added or changed asks for it."""
    page = (ROOT / "docs/reference/profiles.md").read_text()
    for name, profile in profiles.all_profiles().items():
        assert f"## `{name}`" in page
        assert profile.source in page
        assert profile.taken in page


def test_every_metric_is_listed_with_its_meaning() -> None:
    """`make docs` writes the reference page from the descriptors."""
    page = (ROOT / "docs/reference/metrics.md").read_text()
    assert page.count("\n| `") == len(METRICS)
    for name, metric in METRICS.items():
        (line,) = [line for line in page.splitlines() if line.startswith(f"| `{name}` |")]
        assert line.endswith(f"| {metric.meaning} |")


def test_ranjans_sites_are_listed_with_what_they_weigh() -> None:
    """As they tell of themselves."""
    table = (ROOT / "docs/concepts/seeded-pages.md").read_text()
    for name in ranjan.NAMES:
        known = ranjan.outline(NamedPage(name=name), ROOT)
        assert f'| `"{name}"` | {known.requests} | {known.weight:,} B |' in table


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    """To a folder, or to a file with something in it."""
    for target in LINK.findall(page.read_text()):
        place = page.parent / target
        assert place.is_dir() or place.stat().st_size > 0, target
