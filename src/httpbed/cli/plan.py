"""``httpbed plan``: show the trials and commands of a run, without running them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from httpbed.base.errors import ConfigError, Mistake
from httpbed.base.units import format_count
from httpbed.bed.machine import backend
from httpbed.bed.network.network_commands import NO_NEIGHBOUR_DISCOVERY
from httpbed.campaign import preparation
from httpbed.campaign.loaded_experiment import LoadedExperiment, NeededTrials
from httpbed.campaign.settings import DesignOptions
from httpbed.cli import clock_choice, experiment_argument, options
from httpbed.cli.echo import echo
from httpbed.cli.verb import verb
from httpbed.experiment.factorial import treatment_key
from httpbed.experiment.trial import Trial
from httpbed.programs.catalog import Catalog
from httpbed.trial import plan
from httpbed.trial.addition import CLOCKS
from httpbed.trial.attempt_plan import PlanOptions, TrialPlan

Planner = Callable[[Trial], TrialPlan]
FEW = 10
"""Trials that are listed by default, of maybe thousands."""


@verb("plan")
@experiment_argument.file_argument
@experiment_argument.design_options()
@click.option("--commands", is_flag=True, help="Print every command of each trial.")
@experiment_argument.trial_options
@click.option("--all", "show_all", is_flag=True, help=f"List all trials, not the first {FEW}.")
@click.option("--trial", "wanted", metavar="ID", help="Show only this trial.")
@experiment_argument.recipes_option
@options.json_option
def command(
    *,
    file: Path,
    design: DesignOptions,
    commands: bool,
    of_trials: Mapping[str, Any],
    show_all: bool,
    wanted: str | None,
    recipe_folders: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Show the trials of the experiment in FILE, in the order of the run.

    Use it before a long run, to see its duration by both clocks and, with --commands, the exact
    commands of a run with the same options.
    """
    loaded, catalog = experiment_argument.load(file, recipe_folders, design)
    planner = _planner(loaded, catalog, of_trials) if commands else None
    trials = [trial for trial in loaded.trials if wanted in {None, trial.id}]
    if not trials:
        raise ConfigError(
            [Mistake("--trial", f"no trial {wanted!r}", "httpbed plan --all lists them")]
        )
    if as_json:
        echo(json.dumps([_as_json(trial, planner) for trial in trials], indent=1))
        return
    shown = trials if show_all else trials[:FEW]
    for trial in shown:
        _print(trial, planner)
    if rest := len(trials) - len(shown):
        echo(f"... and {rest} more trials; --all lists them", err=True)
    lines = [*_durations(loaded, catalog), *_publication(loaded)]
    if loaded.for_claims:
        every = replace(design, for_claims=False)
        whole, _ = experiment_argument.load(file, recipe_folders, every)
        lines += _saving(loaded, loaded.for_claims, whole, catalog)
    echo("\n".join(lines), err=True)
    experiment_argument.print_notes(loaded)
    experiment_argument.print_gaps(loaded, catalog, of_trials["keep"])


def _planner(loaded: LoadedExperiment, catalog: Catalog, of_trials: Mapping[str, Any]) -> Planner:
    """Return a function that plans a trial as ``httpbed run`` does.

    Raises:
        HostError: This machine lacks the backend, or what the trials need.
    """
    options = PlanOptions(**{**of_trials, "backend": backend.choose(of_trials["backend"])})
    preparation.require_machine(loaded)
    return lambda trial: plan.plan(trial, catalog, options, loaded.files)


def _as_json(trial: Trial, planner: Planner | None) -> dict[str, object]:
    document: dict[str, object] = {"id": trial.id, **trial.model_dump(exclude={"document"})}
    if planner:
        planned = planner(trial)
        document["sysctls"] = _sysctls(planned)
        document["commands"] = [
            {**asdict(spec), "files": dict(spec.files), "environment": dict(spec.environment)}
            for spec in planned.attempt.specs()
        ]
        for addition in planned.attempt.additions:
            document |= addition.described()
    return document


def _print(trial: Trial, planner: Planner | None) -> None:
    levels = "  ".join(f"{factor}={level}" for factor, level in trial.levels.items())
    echo(f"block {trial.block:>4}  {trial.position:>3}  {trial.id}  {levels}")
    if planner is None:
        return
    planned = planner(trial)
    for place, settings in _sysctls(planned).items():
        for name, value in settings.items():
            echo(f"    [{place}] sysctl --write {name}={value}")
    for spec in planned.attempt.specs():
        for name, content in spec.files.items():
            echo(f"    write /trial/{name}\n" + _indented(content))
        for name, content in spec.shown.items():
            echo(f"    {name}, as the next program sees it\n" + _indented(content))
        echo(_indented(spec.shell(), by=4))
    for addition in planned.attempt.additions:
        for by, line in addition.lines():
            echo(_indented(line, by=by))


def _sysctls(planned: TrialPlan) -> dict[str, Mapping[str, str]]:
    """Return the sysctls of each network namespace, by host."""
    return {"emulator": NO_NEIGHBOUR_DISCOVERY, **planned.network.sysctls}


def _indented(text: str, by: int = 8) -> str:
    return "\n".join(" " * by + line for line in text.splitlines())


def _durations(loaded: LoadedExperiment, catalog: Catalog) -> Iterator[str]:
    """Write how long the design takes by each clock."""
    treatments = clock_choice.expected(loaded, catalog)
    yield f"{_counts(loaded)}; {clock_choice.real(treatments)} one after another, roughly"
    for clock in CLOCKS.provided():
        yield from clock_choice.by(clock, treatments)


def _counts(loaded: LoadedExperiment) -> str:
    blocks = Counter(treatment_key(trial.levels) for trial in loaded.trials)
    fewest, most = min(blocks.values()), max(blocks.values())
    in_blocks = (f"{fewest} to " if fewest < most else "") + format_count(most, "block")
    trials, treatments = len(loaded.trials), format_count(len(blocks), "treatment")
    counts = f"{format_count(trials, 'trial')}: {treatments} in {in_blocks}"
    return f"at most {counts}" if loaded.stopping else counts


def _publication(loaded: LoadedExperiment) -> Iterator[str]:
    """Compare a scale with the publication whose design it is."""
    scale = loaded.experiment.scales.get(loaded.options.scale) if loaded.options.scale else None
    if scale is None:
        return
    if scale.published:
        runs = scale.published.runs
        of_runs = f"{runs} runs" if runs else "runs whose number it does not say"
        yield f"the publication has {scale.published.cells} cells and {of_runs}"
    for absent in scale.absent:
        yield f"absent: {absent}"


def _saving(
    loaded: LoadedExperiment, needed: NeededTrials, whole: LoadedExperiment, catalog: Catalog
) -> Iterator[str]:
    """Say what the claims do not need, and which of them stay open."""
    design = f"scale {loaded.options.scale}" if loaded.options.scale else "the whole design"
    saved = len(whole.trials) - len(loaded.trials)
    change = f"saves {saved}" if saved >= 0 else f"adds {-saved}"
    took = clock_choice.real(clock_choice.expected(whole, catalog))
    yield f"--for-claims {change} trials: {design} has {len(whole.trials)} ({took})"
    if needed.left_out:
        yield f"note: {design} does not run all treatments of {', '.join(needed.left_out)}"
    for name, blocks in needed.short.items():
        yield f"note: {name} needs at least {blocks} blocks to be settled; the experiment has fewer"
