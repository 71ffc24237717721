"""Claims of an experiment file, for a campaign that ran without them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from httpbed.addons.claims.checking import TABLE
from httpbed.addons.claims.stated import StatedClaim
from httpbed.base.errors import ConfigError, Mistake
from httpbed.cli.report import read_stated, require_fit
from httpbed.store.results import Results


def claims_of_each(
    campaigns: Sequence[Results], file: Path | None
) -> list[tuple[Results, Sequence[StatedClaim]]]:
    """Return each campaign with the claims to judge.

    A campaign is left out if claims of the others refer to it, and it has none of its own, or
    ``file`` is given: it is only evidence.

    Raises:
        ConfigError: A campaign has no claims, or the file's claims do not fit it.
    """
    claims = read_stated(file).claims if file else [c for one in campaigns for c in _own(one)]
    named = {name for one in claims for name in one.other_experiments}
    judged = [
        one for one in campaigns if one.experiment.name not in named or (file is None and _own(one))
    ]
    if not judged:
        reason = "claims of the file only refer to the campaigns that are given"
        remedy = "name a campaign of the file's experiment as well"
        raise ConfigError([Mistake(str(file), reason, remedy)])
    return [(one, _claims(one, file)) for one in judged]


def _own(results: Results) -> Sequence[StatedClaim]:
    claims: Sequence[StatedClaim] = results.stated_experiment.claims
    return claims


def _claims(results: Results, file: Path | None) -> Sequence[StatedClaim]:
    """Return the claims to judge: the campaign's own, or those of a file that fits it.

    Raises:
        ConfigError: There are none, or the file's claims do not fit the campaign.
    """
    claims = read_stated(file).claims if file else _own(results)
    if not claims:
        place, remedy = results.directory, "write [[claim]] tables in a file and name it with"
        remedy = "write [[claim]] tables in it" if file else f"{remedy} --experiment"
        raise ConfigError([Mistake(str(file or place), "has no claims", remedy)])
    if file:
        require_fit(TABLE, claims, results, file)
    return claims
