"""``httpbed report``: a campaign's results as a table, an HTML report and figures."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from httpbed.base.errors import ConfigError, Mistake, collected, require_none, visible
from httpbed.cli import options, output_file
from httpbed.cli.echo import echo
from httpbed.cli.options import (
    CAMPAIGN,
    FORMATS,
    VIEWS,
    CheckedPath,
    OneOf,
    factor_levels,
    format_mistakes,
    json_option,
    meant_level,
)
from httpbed.cli.verb import verb
from httpbed.store import campaign, layout

if TYPE_CHECKING:  # slow, and not for --help
    from httpbed.experiment.experiment import Experiment
    from httpbed.experiment.stated_tables import StatedTable
    from httpbed.results.findings import Findings
    from httpbed.store.results import Results

_NOT_WRITABLE = {errno.EACCES, errno.EROFS}


def _base(context: click.Context, _: click.Parameter, words: Iterable[str]) -> dict[str, str]:
    """Return the levels that ``--base`` names; raise ConfigError with every mistake."""
    del context
    mistakes, base = list[Mistake](), dict[str, str]()
    for name, level in factor_levels(words, "--base", mistakes):
        if name in base:
            mistakes.append(Mistake("--base", f"{name!r} is given twice", "give it once"))
        base[name] = level
    require_none(mistakes)
    return base


def read_stated(file: Path) -> Experiment:
    """Read the experiment in a file.

    Raises:
        ConfigError: With every mistake.
    """
    from httpbed.cli import experiment_argument
    from httpbed.experiment import parser

    read = parser.read_valid(experiment_argument.text(file))
    if read.experiment is None:
        raise ConfigError(experiment_argument.placed(read.mistakes, file))
    return read.experiment


def _stated(file: Path, context: click.Context) -> None:
    del context
    read_stated(file)


STATED = CheckedPath(_stated)
"""A file whose figures or claims replace a campaign's own."""


def _of_report(output: Path, context: click.Context) -> None:
    output_file.require_report(context.params.get("directory") or Path(), output)


@verb("report")
@click.argument("directory", metavar="DIR", type=CAMPAIGN)
@json_option
@click.option(
    "--format",
    "form",
    type=OneOf(FORMATS),
    metavar="[text|markdown|json]",
    help="What is printed. text: tables for a terminal. markdown: tables for a pull request or a"
    " paper's repository, without an HTML report. json: the findings, as --json.  [default: text]",
)
@options.output_option(
    "The HTML report's file; default: report.html in DIR.", metavar="FILE", check=_of_report
)
@options.metric_option
@click.option(
    "--base",
    multiple=True,
    callback=_base,
    metavar="FACTOR=LEVEL",
    help="The treatment that the others are compared with; may be given for several factors.",
)
@click.option(
    "--experiment",
    "experiment_file",
    type=STATED,
    metavar="FILE",
    help="Draw the figures and judge the claims that FILE states instead of the campaign's own.",
)
@click.option(
    "--with",
    "beside",
    multiple=True,
    type=CAMPAIGN,
    metavar="DIR",
    help="A campaign of another experiment to which claims refer; may be given several times.",
)
@click.option(
    "--trial",
    metavar="BLOCK/TRIAL",
    help="Show one trial: its page load, or its course over time and each hand-over, with figures.",
)
@options.with_options([option for view in VIEWS.provided() for option in view.options])
def command(
    *,
    directory: Path,
    as_json: bool,
    form: str | None,
    output: Path | None,
    metric: str | None,
    base: dict[str, str],
    experiment_file: Path | None,
    beside: tuple[Path, ...],
    trial: str | None,
    **viewed: Any,
) -> None:
    """Print the results of the campaign in DIR, and write its HTML report and figures.

    Use it to see a campaign again, to see an unfinished one, or to see another metric. It reads
    only the campaign, and runs on any operating system.

    Use --experiment to draw figures and judge claims that were written after the run.

    Use --format markdown to paste the results into a pull request or a paper's repository.

    Use --trial to examine one trial: BLOCK/TRIAL is its folder below trials/.
    """
    # Statistics and plotting take a second to import, and --help needs neither.
    from httpbed.results import findings

    chosen = {
        "-o": output,
        "--metric": metric,
        "--base": base,
        "--experiment": experiment_file,
        "--with": beside,
    }
    for view in VIEWS.provided():
        if option := view.asked_by(viewed):
            without = {**chosen, "--trial": trial, "--format": form}
            _refuse(option, [name for name, value in without.items() if value], directory)
            view.show(directory, viewed, as_json=as_json)
            return
    mistakes, stated = [*_incompatible(form, chosen, trial, as_json=as_json)], None
    form = "json" if as_json else form or "text"
    with collected(mistakes):
        if trial is not None:
            output_file.require_own_figures(directory)
        elif form != "markdown":
            output_file.require_report(directory, output)
    if experiment_file is not None:
        with collected(mistakes):
            stated = read_stated(experiment_file)
    with collected(mistakes):
        results, *others = options.read_campaigns([directory, *beside])
    require_none(mistakes)
    if trial is not None:
        _one_trial(results, trial, as_json=form == "json")
        return
    factors = results.experiment.factors
    base = {
        name: meant_level(level, factors.get(name, ())) or level for name, level in base.items()
    }
    if experiment_file is not None and stated is not None:
        with collected(mistakes):
            results = _with_tables_of(results, stated, experiment_file)
    with collected(mistakes):
        found = findings.find(results, metric, base)
    require_none(mistakes)
    show(replace(results, beside=tuple(others)), found, form, output, as_pdf=True)


