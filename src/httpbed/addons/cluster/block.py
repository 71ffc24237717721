"""A block of a campaign as a function: a request in, the files of its attempts out.

A worker of Dask runs :func:`run_block` in a process of its own
(:class:`~httpbed.addons.cluster.worker.BlockProcesses`). There the block runs as in
``httpbed run``: it is a campaign in a temporary folder.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata, resources
from pathlib import Path
from typing import Any

from httpbed.base import digests, untrusted_files
from httpbed.base.clock import Clock
from httpbed.base.errors import ConfigError, HostError, Mistake, require_none
from httpbed.base.value import Value
from httpbed.bed import doctor
from httpbed.bed.machine import scratch
from httpbed.bed.machine.facts import MachineFacts
from httpbed.bed.sandbox import sandbox_spec
from httpbed.bed.toolbox import root_filesystem
from httpbed.campaign import campaign_setup, preparation
from httpbed.campaign import run as campaign_run
from httpbed.campaign import settings as run_settings
from httpbed.campaign.addition import CAMPAIGN_ADDITIONS
from httpbed.campaign.executor import Work
from httpbed.campaign.loaded_experiment import LoadedExperiment
from httpbed.campaign.preparation import load
from httpbed.campaign.run import Prepared
from httpbed.campaign.settings import (
    DesignOptions,
    Parallelism,
    RunSettings,
    adapted_parallelism,
)
from httpbed.cli.echo import say
from httpbed.programs import catalog as catalogs
from httpbed.store import attempts, layout, resume

COMPARED = ("programs", "recipes", "sites", "link", "kept", "clock")
"""What of a manifest has to be the same on the machines of the campaign and of its workers."""
MAX_BYTES = 2**30
"""The files of a block are in the memory of worker and campaign. A page load with a packet log and
pictures has some hundred MB at most."""

slots = 1
"""Blocks that the machine runs at a time; the process of a block sets it."""

AttemptFiles = Mapping[str, bytes]
"""The files of an attempt, by their names in ``trial.json``, with ``trial.json`` itself."""


class BlockError(Exception):
    """A block that began on a worker gave no attempts; the message says why."""


class RefusedBlockError(BlockError):
    """No attempt of the block began, because this machine cannot run it."""


class WorkerFacts(Value):
    """What a worker says about itself."""

    name: str
    slots: int
    """Blocks that it runs at a time."""
    code: str
    host: MachineFacts


@dataclass(frozen=True)
class BlockRequest:
    """A block for a worker: what it runs, and what it has to run it with."""

    key: str
    """The key of Dask's task."""
    code: str
    """The campaign's own, which the worker has to have."""
    block: int
    text: str
    """The experiment file."""
    folder: str
    """Where that file is: names in it are relative to this folder."""
    options: DesignOptions
    settings: RunSettings
    manifest: Mapping[str, Any]
    """The campaign's, as far as it is :data:`COMPARED`."""
    wanted: tuple[tuple[str, int], ...] = ()
    """The trials of the block, each with the number of its next attempt, in their order."""


@dataclass(frozen=True)
class BlockEnd:
    """What a block returns."""

    attempts: Sequence[AttemptFiles]
    certificate: dict[str, Any] | None
    """How the machine's certificate relates to the experiment's links, as in a manifest."""
    begun_s: float
    """By the worker's clock."""
    ended_s: float
    """By the worker's clock."""


def own_code() -> str:
    """Return the identity of this program: its version and a digest of its files."""
    top = Path(str(resources.files("httpbed")))
    digest = hashlib.sha256()
    for path in sorted(one for one in top.rglob("*") if one.suffix in {".py", ".toml"}):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(top)} {len(content)}\n".encode() + content)
    return f"httpbed {metadata.version('httpbed')} (code {digest.hexdigest()[:12]})"


def run_block(request: BlockRequest) -> BlockEnd:
    """Run a block beside those of the worker's other slots; return its attempts.

    Raises:
        RefusedBlockError: This machine cannot run it, or would run another one.
        BlockError: It ended without its attempts.
    """
    begun_s = time.time()
    try:
        require_same_code(request)
        require_able()
        ready, work = prepared(request)
    except (ConfigError, HostError) as error:
        raise RefusedBlockError(_in_one_line(error)) from None
    try:
        with scratch.temporary("block") as folder:
            jobs = parallel(request.settings.jobs, slots, request.options.clock)
            with campaign_run.opened(ready, folder / "campaign", jobs=jobs, say=say) as run:
                replace(run, pending=work).finish(tell=lambda _: None)
            files = attempt_files(folder / "campaign")
    except Exception as error:  # noqa: BLE001 - the campaign learns of every one
        raise BlockError(f"{type(error).__name__}: {_in_one_line(error)}") from None
    return BlockEnd(files, ready.manifest.get("link_certificate"), begun_s, time.time())


