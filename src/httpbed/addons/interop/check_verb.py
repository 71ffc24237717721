"""``httpbed toolbox check``: run programs as their recipes say that they can."""

from __future__ import annotations

import asyncio
import json
import shlex
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from httpbed.addons.interop import interop_session as checking
from httpbed.addons.interop import pairings
from httpbed.addons.interop.interop_session import CheckedProgram, InteropResult, PairingResult
from httpbed.addons.interop.pairings import Pairing
from httpbed.base.errors import HostError, collected, require_none
from httpbed.base.units import format_count
from httpbed.bed.machine import scratch
from httpbed.bed.toolbox.root_filesystem import IMPORT
from httpbed.cli import options, output_file
from httpbed.cli.echo import aligned, echo, say
from httpbed.cli.experiment_argument import catalog, recipe_words, recipes_option
from httpbed.cli.options import WholeNumber, json_option
from httpbed.cli.verb import verb
from httpbed.programs import catalog as catalogs
from httpbed.programs.catalog import Catalog

OK, FAILED, NOT_RUN = "ok", "FAILED", "."


@verb("check")
@click.argument(
    "names", nargs=-1, metavar="[IMPLEMENTATION]...", shell_complete=options.complete_programs
)
@click.option(
    "--full",
    is_flag=True,
    help="Every client with every server in every version, direct and through every proxy; default:"
    " each declared ability once.",
)
@click.option(
    "--jobs", type=WholeNumber(1, 64), default=1, show_default=True, help="Trials side by side."
)
@options.new_folder_option("Keep every trial's files, to see why one failed.")
@recipes_option
@json_option
@click.pass_context
def command(
    context: click.Context,
    *,
    names: tuple[str, ...],
    full: bool,
    jobs: int,
    output: Path | None,
    recipe_folders: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Run installed programs in every role and HTTP version that their recipes declare.

    Use it after writing a recipe, with your own build (--program), and after an upgrade. Do so
    before a campaign: a recipe that declares too much costs you its trials.

    Each program reports its version, and downloads 1 kB and 1 MB, compared by digest, with the most
    versatile installed counterpart. It uploads 1 MB by each method that both have, and fetches
    files in parallel, over several connections and in rounds if both can. Each client must refuse
    an untrusted certificate, or else report a missing file. With names, only combinations with
    these programs run. httpbed toolbox build installs missing programs.

    Exit codes: 0 all passed; 1 one failed, or a declared ability has no installed counterpart; 2
    usage, or your own program cannot be run; 3 nothing is installed.
    """
    mistakes = output_file.new_folder_mistakes("-o", output)
    with collected(mistakes):
        known = catalog(recipe_folders, mistakes)
        catalogs.require(known, names)
    require_none(mistakes)
    catalogs.require_user_programs(known[name] for name in names)
    pairings.require_downloads(known[name] for name in names)
    found, absent = checking.here(known)
    chosen = pairings.every(found) if full else pairings.covering(found)
    wanted = [pairing for pairing in chosen if not names or pairing.members() & set(names)]
    absent = {name: why for name, why in absent.items() if not names or name in names}
    if not wanted:
        reasons = "; ".join(f"{name}: {why}" for name, why in absent.items())
        images = [name for name in names if known[name].install.image]
        others = [name for name in names if name not in images]
        words = ["httpbed", "toolbox", "build", *others, *recipe_words(recipe_folders)]
        remedies = [IMPORT] if images else []
        remedies += [shlex.join(words)] if others or not images else []
        reason = f"nothing can be checked ({reasons or 'no counterpart is installed'})"
        raise HostError(reason, "; ".join(remedies))
    result = asyncio.run(_result(known, wanted, names, absent, jobs=jobs, output=output))
    if as_json:
        echo(json.dumps(values(result), indent=1))
    else:
        echo("\n".join(lines(result)))
    context.exit(0 if result.passed else 1)


async def _result(
    known: Catalog,
    wanted: Sequence[Pairing],
    names: Collection[str],
    absent: dict[str, str],
    *,
    jobs: int,
    output: Path | None,
) -> InteropResult:
    installed, _ = checking.here(known)
    recipes = [recipe for recipe in installed if not names or recipe.name in names]
    setup = checking.make_setup(known, installed, say=say)
    programs = await checking.programs(setup, recipes)
    with scratch.temporary("recipes") as own:
        folder = output or own
        results = await checking.run_pairings(setup, wanted, folder, jobs=jobs, tell=_report)
        tests = checking.refusal_tests(recipes, wanted)
        refusals = await checking.run_refusals(setup, tests, folder, jobs=jobs)
    unchecked = sorted(pairings.promises(recipes) - pairings.checked(wanted))
    return InteropResult(programs, results, refusals, tuple(unchecked), absent)


def _report(result: PairingResult) -> None:
    say(f"{result.pairing.title()}: {verdict(result)}")


def lines(result: InteropResult) -> Iterator[str]:
    """Yield the result line by line."""
    yield from aligned([_program(program) for program in result.programs])
    for name, reason in sorted(result.absent.items()):
        yield f"not installed: {name}, {reason}"
    for title, group in _groups(result.pairings).items():
        yield ""
        yield title
        yield from _matrix(group)
    if failures := list(_failures(result)):
        yield ""
        yield from failures
    yield ""
    yield (
        f"{_passed(result.pairings)} pairings, {_passed(result.refusals)} refusals,"
        f" {format_count(len(result.programs), 'implementation')}"
    )


def values(result: InteropResult) -> dict[str, Any]:
    """Return the result for :func:`json.dumps`."""
    return {
        "schema": 2,
        "passed": result.passed,
        "implementations": [
            {
                "name": program.recipe.name,
                "version": program.version.version,
                "roles": program.recipe.roles,
                "http_versions": program.recipe.http_versions,
                "upstream_http_versions": program.recipe.upstream_http_versions,
            }
            for program in result.programs
        ],
        "pairings": [
            {
                **asdict(pairing.pairing),
                "passed": pairing.passed,
                "downloads": list(map(asdict, pairing.downloads)),
                "uploads": list(map(asdict, pairing.uploads)),
            }
            for pairing in result.pairings
        ],
        "refusals": [{**asdict(refusal), "passed": refusal.passed} for refusal in result.refusals],
        "unchecked": list(map(asdict, result.unchecked)),
        "absent": result.absent,
    }


def verdict(result: PairingResult) -> str:
    """Return whether a pairing works, as one word."""
    return OK if result.passed else FAILED


def _passed(results: Sequence[Any]) -> str:
    return f"{sum(result.passed for result in results)} of {len(results)}"


def _program(program: CheckedProgram) -> list[str]:
    recipe = program.recipe
    upstream = f", upstream {', '.join(recipe.upstream_http_versions)}"
    versions = ", ".join(recipe.http_versions) + (upstream if "proxy" in recipe.roles else "")
    return [
        recipe.name,
        program.version.version or "unknown",
        "/".join(recipe.roles),
        f"HTTP {versions}",
    ]


def _groups(results: Iterable[PairingResult]) -> dict[str, list[PairingResult]]:
    """Group pairings by their proxies: those without a proxy first."""
    groups: dict[str, list[PairingResult]] = {}
    for result in sorted(results, key=_proxies):
        hops = ", ".join(
            f"{hop.proxy}, HTTP/{hop.upstream_http_version} upstream"
            for hop in result.pairing.proxies
        )
        groups.setdefault(f"through {hops}" if hops else "direct", []).append(result)
    return groups


def _proxies(result: PairingResult) -> list[tuple[str, str]]:
    return [(hop.proxy, hop.upstream_http_version) for hop in result.pairing.proxies]


def _matrix(results: Sequence[PairingResult]) -> Iterator[str]:
    """Yield a table of clients and servers."""
    servers = sorted({result.pairing.server for result in results})
    clients = sorted({(result.pairing.client, result.pairing.http_version) for result in results})
    cells = {
        (result.pairing.client, result.pairing.http_version, result.pairing.server): verdict(result)
        for result in results
    }
    rows = [
        [*client, *(cells.get((*client, server), NOT_RUN) for server in servers)]
        for client in clients
    ]
    yield from aligned([["client", "HTTP", *servers], *rows])


def _failures(result: InteropResult) -> Iterator[str]:
    for program in result.programs:
        yield from program.failures()
    places = defaultdict[str, list[str]](list)
    for pairing in result.pairings:
        title = pairing.pairing.title()
        for transfer in (*pairing.downloads, *pairing.uploads):
            for failure in transfer.failures:
                places[str(failure)].append(f"{title}, {transfer.title()}")
    for what, (first, *others) in places.items():  # one broken program may fail everywhere
        more = f", and {len(others)} more" if others else ""
        yield f"{first}{more}: {what}"
    for refusal in result.refusals:
        if not refusal.passed:
            instead = "; ".join(map(str, refusal.failures)) or "everything passed"
            yield f"{refusal.client} did not refuse {refusal.what}: {instead}"
    for promise in result.unchecked:
        yield f"unchecked: {promise.title()}: no counterpart is installed"
