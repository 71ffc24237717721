"""``httpbed conformance``: test whether a sender's congestion control behaves as its name says."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from httpbed.addons.conformance.sender import (
    CONTROLS,
    SCALES,
    Control,
    Scale,
    Sender,
    SuiteName,
)
from httpbed.addons.conformance.sender_selection import (
    SenderOptions,
    choose,
    pairs,
    untested,
)
from httpbed.base.clock import Clock
from httpbed.base.errors import ConfigError, Mistake, collected, require_none
from httpbed.bed.machine import backend, scratch
from httpbed.campaign.settings import Parallelism, RunSettings
from httpbed.cli import experiment_argument, options
from httpbed.cli.echo import command_line, echo, say
from httpbed.cli.options import PATH, OneOf, WholeNumber, campaign_place_mistakes
from httpbed.cli.progress import Reporter, RunParts
from httpbed.cli.verb import EXIT_HOST, verb
from httpbed.experiment.roles import HttpVersion
from httpbed.programs.catalog import Catalog
from httpbed.store import campaign as campaigns

if TYPE_CHECKING:
    from httpbed.addons.conformance.conformance_session import ConformanceTest
    from httpbed.addons.conformance.judgement import ConformanceEvidence
    from httpbed.report.sections import Document


@verb("conformance")
@click.argument("implementation", required=False, shell_complete=options.complete_programs)
@click.option(
    "--campaign",
    type=PATH,
    metavar="DIR",
    help="Test every sender of this campaign that was never tested on this machine.",
)
@click.option(
    "--congestion-control",
    metavar="NAME",
    help="The congestion control to use; default: as in experiments that set none.",
)
@click.option(
    "--http-version",
    type=OneOf(get_args(HttpVersion)),
    help="Over TCP (1.1, 2) or QUIC (3); default: the program's highest version.",
)
@click.option(
    "--knob",
    "knobs",
    multiple=True,
    metavar="NAME=VALUE",
    help="Set a knob of its recipe; may be given several times.",
)
@click.option(
    "--judged-as",
    type=OneOf(CONTROLS),
    help="Judge by this algorithm's properties; default: by those of its congestion control.",
)
@click.option(
    "--suite",
    type=OneOf(get_args(SuiteName)),
    default="control",
    show_default=True,
    help="control: what the congestion control's name promises, which campaigns cite; bbr: the"
    " example cases of draft-ietf-ccwg-bbr that packets show; bcp133: the criteria of RFC 9743 for"
    " any congestion control, beside the kernel's Reno and CUBIC; envelope: delay and throughput"
    " against theirs. All but the first are best with --clock virtual.",
)
@click.option(
    "--identify",
    "is_identified",
    is_flag=True,
    help="Name the congestion control instead, from packets alone, or say that it is unknown. The"
    " clock is virtual unless you choose the other.",
)
@click.option(
    "--client", default="curl", show_default=True, metavar="NAME", help="The client's recipe."
)
@click.option(
    "--scale",
    type=OneOf(SCALES),
    default="standard",
    show_default=True,
    help="For --suite control, smoke: 5 trials; standard: the whole grid of loss and RTT, 15; full:"
    " 5 of each. The guide has the trials of the other suites.",
)
@click.option(
    "--jobs", type=WholeNumber(1, 16), default=2, show_default=True, help="Trials side by side."
)
@experiment_argument.clock_option
@options.campaign_option(
    "Keep the evidence: a campaign with every packet's times and fate, an HTML report, JSON.",
    unless="campaign",
)
@experiment_argument.recipes_option
@options.json_option
@click.pass_context
def command(
    context: click.Context,
    *,
    implementation: str | None,
    campaign: Path | None,
    congestion_control: str | None,
    http_version: HttpVersion | None,
    knobs: tuple[str, ...],
    judged_as: Control | None,
    suite: SuiteName,
    is_identified: bool,
    client: str,
    scale: Scale,
    jobs: int,
    clock: Clock | None,
    output: Path | None,
    recipe_folders: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Test whether IMPLEMENTATION sends as its congestion control's name says.

    Use it before you rely on a comparison, and in the CI of your own stack. It downloads from the
    program over several links, each for one question, and observes only packets. It judges each
    property by its tolerance; the kernel's reno, cubic and bbr pass. Campaigns cite the result.

    --campaign DIR tests what a report names as never tested, one sender after another. It runs the
    programs that the campaign ran: its recipes, its user's executables, both builds of --against.

    Exit codes: 0 every property passed (with --identify: the sender has a name); 1 some did not; 2
    usage; 3 this machine cannot, or was too busy.
    """
    from httpbed.addons.conformance.suites import SUITES  # not for --help

    clock_of_trials = clock or ("virtual" if is_identified else "real")
    options = ConformanceOptions(suite, scale, jobs, output, clock_of_trials, as_json=as_json)
    mode, excluded = f"--suite {suite}, which tests one sender", dict[str, object]()
    if is_identified:
        mode = "--identify, which names one sender from packets alone"
        excluded = {"--campaign": campaign, "--judged-as": judged_as, "--suite": suite != "control"}
        excluded |= {"--scale": scale != "standard", "--clock": clock == "real"}
    elif suite != "control":
        excluded = {"--campaign": campaign}
    reasons = {name: f"cannot go with {mode}" for name, given in excluded.items() if given}
    if not SUITES[suite].asks_by_control and judged_as and not is_identified:
        reasons["--judged-as"] = f"changes nothing: {suite} asks the same of every sender"
    mistakes = [Mistake(name, why, "leave it out") for name, why in reasons.items()]
    # Each of a campaign's senders has a folder of its own below it.
    mistakes += campaign_place_mistakes(None if campaign else output)
    if campaign is not None:
        if any((implementation, congestion_control, http_version, *knobs, judged_as)):
            remedy = "leave out IMPLEMENTATION and the options of a sender"
            mistakes.append(Mistake("--campaign", "chooses the senders", remedy))
        try:
            opened = campaigns.open_existing(campaign)
        except ConfigError as error:
            mistakes += error.mistakes
            with collected(mistakes):
                experiment_argument.catalog(recipe_folders)
            raise ConfigError(mistakes) from None
        with collected(mistakes):
            catalog = experiment_argument.catalog_of(opened, recipe_folders)
        require_none(mistakes)
        options = replace(options, clock=clock or opened.manifest.get("clock", "real"))
        context.exit(_test_campaign(opened.manifest, client, catalog, options))
    if implementation is None:
        remedy = "name one, or a campaign with --campaign DIR"
        mistakes.append(Mistake("IMPLEMENTATION", "is missing", remedy))
    chosen_knobs = dict[str, str]()
    with collected(mistakes):
        chosen_knobs = pairs(knobs)
    with collected(mistakes):
        catalog = experiment_argument.catalog(recipe_folders, mistakes)
        described = SenderOptions(
            implementation=implementation or "",
            control=congestion_control,
            http_version=http_version,
            knobs=chosen_knobs,
            judged_as=judged_as,
            # Any control serves where nothing depends on it.
            unknown_as=None if SUITES[suite].asks_by_control and not is_identified else "reno",
            client=client,
        )
        if implementation is not None:
            sender = choose(catalog, described)
    require_none(dict.fromkeys(mistakes))
    test = _identify if is_identified else _test_one
    code, values = test(sender, catalog, options)
    if as_json:
        echo(json.dumps(values, indent=1))
    context.exit(code)


