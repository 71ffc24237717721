"""``httpbed conformance``: does a sender's congestion control behave as its name says?"""

from __future__ import annotations

import json
import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from httpbed.campaign.preparation import Loaded
from httpbed.cli import experiment_argument
from httpbed.cli.echo import echo
from httpbed.cli.progress import Reporter
from httpbed.experiment.roles import HttpVersion
from httpbed.experiment.sender import SCALES, Scale
from httpbed.host import backend
from httpbed.programs.catalog import Catalog
from httpbed.studies.conformance.sender import CONTROLS, Control, Sender
from httpbed.studies.conformance.sender_selection import Asked, choose, competitor, pairs

if TYPE_CHECKING:
    from httpbed.studies.conformance.judgement import Judgement

EXIT_HOST = 3
PAGE = "conformance.html"
RECORD = "conformance.json"


@click.command("conformance")
@click.argument("implementation")
@click.option(
    "--congestion-control",
    metavar="NAME",
    help="What it is told to use; by default what experiments get when they say nothing.",
)
@click.option(
    "--http-version",
    type=click.Choice(get_args(HttpVersion)),
    help="Over TCP (1.1, 2) or QUIC (3); by default the highest that it speaks.",
)
@click.option(
    "--knob",
    "knobs",
    multiple=True,
    metavar="NAME=VALUE",
    help="Set one of its recipe's knobs; may be given several times.",
)
@click.option(
    "--judged-as",
    type=click.Choice(CONTROLS),
    help="Whose properties are asked; by default what the name of its congestion control says.",
)
@click.option(
    "--against",
    multiple=True,
    metavar="NAME[:HTTP[:CONTROL]]",
    help="Let it compete with this sender on one bottleneck instead, such as nginx:1.1:bbr; may be"
    " given several times. Prints shares, Jain's index and queue delay; nothing is judged.",
)
@click.option(
    "--client", default="curl", show_default=True, metavar="NAME", help="The recipe that fetches."
)
@click.option(
    "--scale",
    type=click.Choice(SCALES),
    default="standard",
    show_default=True,
    help="smoke: 5 trials; standard: the whole grid of loss and RTT, 15; full: 5 of each.",
)
@click.option(
    "--jobs", type=click.IntRange(1, 16), default=2, show_default=True, help="Trials side by side."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Keep the evidence: a campaign with every packet's times and fate, the page, the JSON.",
)
@experiment_argument.recipes_option
@experiment_argument.json_option
@click.pass_context
def command(
    context: click.Context,
    *,
    implementation: str,
    congestion_control: str | None,
    http_version: HttpVersion | None,
    knobs: tuple[str, ...],
    judged_as: Control | None,
    against: tuple[str, ...],
    client: str,
    scale: Scale,
    jobs: int,
    output: Path | None,
    recipe_folders: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Tell whether IMPLEMENTATION sends as its congestion control's name says.

    Use it before relying on a comparison, and in the CI of a stack that you write. It downloads
    from the program over links that each answer a question, watches from the network only, and
    judges every property with its tolerance; kernel reno, cubic and bbr pass. Campaigns cite the
    record that it leaves.

    Exit codes: 0 every property passed (with --against: every trial could be read); 1 some did
    not; 2 usage; 3 this machine cannot.
    """
    asked = Asked(
        implementation=implementation,
        control=congestion_control,
        http_version=http_version,
        knobs=pairs(knobs),
        judged_as=judged_as,
        client=client,
    )
    catalog = experiment_argument.catalog(recipe_folders)
    sender = choose(catalog, asked)
    if against:
        competitors = [choose(catalog, competitor(word, client)) for word in against]
        code = _compete([sender, *competitors], catalog, scale, output, as_json=as_json)
        context.exit(code)
    with _folder(output) as folder:
        options = Options(scale, jobs, output, as_json=as_json)
        context.exit(_carry_out(sender, catalog, folder, options))


@dataclass(frozen=True)
class Options:
    """How a test is run and told."""

    scale: Scale
    jobs: int
    output: Path | None
    """Where the evidence is kept."""
    as_json: bool


def _carry_out(sender: Sender, catalog: Catalog, folder: Path, options: Options) -> int:
    # Statistics and plotting take seconds to import, and mistakes are told without them.
    from httpbed.report import conformance as report  # noqa: PLC0415
    from httpbed.report import terminal  # noqa: PLC0415
    from httpbed.studies.conformance import session  # noqa: PLC0415

    test = session.prepare(
        sender,
        catalog,
        scale=options.scale,
        backend=backend.choose(None),
        jobs=options.jobs,
        command=_command_line(),
    )
    with _reporter(test.loaded) as reporter:
        judgement = session.run(test, folder, tell=reporter.report, say=_say)
    # A machine that was too busy to tell does not replace what an earlier test found.
    record = session.keep(judgement) if _exit_code(judgement) != EXIT_HOST else None
    page = None
    if options.output is not None:
        page = options.output / PAGE
        page.write_text(report.render(judgement), encoding="utf-8")
        (options.output / RECORD).write_text(json.dumps(judgement.as_json(), indent=1) + "\n")
    if options.as_json:
        echo(json.dumps(judgement.as_json(), indent=1))
    else:
        report.show(judgement, record, page, terminal.console())
    return _exit_code(judgement)


def _exit_code(judgement: Judgement) -> int:
    """Whose fault it is that a sender did not pass: its own, or the machine's."""
    if judgement.passed:
        return 0
    return EXIT_HOST if not judgement.failed and judgement.hindered else 1


def _compete(
    senders: list[Sender], catalog: Catalog, scale: Scale, output: Path | None, *, as_json: bool
) -> int:
    from httpbed.report import competition as report  # noqa: PLC0415
    from httpbed.report import terminal  # noqa: PLC0415
    from httpbed.studies.conformance import competition_session  # noqa: PLC0415

    loaded = competition_session.prepare(senders, catalog, scale)
    with _folder(output) as folder, _reporter(loaded) as reporter:
        outcome = competition_session.run(
            senders,
            loaded,
            folder,
            catalog=catalog,
            backend=backend.choose(None),
            command=_command_line(),
            tell=reporter.report,
            say=_say,
        )
    if as_json:
        echo(json.dumps(outcome.as_json(), indent=1))
    else:
        report.show(outcome, terminal.console())
    return EXIT_HOST if outcome.invalid else int(bool(outcome.blind))


def _reporter(loaded: Loaded) -> Reporter:
    expected = frozenset({"timed out"})
    return Reporter(len(loaded.trials), loaded.trials_per_block(), expected=expected)


def _command_line() -> str:
    return shlex.join(["httpbed", *sys.argv[1:]])


@contextmanager
def _folder(output: Path | None) -> Iterator[Path]:
    """Give the folder that is asked for, or one that goes away."""
    if output is not None:
        yield output
        return
    with tempfile.TemporaryDirectory(prefix="httpbed-conformance-") as name:
        yield Path(name) / "campaign"


def _say(line: str) -> None:
    echo(line, err=True)
