"""``httpbed bisect``: the commit that made a program slower."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from httpbed.addons.gate.git_repository import repository_option
from httpbed.base import units
from httpbed.base.errors import ConfigError, Mistake, collected, require_none, visible
from httpbed.campaign.settings import DesignOptions
from httpbed.cli import experiment_argument, options, output_file
from httpbed.cli.echo import echo, say
from httpbed.cli.options import PATH, OneOf, WholeNumber, json_option
from httpbed.cli.verb import verb
from httpbed.experiment.factorial_mistakes import metric_mistakes
from httpbed.experiment.metric import METRICS

if TYPE_CHECKING:  # statistics, and not for --help
    from httpbed.addons.gate.bisection import Guilty, Limit, Measured


def _one_program(
    context: click.Context, parameter: click.Parameter, word: str | None
) -> tuple[str, str] | None:
    del context, parameter
    if word is None:
        return None
    name, _, path = word.partition("=")
    if not (name and path) or Path(path).is_absolute() or ".." in Path(path).parts:
        reason = f"{word!r} is not NAME=PATH with a path within the repository"
        raise ConfigError([Mistake("--program", reason, "such as curl=src/curl")])
    return name, path


def _a_command(context: click.Context, parameter: click.Parameter, word: str | None) -> str | None:
    del context, parameter
    if word is not None and not word.strip():
        raise ConfigError([Mistake("--build", "is empty", "name what builds the program")])
    return word


@verb("bisect")
@click.option("--good", required=True, metavar="REV", help="A revision that is fast enough.")
@click.option("--bad", required=True, metavar="REV", help="A later revision that is too slow.")
@click.option(
    "--build",
    "command",
    required=True,
    callback=_a_command,
    metavar="CMD",
    help="What builds the program, in the folder of a revision, such as 'make -j2'.",
)
@click.option(
    "--program",
    required=True,
    callback=_one_program,
    metavar="NAME=PATH",
    help="The implementation, and its executable within the repository once it is built.",
)
@click.option(
    "--scenario",
    required=True,
    type=PATH,
    metavar="FILE",
    help="The experiment file to run with each build, such as compare --dry-run writes.",
)
@repository_option
@experiment_argument.recipe_folders_option
@click.option(
    "--metric",
    type=OneOf([name for name, one in METRICS.items() if one.better != "neither"]),
    default="request_time",
    metavar="METRIC",
    help="The metric that became worse.  [default: request_time]",
)
@click.option(
    "--replicates",
    type=WholeNumber(1, 1000),
    default=1,
    show_default=True,
    metavar="N",
    help="Blocks of each build; more than one only if the scenario has random losses.",
)
@options.new_folder_option(
    "A new folder for a campaign of each build, and the ends of the builds' output."
)
@json_option
@click.pass_context
def command(
    context: click.Context,
    *,
    good: str,
    bad: str,
    command: str,
    program: tuple[str, str],
    scenario: Path,
    repository: Path,
    recipe_folders: tuple[Path, ...],
    metric: str,
    replicates: int,
    output: Path | None,
    as_json: bool,
) -> None:
    """Find the commit that made a program slower: build it, measure it, halve the distance.

    Use it when a gate or a user says that a release is slower than an earlier one. Each step builds
    one revision in a work tree of its own and runs the scenario in virtual time, where one trial is
    enough, however busy the machine. A revision that does not build, or of which the trial fails,
    is skipped. Of several treatments, the one that became worst is judged.

    httpbed bisect --good v1.2 --bad main --build make --program curl=src/curl --scenario slow.toml

    Exit code 0: found. 1: not found.
    """
    # Statistics take a second to import, which --help need not wait for.
    from httpbed.addons.gate import bisection
    from httpbed.addons.gate.bisection import BuildMeasurement

    mistakes = list[Mistake]()
    with collected(mistakes):
        commits = bisection.resolve(repository, good, bad)
    with collected(mistakes):
        require_none(output_file.new_folder_mistakes("-o", output))
    design = DesignOptions(clock="virtual", replicates=replicates)
    with collected(mistakes):
        loaded, catalog = experiment_argument.load(scenario, recipe_folders, design)
    require_none(mistakes)
    if program[0] not in loaded.implementations():
        reason = f"{scenario} does not run {program[0]}"
        known = f"it runs {', '.join(loaded.implementations())}"
        mistakes.append(Mistake("--program", reason, known))
    mistakes += metric_mistakes(metric, loaded.scenarios(), str(scenario), "--metric")
    require_none(mistakes)
    bench = BuildMeasurement(command, *program, loaded, catalog, metric)
    with tempfile.TemporaryDirectory(prefix="httpbed-bisect-") as temporary:
        places = output or Path(temporary) / "campaigns"
        try:
            with bisection.checkout(repository, Path(temporary) / "checkout") as tree:

                def measured(commit: str) -> Measured:
                    tree.change_to(commit)
                    say(f"building {tree.subject(commit)}")
                    return bench.measure(tree.folder, commit, places / commit[:12])

                ends = measured(commits[0]), measured(commits[1])
                judge = bisection.limit(*ends, metric)
                guilty = bisection.search(tree, ends, judge, measured, say)
                subject = tree.subject(guilty.measured.commit)
        except bisection.BisectionError as error:
            say(str(error))
            context.exit(1)
    values = _values(guilty, judge, subject)
    echo(json.dumps(values, indent=1) if as_json else _sentence(values))
    if output:
        say(f"campaigns: {output}")


def _values(guilty: Guilty, judge: Limit, subject: str) -> Mapping[str, Any]:
    """Return the answer for :func:`json.dumps`."""
    return {
        "schema": 1,
        "commit": guilty.measured.commit,
        "subject": subject,
        "treatment": judge.treatment,
        "metric": judge.metric,
        "before": guilty.before.values[judge.treatment],
        "after": guilty.measured.values[judge.treatment],
        "builds": guilty.steps,
        "skipped": list(guilty.skipped),
    }


def _sentence(values: Mapping[str, Any]) -> str:
    from httpbed.report.phrasing import number_format

    before, after = values["before"], values["after"]
    form = number_format(values["metric"], [before, after])
    words = f"{form.number(before)} before, {form.number(after)} {form.unit} from this commit on"
    builds = f"{units.format_count(values['builds'], 'build')} between good and bad"
    return f"{values['subject']}\n{visible(values['treatment'])}: {words} ({builds})"
