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
import shutil
import sys
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from httpbed.addons.calibration import link_certificate
from httpbed.addons.cluster import attempt_archive
from httpbed.addons.cluster.messages import BlockEnd, BlockRequest, PackedAttempt
from httpbed.base import file_digest
from httpbed.base.errors import ConfigError, HostError, Mistake
from httpbed.campaign import capability, executor, parallelism
from httpbed.campaign import run as campaign_run
from httpbed.campaign.admission import Admission
from httpbed.campaign.executor import Work
from httpbed.campaign.parallelism import Parallelism
from httpbed.campaign.preparation import LoadedExperiment, load
from httpbed.campaign.run import Prepared
from httpbed.campaign.settings import RunSettings
from httpbed.programs import catalog as catalogs
from httpbed.store import campaign as campaigns
from httpbed.store import layout, resume
from httpbed.store.campaign import Campaign

REQUEST = "request.json"
LEAST_FREE_BYTES = 500_000_000
"""Free disk below which no block begins; ``httpbed doctor`` demands as much for the cache."""


def main() -> None:
    """Run the block whose request is in the folder that the command line names.

    The number of the worker's slots follows the folder.
    """
    threading.Thread(target=_end_with_the_worker, daemon=True).start()
    folder = Path(sys.argv[1])
    request = BlockRequest.model_validate_json((folder / REQUEST).read_bytes())
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
        jobs = parallel(request.selection.jobs, slots)
        campaign = _executed(ready, work, folder / "campaign", jobs)
        found = [packed(campaign.directory, place, folder) for place in _places(campaign)]
    except (ConfigError, HostError, OSError) as error:
        return BlockEnd(kind="failed", reason=_reason(error))
    certificate = ready.manifest["link_certificate"]
    return BlockEnd(kind="returned", attempts=found, certificate=certificate)


def prepared(request: BlockRequest) -> tuple[Prepared, list[Work]]:
    """Build or find what the block needs, and compare it with what the campaign has.

    Raises:
        ConfigError: This machine reads the experiment otherwise, or has other programs.
        HostError: This machine cannot run it.
    """
    chosen = request.selection
    catalog = catalogs.load(map(Path, chosen.recipe_folders)).with_programs(chosen.programs)
    loaded = load(
        request.text,
        catalog,
        Path(chosen.folder),
        chosen.scale,
        for_claims=chosen.for_claims,
        replicates=chosen.replicates,
        clock="real",  # whatever the file says: a cluster has no other
    )
    work = wanted(request, loaded)
    capability.require(loaded, chosen.backend)
    options = RunSettings(chosen.backend, chosen.command, frozenset(chosen.keep))
    ready = campaign_run.prepare(loaded, catalog, options, say=_say)
    require_same_programs(request.manifest, ready.manifest)
    standing = link_certificate.standing(loaded, chosen.backend)
    if chosen.strict:
        link_certificate.require(standing)
    ready.manifest["link_certificate"] = standing.as_json()
    return ready, work


def wanted(request: BlockRequest, loaded: LoadedExperiment) -> list[Work]:
    """Return the trials of a request, as this machine's own design has them.

    A trial's identifier is the digest of all that it executes, files and pages included.

    Raises:
        ConfigError: The design here lacks one.
    """
    design = {trial.id: trial for trial in loaded.trials}
    if absent := [one.id for one in request.wanted if one.id not in design]:
        reason = f"the experiment has no trial {absent[0]} here"
        remedy = "the files and pages that it names have to be the same on every machine"
        raise ConfigError([Mistake(f"block {request.block}", reason, remedy)])
    return [(design[one.id], one.number) for one in request.wanted]


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
    if free < LEAST_FREE_BYTES:
        reason = f"{folder.parent} has {free / 1e9:.1f} GB of free disk"
        least = f"{LEAST_FREE_BYTES / 1e9:.1f} GB"
        raise HostError(reason, f"free some, {least} are needed; or set HTTPBED_CACHE")


def parallel(jobs: int | None, slots: int) -> Parallelism:
    """Return how many trials run at a time; None: as many as a slot's share of the CPUs carries."""
    return parallelism.adapted(processes=slots) if jobs is None else Parallelism(jobs)


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


def _places(campaign: Campaign) -> list[str]:
    return list(layout.attempts(campaign.directory.resolve()))


def packed(directory: Path, place: str, folder: Path) -> PackedAttempt:
    """Write the archive of an attempt beside the campaign, unless it is too large to travel."""
    trial, number = place.split("/")[-2:]
    content = attempt_archive.content_bytes(directory / place)
    if attempt_archive.too_large(content):
        return PackedAttempt(trial=trial, number=int(number), bytes=content, sha256="")
    archive = folder / file_name(trial, int(number))
    with archive.open("xb") as target:
        attempt_archive.pack(directory / place, target)
    return PackedAttempt(
        trial=trial,
        number=int(number),
        bytes=archive.stat().st_size,
        sha256=file_digest.sha256(archive),
    )


def file_name(trial: str, number: int) -> str:
    """Return the name of an attempt's archive in the block's folder."""
    return f"{trial}-{number}.tar"


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _reason(error: Exception) -> str:
    """Return an error in one line."""
    return "; ".join(str(error).splitlines())


if __name__ == "__main__":
    main()
