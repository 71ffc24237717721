"""``httpbed toolbox check``: run programs as their recipes say that they can."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Sequence
from pathlib import Path

import click

from httpbed.addons.interop import interop_session as checking
from httpbed.addons.interop import interop_table, pairings
from httpbed.addons.interop.interop_session import InteropResult, PairingResult
from httpbed.addons.interop.pairings import Pairing
from httpbed.base.errors import HostError
from httpbed.bed.machine import scratch
from httpbed.cli import options, output_file
from httpbed.cli.echo import echo, say
from httpbed.cli.experiment_argument import catalog, recipes_option
from httpbed.cli.options import WholeNumber, json_option
from httpbed.cli.verb import verb
from httpbed.programs import catalog as catalogs
from httpbed.programs import install
from httpbed.programs.catalog import Catalog


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
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Keep every trial's files, to see why one failed.",
)
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
    versatile installed counterpart. Each client must refuse an untrusted certificate, or else
    report a missing file. With names, only combinations with these programs run. httpbed toolbox
    build installs missing programs.

    Exit codes: 0 all passed; 1 one failed, or a declared ability has no installed counterpart; 2
    usage, or your own program cannot be run; 3 nothing is installed.
    """
    output_file.require_new_folder("-o", output)
    known = catalog(recipe_folders)
    catalogs.require(known, names)
    install.require_user_programs(known[name] for name in names)
    found, absent = checking.here(known)
    chosen = pairings.every(found) if full else pairings.few(found)
    wanted = [one for one in chosen if not names or one.members() & set(names)]
    absent = {name: why for name, why in absent.items() if not names or name in names}
    if not wanted:
        reasons = "; ".join(f"{name}: {why}" for name, why in absent.items())
        remedy = f"httpbed toolbox build {' '.join(names)}".strip()
        reason = f"nothing can be checked ({reasons or 'no counterpart is installed'})"
        raise HostError(reason, remedy)
    result = asyncio.run(_result(known, wanted, names, absent, jobs=jobs, output=output))
    if as_json:
        echo(json.dumps(interop_table.as_json(result), indent=1))
    else:
        echo("\n".join(interop_table.lines(result)))
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
    recipes = [one for one in installed if not names or one.name in names]
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
    say(f"{result.pairing.title()}: {interop_table.verdict(result)}")