@dataclass(frozen=True)
class ConformanceOptions:
    """How a sender is tested."""

    suite: SuiteName
    scale: Scale
    jobs: int
    output: Path | None
    """Folder of the evidence; None keeps none."""
    clock: Clock
    as_json: bool


def _test_campaign(
    manifest: Mapping[str, Any], client: str, catalog: Catalog, options: ConformanceOptions
) -> int:
    """Test the senders of a campaign that were never tested; return the code of the worst."""
    lacking = untested(manifest, client)
    if not lacking:
        say(
            "nothing to test: each sender of this campaign has been tested on this machine, or is"
            " a client that uploads or an end of a tunnel"
        )
    senders = [*_testable(lacking, catalog)]
    codes, found = list[int](), list[Mapping[str, Any]]()
    for number, sender in enumerate(senders, start=1):
        part = str(number) if len(senders) > 1 else ""
        output = options.output and options.output / part
        code, values = _test_one(sender, catalog, replace(options, output=output))
        codes.append(code)
        found.append(values)
    if options.as_json:
        echo(json.dumps({"schema": 1, "tests": found}, indent=1))
    return 1 if 1 in codes else max(codes, default=0)


def _testable(lacking: list[SenderOptions], catalog: Catalog) -> Iterator[Sender]:
    """Yield the senders that can be tested without a further option; say which cannot, and why."""
    for described in lacking:
        try:
            yield choose(catalog, described)
        except ConfigError as error:
            for mistake in error.mistakes:
                say(f"{described.implementation} is not tested: {mistake}")


