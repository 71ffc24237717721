"""Checks what recipes declare with real programs: every pairing, a small file and a larger one.

Trials run as in any campaign, but only checks of the programs count: a busy machine does not change
whether a server responds over HTTP/3.

A test that can only pass proves nothing. So each client must also refuse something: a server whose
certificate no known authority signed, or, if its recipe says that it verifies none, a response of
404 for one of two files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from httpbed.addons.interop.pairings import NOTHING, Pairing, Promise
from httpbed.base.errors import BedError
from httpbed.bed.machine import backend
from httpbed.campaign import executor, program_versions
from httpbed.campaign.program_versions import ReportedVersion
from httpbed.experiment import check
from httpbed.experiment.trial import Check, Trial
from httpbed.experiment.workload import UPLOADS_BY, Download, Method
from httpbed.experiment.workload_kinds import parse as workload_of
from httpbed.programs.catalog import Catalog
from httpbed.programs.recipe import Recipe
from httpbed.programs.role_checks import role_mistakes
from httpbed.trial import content, program_roots, tls_certificates
from httpbed.trial.attempt_plan import CampaignSetup, PlanOptions
from httpbed.trial.content import Content, ContentFile
from httpbed.trial.verdict import AttemptId

SIZES = (1000, 1_000_000)
"""Bytes of the files: the first fits into an initial window, the second does not."""
UNTRUSTED = "an untrusted certificate"
MISSING = "a missing file"
_SEED = 1
_TIME_LIMIT_S = 30.0
_SMALL_BYTES = SIZES[0]
_TWO_FILES = {"files": 2}
FURTHER: Mapping[str, Mapping[str, int]] = {
    "parallel": {"files": 4},
    "connections": {"files": 4, "connections": 2},
    "rounds": {"rounds": 2},
    "parallel rounds": {"files": 4, "rounds": 2},
}
"""A workload beyond a single file for each of these words of a recipe."""
_MISSING_NUMBER = 2
"""Number of the file that the server lacks."""
_REFUSALS = frozenset({check.ENDED_WELL.id, check.STATUS.id})
"""Checks that fail when a client refuses a server, or reports its response."""


@dataclass(frozen=True)
class Failure:
    """A check of a program that failed, or why no check was made."""

    check: str
    reason: str
    is_refusal: bool = False
    """Whether the client ended with an error, or received an error status."""

    def __str__(self) -> str:
        return f"{self.check}: {self.reason}"


@dataclass(frozen=True)
class TransferResult:
    """A download or an upload by one pairing, and what failed."""

    size: int
    failures: tuple[Failure, ...]
    method: Method = "GET"
    workload: str = ""
    """The word of :data:`FURTHER`; empty for a single file."""

    def title(self) -> str:
        """Return it in a few words."""
        several = f" ({self.workload})" if self.workload else ""
        return f"{self.method} of {self.size} bytes{several}"


@dataclass(frozen=True)
class PairingResult:
    """A pairing with its downloads, and an upload by each method that both ends have.

    Without a proxy it also has a download for each word of :data:`FURTHER` that both ends declare.
    """

    pairing: Pairing
    downloads: tuple[TransferResult, ...]
    uploads: tuple[TransferResult, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether every file arrived as it should."""
        return not any(transfer.failures for transfer in (*self.downloads, *self.uploads))


@dataclass(frozen=True)
class RefusalTest:
    """Something that a client must refuse, in a pairing that works otherwise."""

    pairing: Pairing
    what: str
    workload: Mapping[str, Any]

    def document(self) -> dict[str, Any]:
        """Return the scenario of the test."""
        return self.pairing.document(_SMALL_BYTES, further=self.workload)


@dataclass(frozen=True)
class RefusalResult:
    """A refusal test of a client, and what failed in it."""

    client: str
    what: str
    failures: tuple[Failure, ...]

    @property
    def passed(self) -> bool:
        """Whether the client refused; a dead server, for example, is no refusal."""
        return any(failure.is_refusal for failure in self.failures)


