"""Load an experiment: its design, and all mistakes of the file and of its recipes at once.

What this machine and the programs cannot do for it is refused here, too.

Nothing is built here; ``campaign_setup`` builds what the trials need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from pathlib import Path
from typing import Any, get_args

from httpbed.base.errors import ConfigError, HostError, Mistake, collected, require_none
from httpbed.base.units import format_count
from httpbed.bed.network.link_file import LinkFiles
from httpbed.campaign.addition import CAMPAIGN_ADDITIONS
from httpbed.campaign.loaded_experiment import LoadedExperiment, NeededTrials, first_trials
from httpbed.campaign.settings import DesignOptions
from httpbed.experiment import factorial_mistakes, parser
from httpbed.experiment.design import design
from httpbed.experiment.document import SCENARIO_PARTS, fill, level_values, words
from httpbed.experiment.experiment import Experiment, Replicates, replicates_until
from httpbed.experiment.factorial import ScaleName
from httpbed.experiment.kept import ProgramRecord
from httpbed.experiment.parser import ParsedExperiment
from httpbed.experiment.roles import ClientRole, Hop, ProxyRole, Role, ServerRole
from httpbed.experiment.scenario import StatedHandover
from httpbed.experiment.trial import Trial
from httpbed.programs import role_checks
from httpbed.programs.catalog import Catalog
from httpbed.programs.part import RoleName


def load(
    text: str,
    catalog: Catalog,
    folder: Path = Path(),
    options: DesignOptions = DesignOptions(),  # noqa: B008 - it is immutable
) -> LoadedExperiment:
    """Load an experiment's text; file names in it are relative to ``folder``.

    Raises:
        ConfigError: With every mistake in it and in its files, or if it has no such scale.
    """
    parsed, files = parser.read(text), LinkFiles(folder)
    named = [
        named_files
        for addition in CAMPAIGN_ADDITIONS.provided(
            words(parsed.document) if parsed.experiment else None
        )
        if (named_files := addition.files(folder))
    ]
    of_named = [mistake for one in named for mistake in one.mistakes(parsed)]
    roles = _role_mistakes(parsed, catalog)
    idle = _handover_without_effect(parsed.document)
    mistakes = tuple(
        dict.fromkeys((*parsed.mistakes, *files.mistakes(parsed), *of_named, *roles, *idle))
    )
    if mistakes or parsed.experiment is None:
        raise ConfigError(mistakes)
    whole = _with_replicates(parsed.experiment, options.replicates).with_clock(options.clock)
    needed, of_options = None, [*_contradiction(options)]
    with collected(of_options):
        experiment = _at(whole, options.scale)
        needed = _needed(whole, experiment) if options.for_claims else None
    require_none(of_options)
    if needed:
        experiment = needed.reduced(experiment)

    def completed(document: dict[str, Any]) -> dict[str, Any]:
        return reduce(lambda table, one: one.completed(table), named, files.completed(document))

    stopping = _stopping(experiment, options)
    trials = design(experiment, parsed.document, completed, needed.blocks if needed else None)
    if options.blocks:
        trials = _of_blocks(trials, *options.blocks, stopping)
    if experiment.clock != "real":
        require_none([*_of_real_time(parsed.document, trials, catalog)])
    return LoadedExperiment(
        text,
        experiment,
        parsed.document,
        tuple(trials),
        options,
        files.found(),
        folder,
        for_claims=needed,
        stopping=stopping,
    )


def _of_real_time(
    document: Mapping[str, Any], trials: list[Trial], catalog: Catalog
) -> Iterator[Mistake]:
    """Find programs that do not run in virtual time."""
    remedy = 'use clock = "real", or leave it out'
    for trial in first_trials(trials):
        for number, group in enumerate(trial.scenario().client_groups):
            client = group.roles.client
            if client.http_version in catalog[client.implementation].real_time_only:
                roles = ("competitors", number - 1) if number else ("roles",)
                path = (*roles, "client", "implementation")
                name = f"{client.implementation} over HTTP/{client.http_version}"
                reason = f"{name} does not run in virtual time"
                yield parser.mistake_at(document, path, trial.levels, reason, remedy)
                return


def _handover_without_effect(document: Mapping[str, Any]) -> Iterator[Mistake]:
    """Find a hand-over that the core can read, and that no installed addon carries out."""
    if "handover" in document and not StatedHandover.is_carried_out:
        reason = "no installed addon carries this table out"
        yield Mistake("handover", reason, "install httpbed again, or remove the table")


def _needed(whole: Experiment, at_scale: Experiment) -> NeededTrials:
    for addition in CAMPAIGN_ADDITIONS.provided():
        if needed := addition.needed(whole, at_scale):
            return needed
    raise ConfigError([Mistake("--for-claims", "this httpbed judges no claims", "omit it")])


def _contradiction(options: DesignOptions) -> Iterator[Mistake]:
    if options.for_claims and options.until is not None:
        reason = "cannot go with --for-claims: claims need numbers of blocks that are fixed"
        yield Mistake("--until", reason, "give one of the two")


def _stopping(experiment: Experiment, options: DesignOptions) -> Replicates | None:
    """Return the rule by which treatments stop; None if their number of blocks is fixed."""
    if options.until is None:
        return experiment.stopping
    return replicates_until(options.until, experiment.blocks)


def _of_blocks(
    trials: list[Trial], first: int, last: int, stopping: Replicates | None
) -> list[Trial]:
    most = max((trial.block for trial in trials), default=0)
    if last > most:
        reason = f"the design has {format_count(most, 'block')}"
        raise ConfigError([Mistake("--blocks", reason, "give more --replicates, or fewer blocks")])
    if stopping:
        reason = f"the rule {stopping.until!r} needs the results of all blocks"
        remedy = "give --replicates a number and leave the rule out"
        raise ConfigError([Mistake("--blocks", reason, remedy)])
    return [trial for trial in trials if first <= trial.block <= last]


def _with_replicates(experiment: Experiment, replicates: int | None) -> Experiment:
    changed = experiment.with_replicates(replicates)
    if replicates and (trials := changed.trials()) > factorial_mistakes.MAX_TRIALS:
        reason = f"the design has {trials} trials; the limit is {factorial_mistakes.MAX_TRIALS}"
        raise ConfigError([Mistake("--replicates", reason, "use fewer replicates")])
    return changed


def _at(experiment: Experiment, scale: ScaleName | None) -> Experiment:
    if scale is not None and scale not in experiment.scales:
        known = ", ".join(experiment.scales)
        remedy = f"choose one of {known}" if known else f"give it a table [scales.{scale}]"
        raise ConfigError([Mistake("--scale", f"the experiment has no scale {scale!r}", remedy)])
    reduced = experiment.at_scale(scale)
    if scale and (trials := reduced.trials()) > factorial_mistakes.MAX_TRIALS:
        reason = f"this scale has {trials} trials; the limit is {factorial_mistakes.MAX_TRIALS}"
        raise ConfigError([Mistake(f"scales.{scale}.replicates", reason, "use fewer blocks")])
    return reduced


def _role_mistakes(read: ParsedExperiment, catalog: Catalog) -> Iterator[Mistake]:
    """Check the role assignment of every treatment, even if other parts have mistakes."""

    def find(levels: Mapping[str, str]) -> Iterator[Mistake]:
        values = level_values(read.document, levels)
        parts = {part: fill(read.document.get(part), values) for part in SCENARIO_PARTS}
        for mistake in role_checks.role_mistakes(catalog, parts):
            document, path = read.document, mistake.at
            yield parser.mistake_at(document, path, levels, mistake.reason, mistake.remedy)

    if not read.treatments:
        yield from factorial_mistakes.certain(parser.readable_factors(read.document), find)
    for levels in read.treatments:
        yield from find(levels)


IPV6 = Path("/proc/sys/net/ipv6/conf")
"""Missing if the kernel was built or booted without IPv6."""


def require_machine(loaded: LoadedExperiment) -> None:
    """Check that this machine has what the trials of an experiment need.

    Raises:
        HostError: The kernel does not support the IP version, or the processor has no guests.
    """
    if loaded.experiment.clock != "real":
        from httpbed.trial.addition import clock  # noqa: PLC0415 - a file is checked without it

        clock(loaded.experiment.clock).require_machine()
        return
    versions = {scenario.topology.ip_version for scenario in loaded.scenarios()}
    if "6" in versions and not IPV6.exists():
        remedy = 'boot it without ipv6.disable=1, or run with ip_version = "4"'
        raise HostError("this kernel does not support IPv6", remedy)


# Which programs of an experiment write what its trials shall keep (``--keep``).


KEEP_OPTION = "--keep"
_ROLES: Mapping[type[Role], RoleName] = {
    ClientRole: "client",
    ProxyRole: "proxy",
    ServerRole: "server",
}
Writes = Callable[[Role, Hop, bool], bool]
"""Whether a program records its end of a hop; the last argument says that it is the client's."""


