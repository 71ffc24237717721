"""Runs one block on a worker's machine, in a process of its own.

The kernel kills a sandbox when the thread that started it ends, so no thread of Dask may start one:
this process's main thread does. The process ends when its standard input ends, that is when the
worker ends, however it ends; its sandboxes end with it.

The block runs as in ``httpbed run``: it is a campaign of its own in a folder of the worker. The
folder has the request before, and the archives of the attempts afterwards. The last line of the
output is the :class:`~httpbed.addons.cluster.messages.BlockEnd`.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import shutil
import sys
import threading
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from httpbed.addons.cluster import attempt_archive
from httpbed.addons.cluster.messages import BlockEnd, BlockRequest, PackedAttempt
from httpbed.base.clock import Clock
from httpbed.base.errors import ConfigError, HostError, Mistake
from httpbed.campaign import executor, preparation
from httpbed.campaign import run as campaign_run
from httpbed.campaign import settings as run_settings
from httpbed.campaign.addition import CAMPAIGN_ADDITIONS
from httpbed.campaign.admission import Admission
from httpbed.campaign.executor import Work
from httpbed.campaign.preparation import LoadedExperiment, load
from httpbed.campaign.run import Prepared
from httpbed.campaign.settings import Parallelism, RunSettings, adapted_parallelism
from httpbed.programs import catalog as catalogs
from httpbed.store import campaign as campaigns
from httpbed.store import layout, resume
from httpbed.store.campaign import Campaign

REQUEST = "request.pickle"
MIN_FREE_BYTES = 500_000_000
"""Free disk below which no block begins; ``httpbed doctor`` demands as much for the cache."""


def main() -> None:
    """Run the block whose request is in the folder that the command line names.

    The number of the worker's slots follows the folder.
    """
    threading.Thread(target=_end_with_the_worker, daemon=True).start()
    folder = Path(sys.argv[1])
    request = pickle.loads((folder / REQUEST).read_bytes())  # noqa: S301 - the worker wrote it
    end = run(request, folder, slots=int(sys.argv[2]))
    sys.stdout.write(end.model_dump_json() + "\n")
    sys.stdout.flush()


def _end_with_the_worker() -> None:
    """Wait for the end of standard input, to which the worker never writes."""
    while os.read(0, 1):
        pass
    os._exit(1)


def run(request: BlockRequest, folder: Path, slots: int) -> BlockEnd:
    """Run a block beside those of the worker's other slots, and pack its attempts."""
    try:
        ready, work = prepared(request)
        require_disk(folder)
    except (ConfigError, HostError) as error:
        return BlockEnd(kind="refused", reason=_reason(error))
    try:
        jobs = parallel(request.settings.jobs, slots, request.options.clock)
        campaign = _executed(ready, work, folder / "campaign", jobs)
        attempts = packed(campaign.directory.resolve(), folder)
    except (ConfigError, HostError, OSError) as error:
        return BlockEnd(kind="failed", reason=_reason(error))
    certificate = ready.manifest.get("link_certificate")
    return BlockEnd(kind="returned", attempts=attempts, certificate=certificate)


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
    for one in CAMPAIGN_ADDITIONS.provided():
        one.refuse(loaded, settings)
    preparation.require_backend(loaded, settings.backend)
    ready = campaign_run.prepare(loaded, catalog, settings, say=_say)
    require_same_programs(request.manifest, ready.manifest)
    return ready, work


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
    if mistakes:
        raise ConfigError(mistakes)


def require_disk(folder: Path) -> None:
    """Check that a block's folder has room for its attempts.

    Raises:
        HostError: It has not; with the remedy.
    """
    free = shutil.disk_usage(folder).free
    if free < MIN_FREE_BYTES:
        reason = f"{folder.parent} has {free / 1e9:.1f} GB of free disk"
        needed = f"{MIN_FREE_BYTES / 1e9:.1f} GB"
        raise HostError(reason, f"free some, {needed} are needed; or set HTTPBED_CACHE")


def parallel(jobs: Parallelism, slots: int, clock: Clock | None = None) -> Parallelism:
    """Return how many trials run at a time: an adapted number is of a slot's share of the CPUs.

    In virtual time that is a guest on each of these CPUs.
    """
    if not jobs.adapts:
        return jobs
    if clock == "virtual":
        return Parallelism(max(1, run_settings.cpus() // slots))
    return adapted_parallelism(processes=slots)


def _executed(ready: Prepared, work: list[Work], directory: Path, jobs: Parallelism) -> Campaign:
    design = [trial for trial, _ in work]
    files = {key: file.path for key, file in ready.setup.files.items()}
    text = ready.loaded.text
    with campaigns.opened(directory, text, design, ready.manifest, files) as campaign:
        campaign.note_run(datetime.now(UTC), ready.manifest["command"], str(jobs))
        running = executor.execute(
            campaign,
            ready.setup,
            work,
            admission=Admission(jobs),
            tell=lambda _: None,
            say=_say,
        )
        asyncio.run(running)
        return campaign


def packed(directory: Path, folder: Path) -> list[PackedAttempt]:
    """Write the archives of a block's attempts beside its campaign, as far as they may travel."""
    attempts, left = list[PackedAttempt](), attempt_archive.MAX_BYTES
    for place in layout.attempts(directory):
        trial, number = place.split("/")[-2:]
        length = attempt_archive.content_bytes(directory / place)
        attempt = PackedAttempt(
            trial=trial, number=int(number), bytes=length, travels=length <= left
        )
        if attempt.travels:
            left -= length
            with (folder / file_name(attempt)).open("xb") as target:
                attempt_archive.pack(directory / place, target)
        attempts.append(attempt)
    return attempts


def file_name(packed: PackedAttempt) -> str:
    """Return the name of an attempt's archive in the block's folder."""
    return f"{packed.trial}-{packed.number}.tar"


def for_workers(settings: RunSettings) -> RunSettings:
    """Return the settings of a campaign as the machines of its cluster use them."""
    sources = dict(settings.sources)
    sources["recipe_folders"] = [str(Path(one).absolute()) for one in sources["recipe_folders"]]
    added = {name: settings.added.get(name, False) for name in ("strict",)}
    return replace(settings, sources=sources, added=added)


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _reason(error: Exception) -> str:
    """Return an error in one line."""
    return "; ".join(str(error).splitlines())


if __name__ == "__main__":
    main()