def _test_one(
    sender: Sender, catalog: Catalog, options: ConformanceOptions
) -> tuple[int, Mapping[str, Any]]:
    """Test a sender; return its record, and 1 if it failed, 3 if the machine hindered it, or 0."""
    # Statistics and plotting take seconds to import; mistakes are reported without them.
    from httpbed.addons.conformance import conformance_report, conformance_session

    test = conformance_session.prepare(sender, catalog, options.scale, options.clock, options.suite)
    evidence = _evidence(test, options)
    judgement = conformance_session.judge(test, evidence, options.scale, options.suite)
    is_hindered = not judgement.passed and not judgement.failed and judgement.hindered
    # A result from a machine that was too busy does not replace an earlier one.
    record = None if is_hindered else conformance_session.keep(judgement)
    document = conformance_report.document(judgement, draws=options.output is not None)
    values = judgement.as_json()
    _show(document, evidence, values, options, record)
    return EXIT_HOST if is_hindered else int(not judgement.passed), values


def _identify(
    sender: Sender, catalog: Catalog, options: ConformanceOptions
) -> tuple[int, Mapping[str, Any]]:
    """Name a sender's congestion control; the code is 0, 1 if unknown, 3 if it was hindered."""
    from httpbed.addons.conformance import conformance_session, identification_report
    from httpbed.addons.conformance.identification import UNKNOWN

    test = conformance_session.prepare_identification(sender, catalog, options.clock)
    evidence = _evidence(test, options)
    identification = conformance_session.name(test, evidence)
    document = identification_report.document(identification, draws=options.output is not None)
    values = identification.as_json()
    _show(document, evidence, values, options)
    if identification.naming.name != UNKNOWN:
        return 0, values
    return EXIT_HOST if evidence.invalid else 1, values


def _evidence(test: ConformanceTest, options: ConformanceOptions) -> ConformanceEvidence:
    """Run a test in the folder of its evidence, or in one that is removed again."""
    from httpbed.addons.conformance import conformance_session

    settings = RunSettings(
        backend=backend.choose(None),
        command=command_line(),
        log=True,
        jobs=Parallelism(options.jobs),
    )
    trials, expected = test.loaded.trials, frozenset({"timed out"})
    with (
        ExitStack() as stack,
        Reporter(len(trials), RunParts.blocks(trials), expected=expected) as reporter,
    ):
        temporary = scratch.temporary("conformance")
        folder = options.output or stack.enter_context(temporary) / "campaign"
        return conformance_session.run(
            test,
            folder,
            settings,
            tell=reporter.report,
            say=say,
            is_kept=options.output is not None,
        )


def _show(
    document: Document,
    evidence: ConformanceEvidence,
    values: Mapping[str, Any],
    options: ConformanceOptions,
    record: Path | None = None,
) -> None:
    """Write what a test found beside its evidence, and print it unless JSON is asked for."""
    from httpbed.addons.conformance import certificate
    from httpbed.report import terminal, terminal_report

    page = options.output and certificate.write(document, evidence, options.output, values)
    if options.as_json:
        return
    out = terminal.console()
    terminal_report.show(document, page, out)
    if record is not None:
        terminal.show_facts([("record", str(record))], out)
