"""Scenarios: networks in which a program's CI compares two builds, in virtual time.

They are one campaign of both builds, as ``httpbed compare --against`` runs it. The networks are
profiles with their sources (``experiment/profiles.toml``), and stress different parts of a stack:
rates from 1 to 266 Mbit/s, round trips from 4 to 600 ms, asymmetric links, a token bucket, and 4 %
of random loss. No transfer of this size takes longer than 10 s there over a correct stack.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from httpbed.addons.compare import comparison
from httpbed.addons.compare.options import CommandLine
from httpbed.base.errors import ConfigError, Mistake
from httpbed.campaign.settings import Parallelism
from httpbed.cli import experiment_argument, run
from httpbed.cli.echo import echo
from httpbed.programs.catalog import Catalog

STANDARD = "standard"
NETWORKS = (
    "fibre",
    "cable",
    "dsl",
    "lte",
    "3g",
    "5g",
    "leo",
    "geo",
    "zhang2023-1m",
    "liu2024-severe",
)
SIZE = "500kB"
REPLICATES = "10"
"""Blocks: ten settle fifty treatments (:mod:`httpbed.results.regression`)."""
CLIENT, SERVER = "curl", "nginx"
"""What a program runs with, where the scenario leaves the other role open."""


def run_scenarios(
    against: tuple[str, str],
    recipe_folders: Sequence[Path],
    output: Path | None,
    jobs: Parallelism,
) -> Path:
    """Run both builds of a program in the standard scenarios, or resume it; return the campaign.

    Raises:
        ConfigError: With every mistake.
        HostError: This machine has no virtual time.
    """
    catalog = experiment_argument.catalog(tuple(recipe_folders)).with_second_build(*against)
    folders = [word for folder in recipe_folders for word in ("--recipes", str(folder))]
    line = _line(against, catalog, (*folders, *experiment_argument.program_words()))
    compared = comparison.comparison(line, catalog)
    for one in compared.skipped:
        echo(f"not run: {one}", err=True)
    directory = output or Path(compared.loaded.experiment.name)
    chosen = run.settings(jobs=jobs)
    run.execute(compared.loaded, catalog, directory, chosen)
    return directory


def _line(against: tuple[str, str], catalog: Catalog, further: Sequence[str]) -> CommandLine:
    """Return the comparison of both builds in the first role that the program has."""
    program, _ = against
    roles = catalog[program].roles
    options: dict[str, str | None] = {"network": ",".join(NETWORKS), "size": SIZE}
    client, options["server"] = CLIENT, SERVER
    if "client" in roles:
        client = program
    elif "server" in roles:
        options["server"] = program
    elif "proxy" in roles:
        options["proxy"] = program
    else:
        raise ConfigError([Mistake("--against", f"{program} has no role", "complete its recipe")])
    return CommandLine(
        [client],
        options,
        knobs=(),
        replicates=REPLICATES,
        seed="1",
        further=further,
        clock="virtual",
        asked_clock="virtual",
        against=against,
    )
