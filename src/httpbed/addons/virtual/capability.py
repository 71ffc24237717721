"""Tests whether guests can run on this machine: boots one, which powers off at once."""

from __future__ import annotations

import asyncio
import os

from httpbed.addons.virtual import boot, guest_kernel, job
from httpbed.addons.virtual.command import Guest
from httpbed.addons.virtual.guest_kernel import GuestKernel
from httpbed.base.errors import BedError, HostError
from httpbed.bed import doctor
from httpbed.bed.doctor import Capability
from httpbed.bed.machine import scratch

NAME = "guests in virtual time"
_MEMORY_BYTES = 256 * 2**20
_LEFT_BYTES = 2**20
_LIMIT_S = 120.0


def test(kernel: GuestKernel | None) -> Capability:
    """Boot a guest; without a kernel, test the processor only."""
    try:
        guest_kernel.require_processor()
    except HostError as error:
        return Capability(NAME, None, error.reason, error.remedy)
    if kernel is None:
        remedy = "the first run that needs it builds it; to build it now: httpbed toolbox kernel"
        return Capability(NAME, None, "not tested: the kernel is not built yet", remedy)
    if os.statvfs(kernel.path).f_flag & os.ST_NOEXEC:
        remedy = "set HTTPBED_CACHE to a folder on a file system that allows programs"
        return Capability(NAME, None, f"{kernel.path} may not be executed", remedy)
    try:
        _boot(kernel)
    except HostError as error:
        return Capability(NAME, None, error.reason, error.remedy)
    except BedError as error:
        remedy = f'{doctor.namespace_remedy()}; clock = "real" needs no guest'
        return Capability(NAME, None, str(error), remedy)
    return Capability(NAME, True, f"boot with Linux {kernel.version}")


def require(kernel: GuestKernel) -> None:
    """Check that guests can run.

    Raises:
        HostError: They cannot; with the reason and the remedy.
    """
    tested = test(kernel)
    if tested.ok is not True:
        raise HostError(f"this machine runs no guests: {tested.figure}", tested.remedy)


def _boot(kernel: GuestKernel) -> None:
    """Boot a guest that powers off at once."""
    with scratch.temporary("guest") as folder, boot.processor() as cpu:
        handed = job.hand_over(folder, job.__name__, None)
        guest = Guest(
            kernel=kernel.path,
            handed=handed.folder,
            seed=1,
            memory_bytes=_MEMORY_BYTES,
            cpu=cpu,
            left_bytes=_LEFT_BYTES,
            seen=handed.seen,
        )
        job.read_result(asyncio.run(boot.run(guest, folder, limit_s=_LIMIT_S)))