@dataclass(frozen=True)
class CheckedProgram:
    """An implementation, and the version that its program reports."""

    recipe: Recipe
    version: ReportedVersion

    @property
    def passed(self) -> bool:
        """Whether its version is known and suffices; a user's own binary may have none."""
        return not self.failures()

    def failures(self) -> list[str]:
        """Return a sentence for each reason why the program does not fit its recipe."""
        name, command = self.recipe.name, self.recipe.version
        if self.version.version is None:
            return [] if self.recipe.install.is_users_own else [self.version.absence(name)]
        lacking = command.lacking(self.version.output, self.recipe.http_versions) if command else ()
        return [f"{name} {reason}" for reason in lacking]


@dataclass(frozen=True)
class InteropResult:
    """The result of a check of recipes."""

    programs: tuple[CheckedProgram, ...]
    pairings: tuple[PairingResult, ...]
    refusals: tuple[RefusalResult, ...]
    unchecked: tuple[Promise, ...]
    """Promises of installed programs that have no installed counterpart."""
    absent: dict[str, str]
    """Implementations that are not installed, each with the reason."""

    @property
    def passed(self) -> bool:
        """Whether everything works as declared."""
        programs = all(program.passed for program in self.programs)
        pairings = all(pairing.passed for pairing in self.pairings)
        refusals = all(refusal.passed for refusal in self.refusals)
        return programs and pairings and refusals and not self.unchecked


def here(catalog: Catalog) -> tuple[list[Recipe], dict[str, str]]:
    """Return the recipes whose programs are installed, and why the others are not."""
    states = {name: program_roots.state(recipe) for name, recipe in sorted(catalog.recipes.items())}
    installed = [catalog[name] for name, (is_here, _) in states.items() if is_here]
    return installed, {name: why for name, (is_here, why) in states.items() if not is_here}


def make_setup(
    catalog: Catalog, recipes: Iterable[Recipe], *, say: Callable[[str], None]
) -> CampaignSetup:
    """Find or build all that the trials need.

    Raises:
        HostError: The tools are not available on this machine.
    """
    single = ({"kind": "download", "size": f"{size} B"} for size in SIZES)
    several = ({"kind": "download", "size": f"{SIZES[0]} B", **one} for one in FURTHER.values())
    files = [*single, *several]
    return CampaignSetup(
        catalog=catalog,
        programs=program_roots.ensure(catalog, [recipe.name for recipe in recipes], say=say),
        certificates=tls_certificates.ensure(datetime.now(UTC)),
        contents=content.ensure_all(_SEED, map(workload_of, files)),
        options=PlanOptions(backend=backend.choose(None)),
    )


async def programs(setup: CampaignSetup, recipes: Sequence[Recipe]) -> tuple[CheckedProgram, ...]:
    """Ask every program for its version."""
    versions = await program_versions.ask_versions(recipes, setup)
    return tuple(CheckedProgram(recipe, versions[recipe.name]) for recipe in recipes)


async def run_pairings(
    setup: CampaignSetup,
    pairings: Iterable[Pairing],
    folder: Path,
    *,
    jobs: int,
    tell: Callable[[PairingResult], None],
) -> tuple[PairingResult, ...]:
    """Run every pairing, ``jobs`` at a time; artifacts stay in ``folder``.

    Raises:
        HostError: This machine cannot run trials.
    """
    results: dict[int, PairingResult] = {}

    async def run(numbered: tuple[int, Pairing]) -> None:
        number, pairing = numbered
        place = folder / f"{number:04}"
        downloads = [await _transfer(setup, pairing, "GET", size, place) for size in SIZES]
        words = _further(setup.catalog, pairing)
        downloads += [
            await _transfer(setup, pairing, "GET", SIZES[0], place, workload=word) for word in words
        ]
        methods = _uploads(setup.catalog, pairing)
        uploads = [await _transfer(setup, pairing, one, SIZES[-1], place) for one in methods]
        results[number] = PairingResult(pairing, tuple(downloads), tuple(uploads))
        tell(results[number])

    await executor.side_by_side(enumerate(pairings, start=1), run, jobs=jobs)
    return tuple(results[number] for number in sorted(results))


def refusal_tests(recipes: Iterable[Recipe], pairings: Iterable[Pairing]) -> Iterator[RefusalTest]:
    """Yield what each client must refuse, in its first pairing without a proxy."""
    direct = [pairing for pairing in pairings if not pairing.proxies]
    for recipe in recipes:
        pairing = next((one for one in direct if one.client == recipe.name), None)
        if pairing is not None and recipe.verifies:
            yield RefusalTest(pairing, UNTRUSTED, {})
        elif pairing is not None and "parallel" in recipe.workloads:
            yield RefusalTest(pairing, MISSING, _TWO_FILES)