def require_same_code(request: BlockRequest) -> None:
    """Check that campaign and worker are the same httpbed.

    Raises:
        HostError: They are not.
    """
    if (here := own_code()) != request.code:
        raise HostError(f"it runs {here}, and the campaign {request.code}", "install the same")


def require_able() -> None:
    """Check that this machine can run trials.

    Raises:
        HostError: It cannot; with the remedy.
    """
    doctor.require_namespaces(
        doctor.run_capability_tests(root_filesystem.find(root_filesystem.TOOLS))
    )
    doctor.require_disk()
    for name in sandbox_spec.ALL:
        sandbox_spec.executable(name)


def prepared(request: BlockRequest) -> tuple[Prepared, list[Work]]:
    """Build or find what the block needs, and compare it with what the campaign has.

    Raises:
        ConfigError: This machine reads the experiment otherwise, or has other programs.
        HostError: This machine cannot run it.
    """
    settings = request.settings
    folders = map(Path, settings.sources["recipe_folders"])
    catalog = catalogs.load(folders).with_programs(settings.sources["own_programs"])
    loaded = load(request.text, catalog, Path(request.folder), request.options)
    work = wanted(request, loaded)
    for addition in CAMPAIGN_ADDITIONS.provided():
        addition.refuse(loaded, settings)
    preparation.require_machine(loaded)
    ready = campaign_setup.prepare(loaded, catalog, settings, say=say)
    require_same_programs(request.manifest, ready.manifest)
    trials = tuple(trial for trial, _ in work)
    return replace(ready, loaded=replace(loaded, trials=trials)), work


def wanted(request: BlockRequest, loaded: LoadedExperiment) -> list[Work]:
    """Return the trials of a request, as this machine's own design has them.

    A trial's identifier is the digest of all that it executes, files and pages included.

    Raises:
        ConfigError: The design here lacks one.
    """
    design = {trial.id: trial for trial in loaded.trials}
    if absent := [name for name, _ in request.wanted if name not in design]:
        reason = f"the experiment has no trial {absent[0]} here"
        remedy = "the files and pages that it names have to be the same on every machine"
        raise ConfigError([Mistake(f"block {request.block}", reason, remedy)])
    return [(design[name], number) for name, number in request.wanted]


def require_same_programs(campaign: Mapping[str, Any], here: Mapping[str, Any]) -> None:
    """Compare programs, recipes, sites and links.

    Raises:
        ConfigError: With every difference.
    """
    remedy = "install the same programs on every machine"
    mistakes = [
        Mistake(
            name, f"is {now or 'absent'} here, and {before or 'absent'} in the campaign", remedy
        )
        for name, before, now in resume.program_conflicts(campaign, here)
    ]
    require_none(mistakes)


def parallel(jobs: Parallelism, slots: int, clock: Clock | None = None) -> Parallelism:
    """Return how many trials run at a time; a number that adapts uses a slot's share of the CPUs.

    In virtual time a guest runs on each of these CPUs.
    """
    if not jobs.adapts:
        return jobs
    if clock == "virtual":
        return Parallelism(max(1, run_settings.cpus() // slots))
    return adapted_parallelism(processes=slots)


def attempt_files(directory: Path) -> list[AttemptFiles]:
    """Return the files of every attempt of a campaign that its ``trial.json`` names.

    Links that a program under test left are not among them.

    Raises:
        HostError: They are too long to travel.
    """
    real, files, left = directory.resolve(), list[AttemptFiles](), MAX_BYTES
    for place in layout.attempts(real):
        trial = untrusted_files.data(real / place / attempts.TRIAL, most=untrusted_files.OWN_BYTES)
        listed = attempts.trial_document(trial).files
        left -= sum(digest.bytes for digest in listed.values())
        if left < 0:
            reason = f"the files of its attempts have more than {MAX_BYTES / 2**30:.0f} GiB"
            raise HostError(reason, "keep less (--keep)")
        contents = {attempts.TRIAL: trial}
        for name in listed:
            file = real / place / digests.path(name)
            with untrusted_files.opened(file, MAX_BYTES, top=real / place) as handle:
                contents[name] = handle.buffer.read()
        files.append(contents)
    return files


def _in_one_line(error: Exception) -> str:
    return "; ".join(str(error).splitlines())