def _refuse(option: str, given: Iterable[str], directory: Path) -> None:
    """Raise ConfigError with every option that has no effect beside an option that shows a view."""
    reason = f"has no meaning with {option}"
    mistakes = [Mistake(name, reason, "leave one of them out") for name in given]
    if not mistakes:  # the view opens the campaign itself
        return
    with collected(mistakes):
        campaign.open_existing(directory)
    require_none(mistakes)


def require_fit(table: StatedTable, stated: Experiment, results: Results, file: Path) -> None:
    """Check that the tables of a file's experiment fit a campaign.

    Levels that the file adds to the campaign's are no mistake: they did not run.

    Raises:
        ConfigError: With everything that does not.
    """
    from httpbed.experiment import parser

    whole = results.stated_experiment
    has_grown = stated.factors.keys() == whole.factors.keys() and all(
        set(levels) <= set(stated.factors[name]) for name, levels in whole.factors.items()
    )
    design = stated if has_grown else whole
    known = replace(
        stated.stated(table), factors=design.factors, treatments=list(design.treatments())
    )
    mistakes = [
        Mistake(
            f"{file}, against {results.directory}: {parser.format_path((*at, *problem.at))}",
            problem.reason,
            problem.remedy,
        )
        for at, problem in table.problems(known)
    ]
    require_none(mistakes)


def _with_tables_of(results: Results, stated: Experiment, file: Path) -> Results:
    """Return a campaign's results with the tables of a file in place of its own.

    The file's citation and scales come with them, because claims and figures are a publication's.

    Raises:
        ConfigError: The file has none, or they do not fit the campaign's design.
    """
    from httpbed.experiment.stated_tables import STATED_TABLES

    whole = results.stated_experiment
    given = {
        table: tables
        for table in STATED_TABLES.provided()
        if (tables := getattr(stated, table.field))
    }
    if not given:
        remedy = "write [[figure]] or [[claim]] tables in it"
        raise ConfigError([Mistake(str(file), "declares no figure and no claim", remedy)])
    for table in given:
        require_fit(table, stated, results, file)
    changes: dict[str, Any] = {table.field: tables for table, tables in given.items()}
    changes["citation"] = stated.citation or whole.citation
    return replace(
        results,
        experiment=results.experiment.model_copy(update=changes),
        whole_experiment=whole.model_copy(
            update={**changes, "scales": {**whole.scales, **stated.scales}}
        ),
    )


def show(
    results: Results, findings: Findings, form: str, output: Path | None = None, *, as_pdf: bool
) -> None:
    """Print the results of a campaign and, except as Markdown, write its HTML report."""
    from httpbed.report import markdown, publish

    if form == "markdown":
        document = publish.document(results, findings, draws=False)
        echo(markdown.render(document), nl=False)
    elif form == "text":
        publish.show_and_save(results, findings, output, as_pdf=as_pdf)
    else:
        document = publish.document(results, findings)
        path = publish.save(document, results.directory, output, as_pdf=as_pdf)
        echo(json.dumps(publish.summary(results, findings, path), indent=1))


def _incompatible(
    form: str | None, chosen: Mapping[str, object], trial: str | None, *, as_json: bool
) -> Iterator[Mistake]:
    """Yield a mistake for every option that would be without effect."""
    yield from format_mistakes(form, as_json=as_json)
    given = [name for name, value in chosen.items() if value]
    if trial is not None:
        reason = "has no meaning with --trial, which shows one trial as it was"
        yield from (Mistake(name, reason, "leave one of them out") for name in given)
    if form == "markdown":
        remedies = {
            "-o": "redirect what is printed: > FILE",
            "--experiment": "leave one of them out",
        }
        reason = "--format markdown writes no HTML report and no figures"
        yield from (Mistake(name, reason, remedies[name]) for name in given if name in remedies)
    if form == "markdown" and trial is not None:
        reason = "--format markdown prints tables of all trials"
        yield Mistake("--trial", reason, "use --format text or json")


def _one_trial(results: Results, trial: str, *, as_json: bool) -> None:
    from httpbed.report import one_trial, terminal

    for line in layout.damage_lines(results.damaged, results.directory):
        echo(f"note: {line}", err=True)
    shown = one_trial.find(results, trial)
    for damage in results.artifacts.damaged:
        echo(f"note: left out: {visible(str(damage))}", err=True)
    paths: list[Path] = []
    try:
        paths = shown.save(results.directory)
    except OSError as error:
        if error.errno not in _NOT_WRITABLE:
            raise
        echo("note: no figures, because the campaign's folder is read-only; copy it", err=True)
    if as_json:
        echo(json.dumps(shown.values(paths)))
    else:
        one_trial.show(shown, paths, terminal.console())
