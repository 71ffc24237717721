"""``httpbed gate``: fail if something is worse than its baseline, or contradicts its claims.

With ``--scenarios`` it runs two builds of a program first, in virtual time: one campaign, as
``httpbed compare --against`` runs it. The networks are profiles with their sources
(``experiment/profiles.toml``), and stress different parts of a stack: rates from 1 to 266 Mbit/s,
round trips from 4 to 600 ms, asymmetric links, a token bucket, and 4 % of random loss. No transfer
of this size takes longer than 10 s there over a correct stack.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from httpbed.addons.compare import comparison
from httpbed.addons.compare.options import CommandLine
from httpbed.base import units
from httpbed.base.errors import ConfigError, Mistake, collected, require_none
from httpbed.campaign.settings import Parallelism
from httpbed.cli import experiment_argument, options, run
from httpbed.cli.echo import echo
from httpbed.cli.options import CAMPAIGN, FORMATS, OneOf, chosen_format, json_option, share
from httpbed.cli.verb import verb
from httpbed.programs.catalog import Catalog

MARGIN = "3 %"
MAX_FOLDERS = 2
CI_FORMATS = ("junit", "github")
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


@verb("gate")
@click.argument("folders", metavar="[BASELINE] [DIR]", nargs=-1, type=CAMPAIGN)
@click.option(
    "--scenarios",
    type=OneOf((STANDARD,)),
    metavar="SET",
    help="Run both builds of a program in a set of networks first, in virtual time; standard: ten"
    " networks, from fibre to a satellite link. Needs --against.",
)
@experiment_argument.against_option
@experiment_argument.recipes_option
@options.campaign_option(
    "The campaign's folder of --scenarios; default: compare- and a digest of the options."
)
@experiment_argument.jobs_option("Trials side by side, as for httpbed run.")
@click.option(
    "--margin",
    callback=share,
    metavar="SHARE",
    help=f"By how much a treatment may be worse than the baseline; default: {MARGIN}.",
)
@options.metric_option
@click.option("--strict", is_flag=True, help="Exit with 1 if the verdict is inconclusive.")
@click.option(
    "--format",
    "form",
    type=OneOf((*FORMATS, *CI_FORMATS)),
    metavar="[text|markdown|json|junit|github]",
    help="What is printed. markdown: for a pull request, a change before and after in"
    " milliseconds. junit: XML, for reports of tests. github: annotations; the Markdown is appended"
    " to the job's summary.  [default: text]",
)
@json_option
@click.pass_context
def command(
    context: click.Context,
    *,
    folders: tuple[Path, ...],
    scenarios: str | None,
    against: tuple[str, str] | None,
    recipe_folders: tuple[Path, ...],
    output: Path | None,
    jobs: Parallelism,
    margin: float | None,
    metric: str | None,
    strict: bool,
    form: str | None,
    as_json: bool,
) -> None:
    """Compare the campaign in DIR with a BASELINE campaign, and exit with 1 on a regression.

    Use it to keep a change that slows an HTTP stack out of a branch: run the same experiment before
    and after the change, on the same machine. With DIR alone, the two builds of httpbed compare
    --against are compared, or its claims are judged. With --scenarios, it runs two builds itself:

    httpbed gate --scenarios standard --program curl=./base --against curl=./head

    A treatment that completes less often is a regression. If the experiment in DIR has claims, so
    is a contradicted claim. Without claims, or with --margin or --metric, so is a treatment that is
    worse than the baseline's by more than the margin. Campaigns are refused if the invalid attempts
    of some programs exceed those of the others: their results may be selected. Exit code 0: pass,
    or inconclusive without --strict. 1: regression, or refused.
    """
    form = chosen_format(form, as_json=as_json)
    _require_compatible(folders, scenarios, against, output, recipe_folders)
    if scenarios and against:
        folders = (_run_scenarios(against, recipe_folders, output, jobs),)
    # Statistics take a second to import, which --help need not wait for.
    from httpbed.addons.gate import gate_report as report
    from httpbed.report import terminal

    gate = report.decide(
        options.read_campaigns(folders),
        metric=metric,
        margin=units.parse_share(MARGIN) if margin is None else margin,
        treatments=margin is not None or metric is not None,
        strict=strict,
    )
    if form == "json":
        echo(json.dumps(report.values(gate), indent=1))
    elif form == "markdown":
        echo(report.in_markdown(gate), nl=False)
    elif form == "junit":
        echo(report.in_junit(gate), nl=False)
    elif form == "github":
        echo(report.in_github(gate), nl=False)
        report.append_to_summary(report.in_markdown(gate))
    else:
        report.show(gate, terminal.console())
        for note in (*report.notes(gate), *report.explanation_note(gate)):
            echo(f"note: {note}", err=True)
        echo(report.closing(gate))
    context.exit(int(gate.fails))


def _require_compatible(
    folders: Sequence[Path],
    scenarios: str | None,
    against: object,
    output: Path | None,
    recipe_folders: Sequence[Path],
) -> None:
    """Raise ConfigError with everything that names too much to compare, or too little."""
    mistakes = []
    if scenarios and folders:
        reason = "runs a campaign of its own, so there is no folder to name"
        mistakes.append(Mistake("--scenarios", reason, f"leave out it or {folders[0]}"))
    if scenarios and not against:
        reason = "compares two builds, and the second is missing"
        mistakes.append(Mistake("--scenarios", reason, "add --against NAME=PATH"))
    if not scenarios:
        programs = experiment_argument.own_programs()
        given = {
            "--against": against,
            "--program": programs,
            "--recipes": recipe_folders,
            "-o": output,
        }
        for option in (option for option, value in given.items() if value):
            reason = "has no meaning without --scenarios, which runs programs"
            mistakes.append(Mistake(option, reason, "omit it, or add --scenarios standard"))
        if not folders:
            reason = "is missing: there is nothing to compare"
            remedy = "name one or two folders, or use --scenarios standard"
            mistakes.append(Mistake("DIR", reason, remedy))
    if len(folders) > MAX_FOLDERS:
        reason = "follows a baseline and a campaign, and there is nothing else to compare"
        mistakes.append(Mistake(str(folders[2]), reason, "name one or two folders"))
    require_none(mistakes)


def _run_scenarios(
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
    mistakes = list[Mistake]()
    catalog = experiment_argument.catalog(tuple(recipe_folders), mistakes)
    with collected(mistakes):
        catalog = catalog.with_second_build(*against)
    require_none(mistakes)
    further = experiment_argument.source_words(recipe_folders)
    line = _builds_compared(against, catalog, further)
    compared = comparison.comparison(line, catalog)
    for skipped in compared.skipped:
        echo(f"not run: {skipped}", err=True)
    directory = output or Path(compared.loaded.experiment.name)
    run.execute(compared.loaded, catalog, directory, run.settings(jobs=jobs))
    return directory


def _builds_compared(
    against: tuple[str, str], catalog: Catalog, further: Sequence[str]
) -> CommandLine:
    """Return the comparison of both builds in the first role that the program has."""
    program, _ = against
    roles = catalog[program].roles
    chosen: dict[str, str | None] = {"network": ",".join(NETWORKS), "size": SIZE}
    client, chosen["server"] = CLIENT, SERVER
    if "client" in roles:
        client = program
    elif "server" in roles:
        chosen["server"] = program
    elif "proxy" in roles:
        chosen["proxy"] = program
    else:
        raise ConfigError([Mistake("--against", f"{program} has no role", "complete its recipe")])
    return CommandLine(
        [client],
        chosen,
        knobs=(),
        replicates=REPLICATES,
        seed="1",
        further=further,
        clock="virtual",
        asked_clock="virtual",
        against=against,
    )
