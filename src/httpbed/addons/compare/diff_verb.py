"""``httpbed diff``: compare two campaigns, treatment by treatment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from httpbed.base.errors import ConfigError, Mistake, visible
from httpbed.cli import options
from httpbed.cli.echo import echo
from httpbed.cli.options import CAMPAIGN, json_option
from httpbed.cli.verb import verb

if TYPE_CHECKING:  # slow, and not for --help
    from httpbed.experiment.design import Difference
    from httpbed.store.results import Results


@verb("diff")
@click.argument("one", metavar="A", type=CAMPAIGN)
@click.argument("other", metavar="B", type=CAMPAIGN)
@options.metric_option
@json_option
def command(*, one: Path, other: Path, metric: str | None, as_json: bool) -> None:
    """Compare campaign B with campaign A, treatment by treatment.

    Use it for two versions of a program, of httpbed or of an experiment, or for two machines. It
    lists what differs between the campaigns, and then the ratio of each treatment that both hold.
    Blocks in which both ran the same trial met the same losses and are compared in pairs. The exit
    code is 0 whatever the result; httpbed gate fails on a regression.
    """
    from httpbed.addons.compare import campaign_comparison, diff_table
    from httpbed.report import terminal
    from httpbed.results import findings

    old, new = options.read_campaigns([one, other])
    name = metric or findings.default_metric(new)
    compared = campaign_comparison.compare(old, new, name)
    if not compared:
        reason = f"shares no treatment with {one}"
        remedy = "compare campaigns whose factors have levels in common"
        raise ConfigError([Mistake(str(other), reason, remedy)])
    changed = diff_table.changes(old, new, _settings(old, new))
    alone = campaign_comparison.only_in(old, new), campaign_comparison.only_in(new, old)
    if as_json:
        echo(json.dumps(diff_table.values(compared, changed, name, alone), indent=1))
        return
    echo(f"A  {visible(str(one))}\nB  {visible(str(other))}")
    for difference in changed:
        echo(f"   {visible(str(difference))}")
    diff_table.show(compared, name, terminal.console())
    echo(diff_table.sentence(compared))
    clocks = [each.manifest.get("clock", "real") for each in (old, new)]
    for note in diff_table.notes(compared, alone, clocks):
        echo(f"note: {note}", err=True)


def _settings(old: Results, new: Results) -> list[Difference]:
    from httpbed.experiment import design
    from httpbed.store import campaign as campaigns

    before, now = (
        design.Version(one.document, campaigns.open_existing(one.directory).design())
        for one in (old, new)
    )
    return design.differences(before, now, frozenset())
