"""``httpbed compare``: a comparison in one line, which keeps its experiment file."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import click

from httpbed.addons.compare import comparison
from httpbed.addons.compare.options import OPTIONS, PREFIX, CommandLine, PlacedOption
from httpbed.base import untrusted_files
from httpbed.base.clock import CLOCKS, Clock
from httpbed.base.errors import ConfigError, Mistake, collected, require_none
from httpbed.campaign.loaded_experiment import LoadedExperiment
from httpbed.campaign.settings import Parallelism, RunSettings
from httpbed.cli import clock_choice, experiment_argument, options, run
from httpbed.cli.clock_choice import ClockWord
from httpbed.cli.echo import echo, say
from httpbed.cli.experiment_argument import jobs_option
from httpbed.cli.verb import verb
from httpbed.programs.catalog import Catalog
from httpbed.store import campaign_folder
from httpbed.store.layout import EXPERIMENT

BOTH = "both"
"""A word of ``--clock``."""


def _option(option: PlacedOption) -> Callable[[Any], Any]:
    default = f"  [default: {option.default}]" if option.default else ""
    return click.option(option.flag, metavar=option.example, help=option.help + default)


def _check_place(output: Path, context: click.Context) -> None:
    if not context.params.get("dry_run"):
        _require_place(output, context.params.get("clock"))


@verb("compare")
@click.argument(
    "clients", nargs=-1, required=True, metavar="CLIENT...", shell_complete=options.complete_clients
)
@options.with_options([*map(_option, OPTIONS)])
@click.option(
    "--knob",
    "knobs",
    multiple=True,
    metavar="ROLE.NAME=VALUE,...",
    help="A setting of the programs in a role, such as server.http3_stream_buffer_size=64k,1m.",
)
@click.option("--replicates", metavar="N", default="6", show_default=True, help="Number of blocks.")
@click.option(
    "--seed", metavar="N", default="1", show_default=True, help="Seed of everything random."
)
@options.output_option(
    "The campaign's folder; default: compare- and a digest of the options.",
    check=_check_place,
)
@jobs_option("Trials side by side, as for httpbed run.")
@experiment_argument.choosing_clock_option(
    (*get_args(ClockWord), BOTH),
    "The clock of the trials; default: auto, which is virtual if the machine is busy when the"
    " campaign begins. both runs all trials by both clocks, and says whether they give the same.",
)
@experiment_argument.keep_option
@experiment_argument.against_option
@click.option(
    "--fail-above",
    callback=options.share,
    metavar="SHARE",
    help="With --against: exit with 1 if a treatment of the new build is certainly worse than that"
    " of the old one by more than this share, such as 1%.",
)
@click.option(
    "--format",
    "form",
    type=options.OneOf(options.FORMATS),
    metavar="[text|markdown|json]",
    help="What is printed. markdown: for a pull request, a change before and after in milliseconds."
    "  [default: text]",
)
@click.option("--dry-run", is_flag=True, help="Print the experiment file and run nothing.")
@experiment_argument.recipes_option
@options.json_option
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    clients: tuple[str, ...],
    knobs: tuple[str, ...],
    replicates: str,
    seed: str,
    output: Path | None,
    jobs: Parallelism,
    clock: str | None,
    keep: frozenset[str],
    against: tuple[str, str] | None,
    fail_above: float | None,
    form: str | None,
    dry_run: bool,
    recipe_folders: tuple[Path, ...],
    as_json: bool,
    **values: str | None,
) -> None:
    """Compare programs, versions, congestion controls and networks in one line.

    A CLIENT is a program with an HTTP version: curl:h1, curl:h2, quiche:h3; without a version, all
    that the program has. An option may have several values, separated by commas; all of them run.
    The same line resumes an interrupted comparison.

    Use it for a quick answer, and with --against to compare two builds of your program; with
    --fail-above, a change that slows it fails a pull request. The campaign's folder contains the
    experiment file: to go further, copy it, edit it, and use httpbed run.

    Exit code 1: invalid trials remain, a treatment has no result, or the new build is worse.
    """
    mistakes = [*_contradictions(against, fail_above, form, dry_run=dry_run, as_json=as_json)]
    if clock == BOTH and (against or form == "markdown"):
        option = "--against" if against else f"--format {form}"
        reason = "cannot go with --clock both, which compares the clocks"
        mistakes.append(Mistake(option, reason, "choose one clock, or omit it"))
    words = {name.replace("_", "-"): value for name, value in values.items()}
    further = experiment_argument.source_words(recipe_folders)
    line = CommandLine(
        clients, words, knobs, replicates, seed, further, asked_clock=clock, against=against
    )
    if output:
        line = replace(line, name=_name_in(output, clock))
    with collected(mistakes):
        catalog = experiment_argument.catalog(recipe_folders, mistakes)
        if against:
            catalog = catalog.with_second_build(*against)
        compared = comparison.comparison(line, catalog)
    if output and not dry_run:
        with collected(mistakes):
            _require_place(output, clock)
    require_none(mistakes)
    loaded = compared.loaded
    for one in compared.skipped:
        echo(f"not run: {one}", err=True)
    if dry_run:
        experiment_argument.print_gaps(loaded, catalog, keep)
        echo(loaded.text, nl=False)
        return
    chosen = run.settings(jobs=jobs, keep=keep)
    directory = output or Path(loaded.experiment.name)

    def load(clock: Clock | None) -> LoadedExperiment:
        return comparison.comparison(replace(line, clock=clock or "real"), catalog).loaded

    if clock == BOTH:
        context.exit(_by_both_clocks(load, catalog, directory, chosen, as_json=as_json))
    loaded, chosen = clock_choice.loaded_by(clock, load, catalog, directory, chosen)
    run.execute(loaded, catalog, directory, chosen, answers_early=True)
    from httpbed.addons.compare import change  # statistics, which a run begins without

    shown = options.chosen_format(form, as_json=as_json)
    if against:
        code = change.report_change(directory, shown, fail_above)
    else:
        code = change.report(directory, shown)
    echo(f"experiment file: {directory / 'experiment.toml'}", err=True)
    context.exit(code)


def _by_both_clocks(
    load: Callable[[Clock | None], LoadedExperiment],
    catalog: Catalog,
    directory: Path,
    chosen: RunSettings,
    *,
    as_json: bool,
) -> int:
    """Run an experiment by both clocks, print both side by side, and return the exit code.

    Real time runs first, while the machine is as it was when the user asked.
    """
    places = {clock: directory / clock for clock in CLOCKS}
    _require_place(directory, BOTH)
    halves = [load(clock) for clock in CLOCKS]  # what either clock refuses is refused at once
    for half, (clock, place) in zip(halves, places.items(), strict=True):
        say(f"clock: {clock}, in {place}")
        run.execute(half, catalog, place, chosen)
    from httpbed.addons.compare import both_clocks
    from httpbed.report import terminal

    code = max(both_clocks.saved(place) for place in places.values())
    found = both_clocks.compared(places)
    if as_json:
        echo(json.dumps(both_clocks.values(found, places), indent=1))
        return code
    both_clocks.show(found, terminal.console())
    for line in both_clocks.sentences(found):
        echo(line)
    echo(f"reports: {' and '.join(str(one / 'report.html') for one in places.values())}", err=True)
    return code


def _name_in(directory: Path, clock: str | None) -> str | None:
    """Return the name of the comparison in a folder, which another line may extend."""
    place = directory / CLOCKS[0] if clock == BOTH else directory
    try:
        name = tomllib.loads(untrusted_files.text(place / EXPERIMENT)).get("name")
    except (OSError, ValueError):  # what is wrong with the folder is told where it is used
        return None
    return name if isinstance(name, str) and name.startswith(PREFIX) else None


def _require_place(directory: Path, clock: str | None) -> None:
    """Refuse, before the first trial, a folder in which a campaign, or one of two, cannot be."""
    if clock != BOTH:
        campaign_folder.require_usable(directory)
        return
    places = [directory / one for one in CLOCKS]
    if directory.is_dir() and any(directory.iterdir()) and not any(map(Path.exists, places)):
        reason, remedy = "holds other files than two campaigns'", "choose another folder with -o"
        raise ConfigError([Mistake(str(directory), reason, remedy)])
    for place in places:
        campaign_folder.require_usable(place)


def _contradictions(
    against: object, fail_above: float | None, form: str | None, *, dry_run: bool, as_json: bool
) -> Iterator[Mistake]:
    """Yield a mistake for every option that would be without effect."""
    yield from options.format_mistakes(form, as_json=as_json)
    given = {"--json": as_json, "--format": form is not None}
    for option in (option for option, is_given in given.items() if is_given and dry_run):
        reason = "has no meaning with --dry-run, which prints the experiment file"
        yield Mistake(option, reason, "leave one of them out")
    if fail_above is not None and not against:
        reason = "has no meaning without a second build"
        yield Mistake("--fail-above", reason, "name the new build with --against")
