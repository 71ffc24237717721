"""``httpbed run``: execute an experiment, or resume its campaign."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from httpbed.addons.calibration import link_certificate
from httpbed.addons.cluster.certificates import Scheduler
from httpbed.addons.cluster.cluster_option import (
    certificates_option,
    cluster_option,
    require_cluster,
    without_tls_option,
)
from httpbed.addons.conformance import sender_records as records
from httpbed.addons.live.serve_option import serve_option
from httpbed.base.clock import Clock
from httpbed.bed.machine import backend
from httpbed.bed.machine.backend import Backend
from httpbed.campaign import capability
from httpbed.campaign.parallelism import Parallelism
from httpbed.campaign.preparation import LoadedExperiment
from httpbed.cli import experiment_argument, output_file
from httpbed.cli.echo import command_line, echo, say
from httpbed.cli.jobs import jobs_option
from httpbed.cli.verb import verb
from httpbed.experiment.factorial import ScaleName
from httpbed.programs.catalog import Catalog
from httpbed.store import kept_files
from httpbed.store.layout import CLUSTER

if TYPE_CHECKING:  # statistics, which a run begins without
    from httpbed.addons.live.live_view import LiveView
    from httpbed.campaign.run import Prepared
    from httpbed.results.sample import Tally


@verb("run")
@experiment_argument.file_argument
@experiment_argument.scale_option
@experiment_argument.for_claims_option
@experiment_argument.replicates_option
@experiment_argument.until_option
@experiment_argument.clock_option
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The campaign's folder; default: the experiment's name, followed by the scale and"
    " for-claims if given. An existing campaign is resumed or extended.",
)
@jobs_option(
    "Trials side by side: a number, or auto for as many as do not disturb each other here; checks"
    " reject disturbed attempts, which are repeated. In virtual time, auto is one for each CPU."
    " With --cluster: on each machine."
)
@cluster_option
@certificates_option
@without_tls_option
@serve_option
@experiment_argument.keep_option
@click.option(
    "--strict",
    is_flag=True,
    help="Reject links that this machine's certificate does not cover; see httpbed calibrate.",
)
@experiment_argument.link_backend_option
@experiment_argument.recipes_option
@experiment_argument.json_option
@click.pass_context
def command(
    context: click.Context,
    *,
    file: Path,
    scale: ScaleName | None,
    for_claims: bool,
    replicates: int | None,
    until: str | None,
    clock: Clock | None,
    output: Path | None,
    jobs: Parallelism,
    cluster: str | None,
    certificates: Path | None,
    without_tls: bool,
    port: int | None,
    keep: frozenset[str],
    strict: bool,
    link_backend: str | None,
    recipe_folders: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Run the experiment in FILE and print the report.

    Use it for every measurement. Ctrl-C lets the trials under way finish, a second Ctrl-C breaks
    them off. The same command resumes the campaign; finished trials are never repeated.

    More replicates, levels or groups extend an existing campaign, and a changed question, claim,
    figure or report section is taken over. A file that would run its treatments differently is
    rejected, with each key that differs.
    """
    loaded, catalog = experiment_argument.load(
        file,
        recipe_folders,
        scale,
        for_claims=for_claims,
        replicates=replicates,
        until=until,
        clock=clock,
    )
    scheduler = require_cluster(loaded.experiment.clock, cluster, certificates, without_tls)
    words = [loaded.experiment.name, scale, "for-claims" if for_claims else None]
    directory = output or Path("-".join(filter(None, words)))
    options = RunFlags(jobs, keep, backend.choose(link_backend), scheduler, strict, port)
    capability.require(loaded, options.backend)
    experiment_argument.print_gaps(loaded, catalog, keep)
    if strict and not cluster:  # else the workers' certificates count
        link_certificate.require(link_certificate.standing(loaded, options.backend))
    context.exit(carry_out(loaded, catalog, directory, options, as_json=as_json))


@dataclass(frozen=True)
class RunFlags:
    """The options of a run."""

    jobs: Parallelism
    """Trials side by side."""
    keep: frozenset[str]
    """The kinds of :data:`~httpbed.experiment.kept.KINDS` that trials keep."""
    backend: Backend
    """How packets cross the link."""
    cluster: Scheduler | None = None
    """The scheduler of a cluster; None: this machine runs the trials."""
    strict: bool = False
    """Whether a certificate has to cover the links."""
    port: int | None = None
    """The port of the live page; 0: a free one; None: no page."""


