"""Runs an attempt in a guest: hands it over, boots the guest, and takes what it left.

A guest makes one attempt. A second one would find the kernel's randomness, ports and clock ticks as
the first left them. Its numbers would depend on what ran before, and so on where a campaign was
interrupted.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping
from pathlib import Path

from httpbed.experiment import seeds
from httpbed.experiment.errors import BedError, HostError
from httpbed.experiment.trial import Trial
from httpbed.host.guest import boot, job
from httpbed.host.guest.command import Guest
from httpbed.host.packages.guest_kernel import GuestKernel
from httpbed.trial import isolation
from httpbed.trial.guest import inside
from httpbed.trial.guest.work import ARTIFACTS, ATTEMPT, PHASES, Work
from httpbed.trial.plan import CampaignSetup, TrialPlan
from httpbed.trial.run import runner

SHARED = "guest"
"""Name beside the artifacts of the folder that host and guest share."""
MEMORY_BYTES = 2 * 2**30
"""Memory of a guest beside the bodies that programs store; the machine gives what is used."""
COPIES = 4
"""Of each body: at the server, a proxy, the client, and in the kernel's cache."""
LEAST_LIMIT_S = 600.0
LIMIT_PER_S = 2.0
"""The watchdog's limit on this machine's clock, in all and for each second of the time limit. A
transfer at 10 Mbit/s takes a tenth of its virtual time, one at 1 Gbit/s sixty times as much."""
_IMPORTED_LATER = (
    "httpbed.store.packet_log",
    "httpbed.trial.handover.deliveries",
    "httpbed.trial.handover.execution",
)
"""Modules that only trials with several clients or a hand-over need."""


async def run(planned: TrialPlan, setup: CampaignSetup, artifacts: Path) -> Mapping[str, float]:
    """Make an attempt at a planned trial in a guest; leave all evidence in ``artifacts``.

    Returns:
        The virtual seconds of each phase.

    Raises:
        BedError: The bed failed in the guest, or the guest hung or died.
        HostError: There is no kernel for guests.
        OSError: The disk is full.
    """
    shared = artifacts.parent / SHARED
    shared.mkdir(mode=0o700)
    try:
        work = handed(planned, setup)
        await asyncio.to_thread(job.hand_over, shared, inside.__name__, work, (), _IMPORTED_LATER)
        with boot.processor() as cpu:
            guest = _guest(planned, _kernel(setup), shared, cpu)
            await boot.run(guest, limit_s=limit_s(planned.trial))
        if (shared / ARTIFACTS).exists():
            (shared / ARTIFACTS).rename(artifacts)
        phases = job.read_result(shared)[PHASES]
        return {name: float(seconds) for name, seconds in phases.items()}
    except BedError:
        runner.refuse_full_disk(artifacts.parent)
        raise
    finally:
        await asyncio.to_thread(shutil.rmtree, shared)


def handed(planned: TrialPlan, setup: CampaignSetup) -> Work:
    """Return the work of the guest that makes an attempt at a planned trial.

    What the sandbox mounts takes part in the kernel's randomness. So it has nothing of the
    campaign's other trials.
    """
    sandbox = isolation.sandbox_spec(setup.needed_by(planned), planned, ATTEMPT / ARTIFACTS)
    return Work(sandbox, planned.attempt)


def limit_s(trial: Trial) -> float:
    """Return the seconds of this machine's clock after which a guest hangs."""
    return LEAST_LIMIT_S + LIMIT_PER_S * trial.time_limit_s


def _kernel(setup: CampaignSetup) -> GuestKernel:
    if setup.kernel is None:
        raise HostError("no kernel for guests was prepared", "run httpbed toolbox kernel")
    return setup.kernel


def _guest(planned: TrialPlan, kernel: GuestKernel, shared: Path, cpu: int) -> Guest:
    bodies = sum(workload.body_bytes() for workload in planned.scenario.workloads())
    return Guest(
        kernel=kernel.path,
        shared=shared.resolve(),
        seed=seeds.guest(planned.trial.seed, planned.trial.block),
        memory_bytes=MEMORY_BYTES + COPIES * bodies,
        cpu=cpu,
    )
