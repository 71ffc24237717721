"""``httpbed run``: execute an experiment, or resume its campaign."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from httpbed.base.clock import Clock
from httpbed.base.errors import Mistake, collected, require_none
from httpbed.bed.machine import backend as backends
from httpbed.bed.machine.backend import Backend
from httpbed.campaign import preparation
from httpbed.campaign.addition import CAMPAIGN_ADDITIONS, executor
from httpbed.campaign.loaded_experiment import LoadedExperiment
from httpbed.campaign.settings import DesignOptions, Parallelism, RunSettings
from httpbed.cli import clock_choice, experiment_argument, options, output_file
from httpbed.cli.clock_choice import AUTO, ClockWord
from httpbed.cli.echo import command_line, say
from httpbed.cli.experiment_argument import jobs_option
from httpbed.cli.options import json_option
from httpbed.cli.verb import verb
from httpbed.programs.catalog import Catalog
from httpbed.store import attempts

if TYPE_CHECKING:  # statistics, which a run begins without
    from httpbed.results.findings import Findings
    from httpbed.results.sample import Tally


@verb("run")
@experiment_argument.file_argument
@experiment_argument.design_options(of_clock=False)
@experiment_argument.choosing_clock_option(
    get_args(ClockWord),
    "The clock of the trials; default: the experiment's own, else auto for page loads, else real."
    " auto is virtual if the machine is busy when the campaign begins.",
)
@options.campaign_option(
    "The campaign's folder; default: the experiment's name, followed by the scale,"
    " for-claims and blocks if given. An existing campaign is resumed or extended."
)
@jobs_option(
    "Trials side by side: a number, or auto for as many as do not disturb each other here; checks"
    " reject disturbed attempts, which are repeated. In virtual time, auto is one for each CPU."
    " With --cluster: on each machine."
)
@experiment_argument.trial_options
@options.with_options(
    [option for addition in CAMPAIGN_ADDITIONS.provided() for option in addition.options()]
)
@experiment_argument.recipes_option
@json_option
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    file: Path,
    design: DesignOptions,
    clock: ClockWord | None,
    output: Path | None,
    jobs: Parallelism,
    of_trials: Mapping[str, Any],
    recipe_folders: tuple[Path, ...],
    as_json: bool,
    **added: Any,
) -> None:
    """Run the experiment in FILE and print the report.

    Use it for every measurement. Ctrl-C lets the trials under way finish, a second Ctrl-C breaks
    them off. The same command resumes the campaign; finished trials are never repeated.

    More replicates, levels or groups extend an existing campaign, and a changed question, claim,
    figure or report section is taken over. A file that would run its treatments differently is
    rejected, with each key that differs.
    """

    def load(clock: Clock | None) -> tuple[LoadedExperiment, Catalog]:
        return experiment_argument.load(file, recipe_folders, replace(design, clock=clock))

    mistakes = list[Mistake]()
    with collected(mistakes):
        loaded, catalog = load(clock_choice.typed(clock))
    require_none([*mistakes, *options.campaign_place_mistakes(output)])
    directory = output or Path("-".join(_folder_words(loaded.experiment.name, design)))
    chosen = settings(**of_trials, jobs=jobs, added=added)
    if clock == AUTO or (clock is None and _is_left_to_httpbed(loaded)):
        loaded, chosen = clock_choice.by_rule(
            lambda clock: load(clock)[0], catalog, directory, chosen, is_asked=clock == AUTO
        )
    context.exit(carry_out(loaded, catalog, directory, chosen, as_json=as_json))


def _folder_words(name: str, design: DesignOptions) -> Iterator[str]:
    yield name
    if design.scale:
        yield design.scale
    if design.for_claims:
        yield "for-claims"
    if design.blocks:
        yield "blocks-{}-{}".format(*design.blocks)


def _is_left_to_httpbed(loaded: LoadedExperiment) -> bool:
    """Whether an experiment does not name its clock, and a busy machine would disturb it most."""
    return "clock" not in loaded.document and bool(loaded.browsers())


def settings(*, backend: Backend | None = None, **more: Any) -> RunSettings:
    """Return the settings of a run of this command line, by the backend of this machine or another.

    Raises:
        HostError: This machine lacks the backend.
    """
    sources = experiment_argument.program_sources()
    return RunSettings(
        backend=backends.choose(backend), command=command_line(), sources=sources, **more
    )


def carry_out(
    loaded: LoadedExperiment,
    catalog: Catalog,
    directory: Path,
    chosen: RunSettings,
    *,
    as_json: bool,
    answers_early: bool = False,
) -> int:
    """Run the unfinished trials of a campaign, print its report, and return the exit code."""
    execute(loaded, catalog, directory, chosen, answers_early=answers_early)
    return exit_code(report(directory, "json" if as_json else "text").tally)


def execute(
    loaded: LoadedExperiment,
    catalog: Catalog,
    directory: Path,
    chosen: RunSettings,
    *,
    answers_early: bool = False,
    is_kept: bool = True,
) -> None:
    """Run the unfinished trials of a campaign; ``is_kept`` is false for one that nothing resumes.

    With ``answers_early``, in virtual time, the answer of each condition follows its last trial
    (:mod:`httpbed.cli.early_answers`).
    """
    # What runs trials takes half of the time to import, and --help and mistakes need none of it.
    from httpbed.campaign import campaign_setup
    from httpbed.campaign import run as campaign_run
    from httpbed.cli import early_answers
    from httpbed.cli.progress import Reporter, RunParts

    for addition in CAMPAIGN_ADDITIONS.provided():
        addition.refuse(loaded, chosen)
    preparation.require_machine(loaded)
    experiment_argument.print_gaps(loaded, catalog, chosen.keep)
    campaign_run.require_place(loaded, directory)
    output_file.require_report(directory)
    ready = campaign_setup.prepare(loaded, catalog, chosen, say=say)
    elsewhere = executor(chosen)
    with campaign_run.opened(ready, directory, jobs=chosen.jobs, say=say) as opened:
        run, answer = replace(opened, is_kept=is_kept), None
        parts = RunParts.blocks(opened.pending_trials)
        if answers_early and early_answers.apply_to(loaded):
            pending, parts = early_answers.by_condition(opened.pending, loaded)
            run = replace(run, pending=pending)
            answer = partial(early_answers.answer, directory)
        with Reporter(len(run.pending), parts, answer=answer) as reporter:
            if elsewhere:
                elsewhere(run, loaded, chosen, reporter.report)
            else:
                run.finish(tell=reporter.report)
    for line in attempts.kept_lines(directory, chosen.keep):
        say(line)


def report(directory: Path, form: str) -> Findings:
    """Print a campaign's report in one of ``options.FORMATS``, and return its findings."""
    # Statistics and plotting take seconds to import, and the trials need neither.
    from httpbed.cli.report import show
    from httpbed.report import publish
    from httpbed.results.findings import find
    from httpbed.store import query

    results = query.read(directory)
    findings = find(results)
    if failed := every_trial_failed(findings.tally):
        say(failed)
    if form == "markdown":  # which writes no HTML report
        publish.save(publish.document(results, findings), directory)
    show(results, findings, form, as_pdf=False)
    return findings


def exit_code(tally: Tally) -> int:
    """Return 1 if trials remain invalid, or if every trial failed; else 0."""
    return int(bool(every_trial_failed(tally) or tally.outcomes["invalid"]))


def every_trial_failed(tally: Tally) -> str:
    """Return a line with the commonest reason if every trial failed; else an empty text."""
    failed = tally.outcomes["failed"] + tally.outcomes["unsupported"]
    if not failed or failed != tally.outcomes.total():
        return ""
    (_, reason), _ = tally.reasons.most_common(1)[0]
    return f"every trial failed, most often because: {reason}"