def carry_out(
    loaded: LoadedExperiment,
    catalog: Catalog,
    directory: Path,
    options: RunFlags,
    *,
    as_json: bool,
) -> int:
    """Run the unfinished trials of a campaign, print its report, and return the exit code."""
    # What runs trials takes half of the time to import, and --help and mistakes need none of it.
    from httpbed.addons.conformance import senders  # noqa: PLC0415
    from httpbed.addons.live.live_view import LiveView  # noqa: PLC0415
    from httpbed.campaign import run as campaign_run  # noqa: PLC0415

    run_options = campaign_run.RunOptions(
        backend=options.backend, command=command_line(), keep=options.keep
    )
    campaign_run.require_place(loaded, directory)
    output_file.require_report(directory)
    ready = campaign_run.prepare(loaded, catalog, run_options, say=say)
    ready.manifest["scale"] = loaded.scale
    ready.manifest["for_claims"] = loaded.for_claims is not None
    ready.manifest["replicates"] = loaded.replicates
    ready.manifest["until"] = loaded.stopping.until if loaded.stopping else None
    ready.manifest |= experiment_argument.program_sources()
    _note_machine(ready.manifest, loaded, options)
    ready.manifest["senders"] = senders.standings(loaded.scenarios(), catalog, ready.manifest)
    with LiveView(options.port) as view:
        _run_trials(ready, directory, options, view)
        for line in kept_files.lines(directory, options.keep):
            say(line)
        return _report(directory, as_json=as_json)


def _run_trials(ready: Prepared, directory: Path, options: RunFlags, view: LiveView) -> None:
    from httpbed.campaign import run as campaign_run  # noqa: PLC0415 - as above
    from httpbed.cli.progress import Reporter  # noqa: PLC0415

    if options.cluster:
        from httpbed.addons.cluster import cluster_run  # noqa: PLC0415

    with (
        campaign_run.opened(ready, directory, jobs=options.jobs, say=say) as run,
        Reporter(len(run.pending), run.pending_per_block()) as reporter,
    ):
        if run.pending:
            view.start(directory, reporter.show_status if reporter.is_live else None)
        if options.cluster:
            cluster_run.finish(run, ready.loaded, options, options.cluster, tell=reporter.report)
        else:
            run.finish(tell=reporter.report)


def _note_machine(manifest: dict[str, Any], loaded: LoadedExperiment, options: RunFlags) -> None:
    """Cite this machine's link certificate; or say that the machines of a cluster run the trials.

    Those have certificates of their own, and this machine measures nothing.
    """
    if options.cluster:
        manifest[CLUSTER] = True
        del manifest["host"]
        return
    standing = link_certificate.standing(loaded, options.backend)
    manifest["link_certificate"] = standing.as_json()


def _report(directory: Path, *, as_json: bool) -> int:
    # Statistics and plotting take seconds to import, and the trials need neither.
    from httpbed.report import publish  # noqa: PLC0415
    from httpbed.report.summary import summary  # noqa: PLC0415
    from httpbed.results.findings import find  # noqa: PLC0415
    from httpbed.store import query  # noqa: PLC0415

    results = query.read(directory)
    results = replace(results, manifest=records.refreshed(results.manifest))
    findings = find(results)
    document = publish.document(results, findings)
    path = publish.save(document, results.directory)
    failed = every_trial_failed(findings.tally)
    if failed:
        say(failed)
    if as_json:
        echo(json.dumps(summary(results, findings, path), indent=1))
    else:
        publish.show(document, path)
    return 1 if failed or findings.tally.outcomes["invalid"] else 0


def every_trial_failed(tally: Tally) -> str:
    """Return a line with the commonest reason if every trial failed; else an empty text."""
    failed = tally.outcomes["failed"]
    if not failed or failed != tally.outcomes.total():
        return ""
    (_, reason), _ = tally.reasons.most_common(1)[0]
    return f"every trial failed, most often because: {reason}"
