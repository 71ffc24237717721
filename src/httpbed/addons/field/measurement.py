"""A measurement over this machine's own network: few requests, one at a time, in seeded blocks.

Each block makes one request of every version, in a random order, on a new connection. So whatever
changes slowly (the route, the load of the server) changes all versions alike, as in a campaign.
curl runs in a sandbox that stays in this machine's network (docs/decisions/0070).
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

from httpbed.addons.field import request, target
from httpbed.addons.field.request import CERTIFICATES, CLIENT_ERROR, OK, REQUEST_S, Outcome
from httpbed.addons.field.target import Target
from httpbed.base import seeds, untrusted_files
from httpbed.base.errors import BedError, ConfigError, HostError, Mistake
from httpbed.base.units import format_size
from httpbed.bed.machine import scratch
from httpbed.bed.sandbox.sandbox_spec import PartSpec, ProcessSpec, SandboxSpec
from httpbed.bed.sandbox.supervisor import Supervisor, sandbox
from httpbed.campaign.program_versions import reported_version
from httpbed.experiment.roles import HttpVersion
from httpbed.programs import catalog as catalogs
from httpbed.programs.recipe import Recipe
from httpbed.trial import program_roots

CURL = "curl"
AGENT = f"httpbed/{metadata.version('httpbed')} (performance measurement)"
MEMORY_BYTES, PROCESSES = 2**28, 16
REPORT_BYTES, FOLDER_BYTES = 2**20, 2**26
"""Most bytes of what curl reports of one request, and of all requests."""
SPARE_S = 5.0
"""Time that curl gets beyond its own limit before the sandbox kills it."""
MAX_FAILURES = 2
"""A version that fails in the first so many blocks gets no further request."""
MAX_DOCUMENT_BYTES = 2**20
PEM = "-----BEGIN CERTIFICATE-----"

Say = Callable[[str], None]


@dataclass(frozen=True)
class Bounds:
    """How much may be asked of a server."""

    requests: int
    total_bytes: int
    pause_s: float
    """Least pause between two requests."""


POLITE = Bounds(requests=60, total_bytes=100_000_000, pause_s=0.5)
"""For a server that the user does not own."""
OWN = Bounds(requests=3000, total_bytes=20_000_000_000, pause_s=0.0)


@dataclass(frozen=True)
class Wanted:
    """What the command line asks for."""

    versions: tuple[HttpVersion, ...]
    blocks: int
    seed: int
    pause_s: float
    is_own: bool
    authorities: str
    """Certificates of the authorities to trust, in PEM."""

    @property
    def bounds(self) -> Bounds:
        """The bounds that hold."""
        return OWN if self.is_own else POLITE

    @property
    def requests(self) -> int:
        """Most requests: those of the blocks, and a first look by each version."""
        return (self.blocks + 1) * len(self.versions)

    @property
    def most_blocks(self) -> int:
        """Most blocks within the bounds."""
        return self.bounds.requests // len(self.versions) - 1

    @property
    def most_bytes(self) -> int:
        """Longest body, so that all requests together stay within the bounds."""
        return self.bounds.total_bytes // self.requests

    @property
    def base(self) -> HttpVersion:
        """The version that the others are compared with: 2, or the first."""
        return "2" if "2" in self.versions else self.versions[0]


@dataclass
class Measurement:
    """The requests that were made."""

    target: Target
    wanted: Wanted
    curl: str
    """Its version."""
    outcomes: list[Outcome] = field(default_factory=list)
    """In the order of the requests; those of block 0 are looks."""
    blocks_elsewhere: int = 0
    """Blocks at whose beginning the host's name no longer had the address."""
    ended_early: str = ""
    """Why not all requests were made; empty if they were."""

    def of(self, version: str) -> list[Outcome]:
        """Return the requests of a version, without the look."""
        return [
            outcome
            for outcome in self.outcomes
            if outcome.block and outcome.http_version == version
        ]


def authorities(file: Path | None) -> str:
    """Read the certificates of the authorities to trust: the user's, or this machine's.

    Raises:
        ConfigError: The user's file has none.
        HostError: This machine has none.
    """
    place = file or next(map(Path, filter(None, [ssl.get_default_verify_paths().cafile])), None)
    if place is None:
        remedy = "install the package ca-certificates, or give --cacert FILE"
        raise HostError("this machine has no list of certificate authorities", remedy)
    try:
        with place.open(errors="replace") as stream:
            text = stream.read(MAX_DOCUMENT_BYTES)
    except OSError as error:
        raise ConfigError([Mistake(str(place), f"cannot be read: {error.strerror}")]) from None
    if PEM not in text:
        raise ConfigError([Mistake(str(place), "has no certificate", "give one in PEM format")])
    return text


def measure(aim: Target, wanted: Wanted, say: Say) -> Measurement:
    """Make the requests.

    Raises:
        ConfigError: The URL redirects, is an error, or is too long for the bounds.
        HostError: This machine has no curl with these versions, or no sandbox.
        BedError: The sandbox failed.
    """
    return asyncio.run(_measured(aim, wanted, say))


async def _measured(aim: Target, wanted: Wanted, say: Say) -> Measurement:
    async with _curl(wanted, say) as (supervisor, version):
        measured = Measurement(aim, wanted, version)
        client = _Client(supervisor, measured)
        await _look(client, say)
        if not measured.ended_early:
            await _run_blocks(client, say)
        return measured


