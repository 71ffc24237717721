"""A report of a large campaign lists some treatments and trials, and says where the others are."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

import pytest

import reports
from campaigns import VERSIONS, Ending, campaign
from httpbed.report import document, figures, sections
from httpbed.results import sample
from httpbed.results.findings import find
from httpbed.store.results import Results

LISTED = 10


def results(losses: int, blocks: int = 1, invalid: int = 0) -> Results:
    """Make a campaign with three treatments for each loss."""
    levels = json.dumps([f"{loss / 10} %" for loss in range(losses)])
    text = VERSIONS.replace('loss = ["0 %", "2 %"]', f"loss = {levels}")
    text = text.replace("replicates = 5", f"replicates = {blocks}")

    def ends(levels: Mapping[str, str], block: int) -> Ending:
        times = {"request_time": 1 + block / 100, "goodput": 8e6}
        broken = ("lateness",) * invalid if levels["loss"] == "0.0 %" else ()
        return Ending(times, invalid_first=broken)

    return campaign(ends, text)


def page(found: Results) -> str:
    """Render a report without figures."""
    return reports.page(found, find(found))


@pytest.fixture
def lists_ten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a page list ten rows of a kind."""
    monkeypatch.setattr(document, "MAX_LISTED", LISTED)
    monkeypatch.setattr(sections, "MAX_LISTED", LISTED)


@pytest.mark.usefixtures("lists_ten")
def test_a_page_lists_so_many_treatments_and_counts_the_others() -> None:
    """In every table, and the sentence names the way to all of them."""
    text = page(results(losses=20))
    assert text.count('<tr class="of">') == LISTED
    assert len(re.findall(r'<td class="cell ', text)) == LISTED
    assert "leaves out 50 further treatments" in text
    assert "httpbed report DIR --json" in text
    assert "60 of 60 planned trials completed" in text


@pytest.mark.usefixtures("lists_ten")
def test_a_further_treatment_adds_no_row_to_a_full_page() -> None:
    """Of 45 further treatments, the page has only the levels; a row of a table has 600 bytes."""
    few, many = (len(page(results(losses=losses))) for losses in (5, 20))
    assert many - few < 45 * 50


@pytest.mark.usefixtures("lists_ten")
def test_a_page_lists_so_many_invalid_attempts_and_counts_the_others() -> None:
    """The number of all of them stands above the table."""
    text = page(results(losses=1, invalid=5))
    assert text.count('data-label="what broke"') == LISTED
    assert "15 attempts were invalid" in text
    assert "leaves out 5 further invalid attempts" in text


def test_a_page_that_lists_everything_leaves_nothing_out() -> None:
    """The sentence is for larger campaigns."""
    assert "leaves out" not in page(results(losses=4))


def test_a_distribution_draws_so_many_trials_of_a_treatment() -> None:
    """The caption says so, and the number of marks does not depend on the number of trials."""
    found = results(losses=1, blocks=figures.MAX_DOTS_PER_TREATMENT + 20)
    plot = figures.distribution(find(found), found.document)
    assert plot.svg().count(", block ") == 3 * figures.MAX_DOTS_PER_TREATMENT
    assert (
        f"Of many trials of a treatment, {figures.MAX_DOTS_PER_TREATMENT} at even ranks"
        in plot.caption
    )


def test_values_at_even_ranks_include_the_ends() -> None:
    """No outlier is hidden, and few values are all kept."""
    values = {block: float((7 * block) % 101) for block in range(101)}
    drawn = sample.at_even_ranks(values, 5)
    assert sorted(drawn.values()) == [0, 25, 50, 75, 100]
    assert all(values[block] == value for block, value in drawn.items())
    assert sample.at_even_ranks(values, 101) == values