def keep_notes(loaded: LoadedExperiment, catalog: Catalog, kept: frozenset[str]) -> list[str]:
    """Return which of the records to be kept will be missing or useless.

    A program that does not write a record is no mistake while another one does: a comparison of
    HTTP/2 with HTTP/3 has QUIC connections in half of its trials only.

    Raises:
        ConfigError: With each kind that no program of the experiment writes.
    """
    notes, mistakes = list[str](), list[Mistake]()
    for kind in (argument for argument in get_args(ProgramRecord) if argument in kept):
        written = dict(_written(kind, loaded, catalog))
        missing = sorted(name for name, is_written in written.items() if not is_written)
        if len(missing) == len(written):
            mistakes.append(_keep_mistake(kind, missing, catalog))
        elif missing:
            notes.append(f"{KEEP_OPTION} {kind}: not written {', '.join(missing)}")
    require_none(mistakes)
    if "keylog" in kept and "pcap" not in kept:
        notes.append(f"{KEEP_OPTION} keylog: keys without packets decrypt nothing; add pcap")
    return notes


def _written(
    kind: ProgramRecord, loaded: LoadedExperiment, catalog: Catalog
) -> Iterator[tuple[str, bool]]:
    """Yield whether each record is written, by its name: a connection's keys, a program's qlog.

    The keys of either end decrypt a connection. Behind the far end of a tunnel there is none: the
    packets are those of the client's connection with the next hop.
    """
    far_ends = {one.next_proxy for one in catalog.recipes.values()}

    def writes(role: Role, hop: Hop, is_client: bool) -> bool:
        recipe, its = catalog[role.implementation], _ROLES[type(role)]
        return recipe.writes(kind, its, hop.http_version, upstream=is_client and its == "proxy")

    for scenario in loaded.scenarios():
        roles = {name: role for name, role, _ in scenario.parts()}
        for hop in scenario.hops():
            ends = roles[hop.client], roles[hop.server]
            if kind == "qlog":
                yield from _qlogs(hop, ends, writes)
            elif ends[0].implementation not in far_ends:
                yield _keys(hop, ends, writes)


