"""Runs an attempt in a guest: hands it over, boots the guest, and takes what it left.

A guest makes one attempt. A second one would find the kernel's randomness, ports and clock ticks as
the first left them. Its numbers would depend on what ran before, and so on where a campaign was
interrupted.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from httpbed.addons.virtual import boot, inside, job, visible_files
from httpbed.addons.virtual.command import Guest
from httpbed.addons.virtual.guest_kernel import GuestKernel
from httpbed.addons.virtual.inside import ARTIFACTS, ATTEMPT, PHASES, Work
from httpbed.addons.virtual.job import Handed
from httpbed.base import seeds
from httpbed.base.errors import BedError, HostError, visible
from httpbed.experiment.trial import Record, Trial
from httpbed.programs.install import OF_THE_USER
from httpbed.trial import plan
from httpbed.trial.attempt_plan import CampaignSetup, TrialPlan
from httpbed.trial.run import runner

FOLDER = "guest"
"""Name beside the artifacts of the folder that an attempt in a guest needs meanwhile."""
BED_BYTES = 2**31
"""Most bytes that the bed leaves in a guest: the emulator's result and its packet log."""
_MAX_PHASES, _LONGEST_PHASE, _MAX_S = 100, 40, 1e9
_LONGEST_REASON = 300
MEMORY_BYTES = 2 * 2**30
"""Memory of a guest beside the bodies that programs store; the machine gives what is used."""
COPIES = 4
"""Of each body: at the server, a proxy, the client, and in the kernel's cache."""
MIN_LIMIT_S = 600.0
LIMIT_PER_S = 2.0
"""The watchdog's limit on this machine's clock, in all and for each second of the time limit. A
transfer at 10 Mbit/s takes a tenth of its virtual time, one at 1 Gbit/s sixty times as much."""
_PACKET_LOG = "httpbed.store.packet_log"
"""The module that the runner imports to read an attempt's packets."""


async def run(planned: TrialPlan, setup: CampaignSetup, artifacts: Path) -> Mapping[str, float]:
    """Make an attempt at a planned trial in a guest; leave all evidence in ``artifacts``.

    Returns:
        The virtual seconds of each phase.

    Raises:
        BedError: The bed failed in the guest, or the guest hung or died.
        HostError: There is no kernel for guests.
        OSError: The disk is full.
    """
    folder = artifacts.parent / FOLDER
    folder.mkdir()
    try:
        work, placed = handed(planned, setup)
        given = await asyncio.to_thread(
            job.hand_over, folder, inside.__name__, work, None, _imported_later(planned)
        )
        with boot.processor() as cpu:
            guest = replace(_guest(planned, _kernel(setup), given, work, cpu), placed=placed)
            left = await boot.run(guest, folder, limit_s=limit_s(planned.trial))
        phases = read_phases(job.read_result(left))
        if not (left / ARTIFACTS).is_dir():
            raise job.unreadable("it left no artifacts")
        (left / ARTIFACTS).rename(artifacts)
    except BedError:
        runner.refuse_full_disk(artifacts.parent)
        raise
    finally:
        await asyncio.to_thread(shutil.rmtree, folder)
    return phases


def _imported_later(planned: TrialPlan) -> tuple[str, ...]:
    attempt = planned.attempt
    of_additions = (name for addition in attempt.additions for name in addition.imported_later())
    return (*([_PACKET_LOG] if attempt.reads_packet_log else []), *of_additions)


def read_phases(result: Mapping[str, Any]) -> Mapping[str, float]:
    """Return the virtual seconds of each phase, of a result as a guest left it.

    Raises:
        BedError: They are no such thing.
    """
    phases = result.get(PHASES)
    if not isinstance(phases, dict) or len(phases) > _MAX_PHASES:
        raise job.unreadable("it has no phases")
    for name, seconds in phases.items():
        if not name.isprintable() or len(name) > _LONGEST_PHASE:
            raise job.unreadable("a phase has no name")
        if not isinstance(seconds, int | float) or not 0 <= seconds <= _MAX_S:
            raise job.unreadable(f"the phase {name} has no length")
    return {name: float(seconds) for name, seconds in phases.items()}


def judged(judge: Callable[[], Record]) -> Record:
    """Judge what a guest left: its evidence may have any form.

    In real time the bed writes that evidence on this machine. A program that has taken its guest
    writes it itself. The checks of physical bounds are computed here, from the experiment.

    Raises:
        BedError: It cannot be judged.
    """
    try:
        return judge()
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        reason = f"{type(error).__name__}: {visible(str(error))[:_LONGEST_REASON]}"
        raise BedError(f"what the guest left cannot be judged: {reason}") from error


def handed(planned: TrialPlan, setup: CampaignSetup) -> tuple[Work, Mapping[str, Path]]:
    """Return the work of the guest that makes an attempt at a planned trial.

    What the sandbox mounts takes part in the kernel's randomness, by the length of its path. So it
    has nothing of the campaign's other trials, and finds the user's executables at places that
    depend on the part alone.

    Returns:
        The work, and these executables with their libraries: place in the guest -> file here.
    """
    sandbox = plan.sandbox_spec(setup.needed_by(planned), planned, ATTEMPT / ARTIFACTS)
    parts, placed = dict(sandbox.parts), dict[str, Path]()
    for name, part in sandbox.parts.items():
        places = {
            seen: f"/{name}{seen}" for seen in part.shared if seen.startswith(f"{OF_THE_USER}/")
        }
        placed |= {place: part.shared[seen] for seen, place in places.items()}
        moved = {seen: Path(place) for seen, place in places.items()}
        parts[name] = replace(part, shared={**part.shared, **moved})
    return Work(replace(sandbox, parts=parts), planned.attempt), placed


def limit_s(trial: Trial) -> float:
    """Return the seconds of this machine's clock after which a guest hangs."""
    return MIN_LIMIT_S + LIMIT_PER_S * trial.time_limit_s


def _kernel(setup: CampaignSetup) -> GuestKernel:
    if setup.kernel is None:
        raise HostError("no kernel for guests was prepared", "run httpbed toolbox kernel")
    kernel: GuestKernel = setup.kernel
    return kernel


def _guest(planned: TrialPlan, kernel: GuestKernel, given: Handed, work: Work, cpu: int) -> Guest:
    bodies = sum(workload.body_bytes() for workload in planned.scenario.workloads())
    return Guest(
        kernel=kernel.path,
        handed=given.folder,
        seed=seeds.guest(planned.trial.seed, planned.trial.block),
        memory_bytes=MEMORY_BYTES + COPIES * bodies,
        cpu=cpu,
        left_bytes=BED_BYTES + sum(work.sandbox.folders().values()),
        seen=visible_files.topmost([*given.seen, *visible_files.of_sandbox(work.sandbox)]),
    )
