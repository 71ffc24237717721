"""``httpbed explain``: why trials took as long as they did."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from httpbed.base.clock import Clock
from httpbed.base.errors import ConfigError, Mistake, collected, require_none
from httpbed.campaign.settings import Parallelism
from httpbed.cli import experiment_argument
from httpbed.cli.options import (
    CAMPAIGN,
    FORMATS,
    PATH,
    CheckedPath,
    OneOf,
    campaign_option,
    campaign_place_mistakes,
    chosen_format,
    format_mistakes,
    json_option,
)
from httpbed.cli.verb import verb
from httpbed.store.campaign import open_existing

if TYPE_CHECKING:
    from httpbed.addons.explain.foreign.one_sided import Side


def _open(path: Path, context: click.Context) -> None:
    """Read a campaign's design; a file is read when the verb runs."""
    _require_there(path)
    if not path.is_file():
        require_none(CAMPAIGN.mistakes(path, context))


def _require_there(path: Path) -> None:
    """Refuse a file that does not exist; of a folder, the campaign's own mistake says more."""
    if path.suffix and not os.path.lexists(path):
        remedy = "name a campaign's folder, or a file that others recorded"
        raise ConfigError([Mistake(str(path), "does not exist", remedy)])


@verb("explain")
@click.argument("directory", metavar="DIR|FILE", type=CheckedPath(_open))
@click.option(
    "--treatment",
    "treatments",
    multiple=True,
    metavar="FACTOR=LEVEL",
    help="Only treatments with this level; may be given for several factors, and several levels.",
)
@click.option(
    "--trial",
    metavar="BLOCK/TRIAL",
    help="This trial instead of the typical one of each treatment: its folder below trials/.",
)
@campaign_option(
    "The folder for trials that run again; default: DIR-explained beside the campaign.",
    unless="no_run",
)
@click.option(
    "--no-run",
    is_flag=True,
    help="Run nothing: explain what kept its packets, and name the rest.",
)
@click.option(
    "--try",
    "tries",
    is_flag=True,
    help="Lift the limit that cost most, run the same trial again, and go on with the next limit:"
    " says what each lifting saves, and whether its cause went away.",
)
@click.option(
    "--why",
    nargs=2,
    metavar="A B",
    help="Explain the difference of two treatments, each as FACTOR=LEVEL,FACTOR=LEVEL; then lift in"
    " the slower one what it spends more on, until it is as fast as the other.",
)
@click.option(
    "--connection",
    metavar="NUMBER|END",
    help="Of a FILE: this connection or request instead of the largest, by its number in the list,"
    " an address with its port, or a part of the URL.",
)
@click.option(
    "--side",
    type=OneOf(("client", "server")),
    metavar="[client|server]",
    help="Of a capture: where it was made.  [default: inferred from its round trips]",
)
@click.option(
    "--experiment",
    type=PATH,
    metavar="FILE",
    help="Of a FILE: write the experiment that would reproduce it here.",
)
@click.option(
    "--files",
    type=PATH,
    metavar="DIR",
    default=Path(),
    help="The folder to which file names in the experiment are relative; default: this one.",
)
@experiment_argument.clock_option
@experiment_argument.jobs_option("Trials side by side, as for httpbed run.")
@click.option(
    "--format",
    "form",
    type=OneOf(FORMATS),
    metavar="[text|markdown|json]",
    help="What is printed. markdown: for an issue tracker.  [default: text]",
)
@experiment_argument.recipes_option
@json_option
def command(
    *,
    directory: Path,
    treatments: tuple[str, ...],
    trial: str | None,
    output: Path | None,
    no_run: bool,
    tries: bool,
    why: tuple[str, str] | None,
    connection: str | None,
    side: Side | None,
    experiment: Path | None,
    files: Path,
    clock: Clock | None,
    jobs: Parallelism,
    form: str | None,
    recipe_folders: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Say why the trials of the campaign in DIR took as long as they did.

    Use it when a treatment is slower than expected, or than another. It divides the time of each
    treatment's typical trial, to the nanosecond, into the causes that it was spent on: handshakes,
    the server, windows, congestion control, losses, the link. Of a fixed window it names the
    program and the knob.

    Use --try to prove a cause. The trial runs again with its limit lifted, for example with a
    larger window or without loss, and otherwise with the same draws. Use --why to see what makes
    one treatment slower than another. Both run in virtual time where they can, because there
    nothing else differs; --clock real keeps real time.

    It reads packets. Trials that ran with --keep packets have them; others run again, with the same
    losses and draws, in DIR-explained.

    In place of a campaign it takes what others recorded: a capture (pcapng, pcap), a qlog (.qlog,
    .sqlog), a netlog of Chrome, or a HAR file. What such a file does not show is unknown.
    """
    mistakes = [*format_mistakes(form, as_json=as_json)]
    if directory.is_file():
        mistakes += _options_of_campaigns(click.get_current_context())
        from httpbed.addons.explain.foreign import foreign_body

        mistakes += _experiment_mistakes(experiment)
        with collected(mistakes):
            catalog = experiment_argument.catalog(recipe_folders)
            found = foreign_body.read(directory, catalog, connection, side)
        require_none(mistakes)
        foreign_body.show(directory, found, experiment, chosen_format(form, as_json=as_json))
        return
    of_files = {"--connection": connection, "--side": side, "--experiment": experiment}
    reason = f"is an option for files, and {directory} is a campaign"
    mistakes += [
        Mistake(name, reason, "leave it out")
        for name, value in of_files.items()
        if value is not None
    ]
    contradictions = {
        ("--try", "--no-run", "it runs trials"): no_run and tries,
        ("--why", "--trial", "it names two treatments"): why and trial,
        ("--why", "--treatment", "it names two treatments"): why and treatments,
    }
    mistakes += [
        Mistake(one, f"contradicts {other}: {why_not}", "give one of them")
        for (one, other, why_not), both in contradictions.items()
        if both
    ]
    from httpbed.addons.explain import explain_body
    from httpbed.addons.explain.again import Again, folder_of

    with collected(mistakes):
        _require_there(directory)
        campaign = open_existing(directory)
        with collected(mistakes):
            catalog = experiment_argument.catalog_of(campaign, recipe_folders)
        results, rows = explain_body.select(directory, treatments, trial, why or None)
    mistakes += campaign_place_mistakes(None if no_run else output)
    require_none(mistakes)
    place = output or folder_of(directory)
    how = Again(catalog, place, files, jobs, clock, is_own_place=output is None)
    explain_body.run(
        results,
        rows,
        None if no_run else how,
        catalog,
        is_pair=bool(why),
        tries=tries,
        form=chosen_format(form, as_json=as_json),
    )


def _experiment_mistakes(file: Path | None) -> Iterator[Mistake]:
    """Yield why an experiment cannot be written; nothing without a file."""
    if file is None:
        return
    if os.path.lexists(file):
        yield Mistake("--experiment", f"{file} exists", "choose a name that is free")
    elif not file.parent.is_dir():
        yield Mistake("--experiment", f"the folder of {file} does not exist", "create it first")


OF_CAMPAIGNS = ("treatments", "trial", "output", "no_run", "tries", "why", "files", "clock", "jobs")


def _options_of_campaigns(context: click.Context) -> Iterator[Mistake]:
    """Yield a mistake for each given option that a file has no use for."""
    for parameter in context.command.params:
        is_given = context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
        if parameter.name in OF_CAMPAIGNS and is_given:
            reason = "is an option for campaigns, and this is a file"
            yield Mistake(parameter.opts[-1], reason, "leave it out")