async def run_refusals(
    setup: CampaignSetup, tests: Iterable[RefusalTest], folder: Path, *, jobs: int
) -> tuple[RefusalResult, ...]:
    """Run refusal tests, ``jobs`` at a time; artifacts stay in ``folder``.

    Raises:
        HostError: This machine cannot run trials.
    """
    results: dict[str, RefusalResult] = {}
    planned = list(tests)

    async def run(test: RefusalTest) -> None:
        client, place = test.pairing.client, folder / f"refusal-{test.pairing.client}"
        place.mkdir(parents=True)
        wrong = _with_fault(setup, test, place / "certificates")
        judging = replace(setup, contents={**setup.contents, **_two_files()})
        failures = await _failures(wrong, judging, test.document(), place)
        results[client] = RefusalResult(client, test.what, tuple(failures))

    await executor.side_by_side(planned, run, jobs=jobs)
    return tuple(results[test.pairing.client] for test in planned)


def _with_fault(setup: CampaignSetup, test: RefusalTest, folder: Path) -> CampaignSetup:
    """Return the setup with the certificate or the missing file that the client must refuse."""
    if test.what == UNTRUSTED:
        other = tls_certificates.untrusted(setup.certificates, folder, datetime.now(UTC))
        return replace(setup, certificates=other)
    there = [target for target in _targets() if target.number != _MISSING_NUMBER]
    return replace(setup, contents={file.path: content.ensure(_SEED, file) for file in there})


def _two_files() -> dict[str, Content]:
    return {target.path: content.ensure(_SEED, target) for target in _targets()}


def _targets() -> tuple[ContentFile, ...]:
    values = {"kind": "download", "size": f"{_SMALL_BYTES} B", **_TWO_FILES}
    return content.targets(Download.model_validate(values))


def _uploads(catalog: Catalog, pairing: Pairing) -> list[Method]:
    """Return the methods by which a pairing can upload: those of both ends, without a proxy."""
    common = set(catalog[pairing.client].workloads) & set(catalog[pairing.server].workloads)
    return [one for one, need in UPLOADS_BY.items() if need in common and not pairing.proxies]


def _further(catalog: Catalog, pairing: Pairing) -> list[str]:
    """Return the words of :data:`FURTHER` that the programs of a pairing without proxy declare."""
    return [
        word
        for word, further in FURTHER.items()
        if not pairing.proxies
        and not any(role_mistakes(catalog, pairing.document(SIZES[0], further=further)))
    ]


async def _transfer(  # noqa: PLR0913 - a pairing's transfer, and where it is kept
    setup: CampaignSetup,
    pairing: Pairing,
    method: Method,
    size: int,
    folder: Path,
    *,
    workload: str = "",
) -> TransferResult:
    kind = workload.replace(" ", "-") if workload else method * (method != "GET")
    place = folder / "-".join(filter(None, (kind, str(size))))
    place.mkdir(parents=True)
    document = pairing.document(size, method, FURTHER.get(workload, NOTHING))
    failures = await _failures(setup, setup, document, place)
    return TransferResult(size, tuple(failures), method, workload)


async def _failures(
    setup: CampaignSetup, judging: CampaignSetup, document: Mapping[str, Any], place: Path
) -> list[Failure]:
    """Run a trial and return the failed checks of its programs."""
    trial = Trial(
        block=1,
        position=1,
        levels={},
        document=document,
        seed=_SEED,
        time_limit_s=_TIME_LIMIT_S,
    )
    this = AttemptId(trial, 1, datetime.now(UTC))
    try:
        record = await executor.judged(this, setup, place / "artifacts", judging)
    except BedError as error:
        return [Failure("the trial broke off", str(error))]
    return [_failure(one) for one in record.attempt.checks if _has_failed(one)]


def _has_failed(result: Check) -> bool:
    return result.of == "subject" and result.passed is False


def _failure(result: Check) -> Failure:
    return Failure(result.name, result.figure, result.check in _REFUSALS)
