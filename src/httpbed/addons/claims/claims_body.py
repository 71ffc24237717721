"""What ``httpbed claims`` does."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from httpbed.addons.claims import claims_report as claims
from httpbed.addons.claims import judging
from httpbed.addons.conformance import sender_records
from httpbed.cli import campaign_folders, later_tables
from httpbed.cli.echo import echo
from httpbed.report import terminal
from httpbed.store.results import Results


def run(*, directories: tuple[Path, ...], file: Path | None, as_json: bool) -> None:
    """Judge the claims of the campaigns in DIR."""
    campaigns = [_refreshed(results) for results in campaign_folders.read(directories)]
    found = [
        (results, judging.judge(results, stated, others), others)
        for results, stated in later_tables.claims_of_each(campaigns, file)
        for others in [[one for one in campaigns if one is not results]]
    ]
    if as_json:
        values = [claims.values(*one) for one in found]
        echo(json.dumps({"schema": 1, "campaigns": values}, indent=1))
        return
    out = terminal.console()
    for results, judged, others in found:
        if len(campaigns) > 1:
            echo(f"{results.directory}:")
        claims.show(results, judged, out, others)


def _refreshed(results: Results) -> Results:
    return replace(results, manifest=sender_records.refreshed(results.manifest))
