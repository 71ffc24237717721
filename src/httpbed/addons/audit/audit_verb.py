"""``httpbed doctor audit``: do trials side by side give the numbers of trials one at a time?"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from httpbed.base.errors import ConfigError, Mistake, collected, require_none
from httpbed.bed.machine import backend as backends
from httpbed.bed.machine import scratch
from httpbed.bed.machine.backend import Backend
from httpbed.campaign import preparation
from httpbed.campaign.settings import DesignOptions, Parallelism, RunSettings
from httpbed.cli import experiment_argument, options, output_file
from httpbed.cli.echo import command_line, echo, say
from httpbed.cli.experiment_argument import AUTO, jobs_option
from httpbed.cli.options import json_option
from httpbed.cli.verb import verb
from httpbed.experiment.factorial import ScaleName


@verb("audit")
@click.argument("file", type=experiment_argument.EXPERIMENT, required=False)
@experiment_argument.scale_option
@jobs_option("Trials side by side: a number, or auto.")
@options.new_folder_option("Keep the three runs as campaigns in this new folder.")
@options.link_backend_option
@experiment_argument.recipes_option
@json_option
@click.pass_context
def command(
    context: click.Context,
    *,
    file: Path | None,
    scale: ScaleName | None,
    jobs: Parallelism,
    output: Path | None,
    backend: Backend | None,
    recipe_folders: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Test whether trials side by side give the numbers of trials one at a time.

    Use it before you rely on --jobs, once on each machine, or with the FILE of your experiment. It
    runs the same trials three times: side by side, one at a time, and side by side again. It
    compares each treatment's values, both runs side by side with each other, and the verdicts on
    claims. Without FILE it runs 70 downloads three times, in about three minutes on two cores; one
    of its claims is a difference that it must find.

    Exit codes: 0 side by side is as good as one at a time; 1 it is not, or nothing is settled; 2
    usage; 3 this machine cannot.
    """
    mistakes = list[Mistake]()
    if scale and file is None:
        reason = "the audit's own experiment has no scales"
        mistakes.append(Mistake("--scale", reason, "name a FILE that has them"))
    mistakes += output_file.new_folder_mistakes("-o", output)
    # Statistics take a second to import, and --help needs none.
    from httpbed.addons.audit import audit_session
    from httpbed.cli.progress import Reporter
    from httpbed.report import terminal

    with collected(mistakes):
        if file is None:
            catalog = experiment_argument.catalog(recipe_folders)
            loaded = preparation.load(audit_session.text(), catalog)
        else:
            design = DesignOptions(scale=scale)
            loaded, catalog = experiment_argument.load(file, recipe_folders, design)
        if loaded.experiment.clock == "virtual":
            reason = "cannot be audited: in virtual time trials do not disturb each other"
            raise ConfigError([Mistake("clock", reason, "audit an experiment with the real clock")])
    require_none(mistakes)
    options = RunSettings(backend=backends.choose(backend), command=command_line())
    preparation.require_machine(loaded)
    controls = frozenset[str]() if file else audit_session.CONTROLS
    audited = audit_session.AuditedExperiment(loaded, catalog, jobs, options, controls)
    trials = len(loaded.trials) * len(audit_session.RUNS)
    with _folder(output) as folder, Reporter(trials) as reporter:
        audit = audit_session.run(audited, folder, tell=reporter.report, say=say)
    if as_json:
        echo(json.dumps(audit.as_json(), indent=1))
    else:
        word = AUTO if audited.jobs.adapts else str(audited.jobs)
        audit_session.show(audit, loaded.experiment, word, terminal.console())
    context.exit(0 if audit.passed else 1)


@contextmanager
def _folder(output: Path | None) -> Iterator[Path]:
    """Yield the new folder of the user, or a temporary one."""
    if output is None:
        with scratch.temporary("audit") as own:
            yield own
        return
    try:
        output.mkdir(parents=True)
    except OSError as error:
        reason = f"cannot be made: {error.strerror}"
        raise ConfigError([Mistake(str(output), reason, "name another folder")]) from None
    yield output
