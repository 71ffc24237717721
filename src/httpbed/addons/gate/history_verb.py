"""``httpbed history``: results over commits."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from httpbed.addons.gate import git_repository
from httpbed.addons.gate.git_repository import repository_option
from httpbed.base import units
from httpbed.base.errors import ConfigError, Mistake, collected, require_none, visible
from httpbed.base.user_file import Kind
from httpbed.cli import options
from httpbed.cli.echo import echo, say
from httpbed.cli.options import CAMPAIGN, json_option
from httpbed.cli.verb import verb

if TYPE_CHECKING:  # statistics, and not for --help
    from httpbed.addons.gate.trend import CommitChange, Trend

GENERATOR = (
    rb'<!doctype html>.{0,400}<meta name="generator" content="httpbed .{0,40}<title>Results over'
)
KINDS = {
    "history.html": Kind("a history that httpbed wrote", re.compile(GENERATOR, re.DOTALL)),
    "badge.svg": Kind(
        "a badge that httpbed wrote", re.compile(rb'<svg .{0,200}aria-label="httpbed')
    ),
}


@verb("history")
@click.argument("campaigns", metavar="[CAMPAIGN]...", nargs=-1, type=CAMPAIGN)
@click.option(
    "--in",
    "where",
    required=True,
    metavar="FOLDER|branch:NAME",
    help="The history: a folder, or a branch that has nothing else. It is made if it is not there.",
)
@click.option(
    "--commit",
    metavar="REV",
    default="HEAD",
    show_default=True,
    help="The commit whose build the campaigns measured.",
)
@repository_option
@options.output_option(
    "Write a page with a line for each treatment, and a badge, into this folder."
)
@json_option
def command(
    *,
    campaigns: tuple[Path, ...],
    where: str,
    commit: str,
    repository: Path,
    output: Path | None,
    as_json: bool,
) -> None:
    """Add campaigns to a history of results over commits, and say where it changed.

    Use it on your main branch, after each merge. A gate compares two builds; the history shows what
    many small changes add up to, and when a change came. Without a CAMPAIGN it is only read.

    A history is one file of lines, each with the medians of one campaign. Lines are only added, so
    jobs may write at once. On a branch, nothing is pushed: git push takes it to others.
    """
    # Statistics and plotting take a second to import, which --help need not wait for.
    from httpbed.addons.gate import history, trend
    from httpbed.cli import output_file

    mistakes = list[Mistake]()
    with collected(mistakes):
        kept = history.place(where, repository)
    if output:
        with collected(mistakes):
            output_file.require_folder(output)
            require_none(output_file.kind_mistakes(output, KINDS))
    if campaigns:
        with collected(mistakes):
            measured = _commit(repository, commit)
        with collected(mistakes):
            results = options.read_campaigns(campaigns)
    require_none(mistakes)
    if campaigns:
        entries = [trend.entry(campaign, *measured) for campaign in results]
        kept.append(entries)
        for campaign, entry in zip(results, entries, strict=True):
            lacking = sum(1 for _ in campaign.experiment.treatments()) - len(entry.values)
            if lacking:
                say(
                    f"note: {campaign.directory} adds no median of {entry.metric} for"
                    f" {units.format_count(lacking, 'treatment')}"
                )
    trends = trend.trends(kept.read())
    if not trends:
        raise ConfigError(
            [Mistake(f"--in {where}", "has no results yet", "name a CAMPAIGN to add")]
        )
    if as_json:
        echo(json.dumps({"schema": 1, "trends": list(trend.values_for_json(trends))}, indent=1))
    else:
        for line in _lines(trends, trend.by_commit(trends)):
            echo(visible(line))
    if output:
        say(f"page: {trend.save(trends, output)}")


def _lines(trends: Sequence[Trend], changes: Sequence[CommitChange]) -> list[str]:
    commits = {entry.commit for trend in trends for entry in trend.entries}
    treatments = units.format_count(len(trends), "treatment")
    return [
        *(line for change in changes for line in (change.heading, f"  {change.treatments}")),
        f"{treatments} over {units.format_count(len(commits), 'commit')}",
    ]


def _commit(repository: Path, word: str) -> tuple[str, str, str]:
    """Return the hash, the date and the first line of a commit.

    Raises:
        ConfigError: There is no such commit.
    """
    sha = git_repository.commit(repository, "--commit", word)
    spelled = ("show", "--no-patch", "--no-show-signature", "--format=%cI%n%s", sha)
    date, subject = f"{git_repository.git(repository, *spelled)}\n".split("\n")[:2]
    return sha, date, visible(subject)