@contextlib.asynccontextmanager
async def _curl(wanted: Wanted, say: Say) -> AsyncIterator[tuple[Supervisor, str]]:
    """Make the sandbox and check curl in it; yield the sandbox and curl's version."""
    catalog = catalogs.load()
    programs = program_roots.ensure(catalog, [CURL], say=say)
    part = PartSpec(
        CURL,
        folders={CURL: FOLDER_BYTES},
        files={CERTIFICATES: wanted.authorities},
        memory_bytes=MEMORY_BYTES,
        processes=PROCESSES,
    )
    with scratch.temporary("field") as folder:
        spec = SandboxSpec(
            scratch=folder,
            trial=None,
            roots=programs.roots(),
            shared={},
            programs={},
            hosts={},
            sysctls={},
            tmpfs_bytes=2**26,
            parts={CURL: programs.part(part)},
            keeps_network=True,
        )
        async with sandbox(spec) as supervisor:
            yield supervisor, await _version(supervisor, catalog[CURL], wanted.versions)


async def _version(supervisor: Supervisor, recipe: Recipe, wanted: Sequence[HttpVersion]) -> str:
    """Return curl's version.

    Raises:
        HostError: It lacks an HTTP version.
    """
    asked = recipe.identify()
    if asked is None or recipe.version is None:
        raise HostError("the recipe of curl has no version command", "restore [version] in it")
    await supervisor.run(asked)
    curl = reported_version(recipe, supervisor.folder)
    for lack in recipe.version.lacking(curl.output, wanted):
        raise HostError(f"curl {lack}", "ask for other versions with --http")
    return curl.version or "unknown"


@dataclass(frozen=True)
class _Client:
    """curl in its sandbox."""

    supervisor: Supervisor
    measured: Measurement

    async def ask(self, block: int, version: HttpVersion) -> Outcome:
        """Make one request, and wait until it has ended; note if the server asks for fewer."""
        aim, wanted = self.measured.target, self.measured.wanted
        report = f"{CURL}/{len(self.measured.outcomes)}.json"
        spec = ProcessSpec(
            request.words(aim, version, wanted.most_bytes, AGENT),
            root=CURL,
            part=CURL,
            stdout=report,
            timeout_s=REQUEST_S + SPARE_S,
            file_bytes=REPORT_BYTES,
            memory_bytes=MEMORY_BYTES,
            processes=PROCESSES,
        )
        await self.supervisor.run(spec)
        try:
            text = untrusted_files.text(self.supervisor.folder / report, most=REPORT_BYTES)
        except FileNotFoundError:
            raise BedError("curl's report is missing") from None
        outcome = request.read(text, block, version, aim)
        self.measured.outcomes.append(outcome)
        if outcome.asks_for_fewer:
            reason = f"the server asks for fewer requests: status {outcome.status}"
            self.measured.ended_early = reason
        return outcome


async def _look(client: _Client, say: Say) -> None:
    """Fetch the URL once by the first version that gets an answer, and judge what came.

    Raises:
        ConfigError: It redirects, is an error, or is too long for the bounds.
    """
    measured, wanted = client.measured, client.measured.wanted
    say(f"looking at {measured.target.url.text} ({measured.target.address})")
    for version in sorted(wanted.versions, key=lambda one: (one != wanted.base, one)):
        outcome = await client.ask(0, version)
        if outcome.is_too_long or outcome.status:
            break
        await asyncio.sleep(wanted.pause_s)
    else:
        measured.ended_early = "no version got an answer"
        return
    if not measured.ended_early and (mistake := look_mistake(outcome, measured)):
        raise ConfigError([mistake])


def look_mistake(outcome: Outcome, measured: Measurement) -> Mistake | None:
    """Return what makes a URL unfit, as its first response shows; None if it is fit."""
    wanted, place = measured.wanted, measured.target.url.text
    if outcome.is_too_long:
        reason = (
            f"is longer than {format_size(wanted.most_bytes, 3)}, or has no end, and"
            f" {wanted.requests} requests share {format_size(wanted.bounds.total_bytes)}"
        )
        lifted = "" if wanted.is_own else ", or add --i-own-this"
        return Mistake(place, reason, f"measure a smaller file, lower --replicates{lifted}")
    if outcome.is_censored:
        reason = f"was not finished within {REQUEST_S:g} s"
        return Mistake(place, reason, "measure a smaller file")
    if outcome.status >= CLIENT_ERROR:
        return Mistake(place, f"is answered with status {outcome.status}", "correct the URL")
    if outcome.status < OK:
        reason = f"has no final response: {outcome.failure or f'status {outcome.status}'}"
        return Mistake(place, reason, "correct the URL, or the server")
    if not outcome.is_success:
        location = outcome.headers.get("location", "an unnamed place")
        reason = f"redirects (status {outcome.status}) to {location}; httpbed follows no redirect"
        return Mistake(place, reason, "compare the URL to which it leads")
    return None


async def _run_blocks(client: _Client, say: Say) -> None:
    """Make the requests of all blocks, unless the server asks for fewer."""
    measured, wanted = client.measured, client.measured.wanted
    for block in range(1, wanted.blocks + 1):
        versions = [one for one in wanted.versions if not _is_given_up(measured.of(one))]
        if not versions:
            measured.ended_early = f"every version failed {MAX_FAILURES} times"
            return
        seeds.block_order(wanted.seed, block).shuffle(versions)
        now = await asyncio.to_thread(target.resolved, measured.target.url)
        measured.blocks_elsewhere += target.changed(measured.target, now)
        say(f"block {block} of {wanted.blocks}: HTTP/{', HTTP/'.join(versions)}")
        for version in versions:
            await asyncio.sleep(wanted.pause_s)
            await client.ask(block, version)
            if measured.ended_early:
                return


def _is_given_up(outcomes: Sequence[Outcome]) -> bool:
    return len(outcomes) >= MAX_FAILURES and all(outcome.failure for outcome in outcomes)
