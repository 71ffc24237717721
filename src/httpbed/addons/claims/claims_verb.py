"""``httpbed claims``: the verdicts on the claims of campaigns."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from httpbed.base.errors import ConfigError, Mistake, collected, require_none
from httpbed.cli.echo import echo
from httpbed.cli.options import CAMPAIGN, json_option, read_campaigns
from httpbed.cli.report import STATED, read_stated, require_fit
from httpbed.cli.verb import verb

if TYPE_CHECKING:  # slow, and not for --help
    from httpbed.addons.claims.stated_claim import StatedClaim
    from httpbed.experiment.experiment import Experiment
    from httpbed.store.results import Results


@verb("claims")
@click.argument("directories", metavar="DIR...", nargs=-1, required=True, type=CAMPAIGN)
@click.option(
    "--experiment",
    "file",
    type=STATED,
    metavar="FILE",
    help="Judge the claims of this file, such as ones that were written after the run.",
)
@json_option
def command(*, directories: tuple[Path, ...], file: Path | None, as_json: bool) -> None:
    """Judge the claims of the campaigns in DIR.

    Use it to see whether the results support what the experiment, or a publication, claims.

    Each verdict is reproduced, contradicted or open: the interval of the estimate lies inside the
    claim's region, outside it, or across its edge. It may also be no difference, or not run. A
    claim with control arms is judged in each of them. A claim about several experiments needs a
    campaign of each. It reads only the campaigns, and runs on any operating system.
    """
    # Reading and judging take half a second to import, which --help need not wait for.
    from httpbed.addons.claims import claims_report as claims
    from httpbed.addons.claims import judging
    from httpbed.report import terminal

    mistakes, stated = list[Mistake](), None
    with collected(mistakes):
        campaigns = read_campaigns(directories)
    if file:
        with collected(mistakes):
            stated = read_stated(file)
    require_none(mistakes)
    judgements = []
    for campaign, own in _claims_of_each(campaigns, file, stated):
        others = tuple(other for other in campaigns if other is not campaign)
        results = replace(campaign, beside=others)
        judgements.append((results, judging.judge(results, own)))
    if as_json:
        values = [claims.values(*judgement) for judgement in judgements]
        echo(json.dumps({"schema": 1, "campaigns": values}, indent=1))
        return
    out = terminal.console()
    for results, judged in judgements:
        if len(campaigns) > 1:
            echo(f"{results.directory}:")
        claims.show(results, judged, out)


def _claims_of_each(
    campaigns: Sequence[Results], file: Path | None, stated: Experiment | None
) -> list[tuple[Results, Sequence[StatedClaim]]]:
    """Return each campaign with the claims to judge.

    A campaign is left out if claims of the others refer to it, and it has none of its own, or
    ``file`` is given: it is only evidence.

    Raises:
        ConfigError: A campaign has no claims, or the file's claims do not fit it.
    """
    claims = stated.claims if stated else [c for campaign in campaigns for c in _own(campaign)]
    named = {name for claim in claims for name in claim.other_experiments}
    judged = [
        campaign
        for campaign in campaigns
        if campaign.experiment.name not in named or (file is None and _own(campaign))
    ]
    if not judged:
        reason = "claims of the file only refer to the campaigns that are given"
        remedy = "name a campaign of the file's experiment as well"
        raise ConfigError([Mistake(str(file), reason, remedy)])
    mistakes: list[Mistake] = []
    of_each: list[tuple[Results, Sequence[StatedClaim]]] = []
    for campaign in judged:
        with collected(mistakes):
            of_each.append((campaign, _claims(campaign, file, stated)))
    require_none(dict.fromkeys(mistakes))
    return of_each


def _own(results: Results) -> Sequence[StatedClaim]:
    claims: Sequence[StatedClaim] = results.stated_experiment.claims
    return claims


def _claims(
    results: Results, file: Path | None, stated: Experiment | None
) -> Sequence[StatedClaim]:
    """Return the claims to judge: the campaign's own, or those of a file that fits it.

    Raises:
        ConfigError: There are none, or the file's claims do not fit the campaign.
    """
    from httpbed.addons.claims.claim_checking import TABLE
    from httpbed.experiment import parser

    claims = stated.claims if stated else _own(results)
    if not claims:
        if not file and "claims" in parser.unread_entries(results.document):
            reason = "its claims are about metrics of addons that are not installed"
            raise ConfigError([Mistake(str(results.directory), reason)])
        remedy = "write [[claim]] tables in a file and name it with --experiment"
        if file:
            remedy = "write [[claim]] tables in it"
        raise ConfigError([Mistake(str(file or results.directory), "has no claims", remedy)])
    if file and stated:
        require_fit(TABLE, stated, results, file)
    return claims