def _keys(hop: Hop, ends: tuple[Role, Role], writes: Writes) -> tuple[str, bool]:
    client, server = ends
    name = f"by either of {client.implementation} and {server.implementation}"
    is_written = writes(client, hop, True) or writes(server, hop, False)
    return f"{name} over HTTP/{hop.http_version}", is_written


def _qlogs(hop: Hop, ends: tuple[Role, Role], writes: Writes) -> Iterator[tuple[str, bool]]:
    if hop.transport != "quic":
        return
    for role, is_client in zip(ends, (True, False), strict=True):
        yield f"by {role.implementation} as a {_ROLES[type(role)]}", writes(role, hop, is_client)


def _keep_mistake(kind: ProgramRecord, missing: list[str], catalog: Catalog) -> Mistake:
    if not missing:
        reason = f"{kind} is about QUIC, and no trial has a connection over it"
        return Mistake(KEEP_OPTION, reason, f"omit {kind}, or add HTTP/3")
    recipes = catalog.recipes.values()
    able = sorted(
        recipe.name
        for recipe in recipes
        if any(kind in recipe.run_in(r).keep for r in recipe.roles)
    )
    reason = f"{kind} is not written {', '.join(missing)}"
    return Mistake(
        KEEP_OPTION, reason, f"omit it, or use a program that writes it: {', '.join(able)}"
    )
