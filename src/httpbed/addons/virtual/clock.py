"""Virtual time as a clock of trials: each runs in a guest whose time jumps while all wait."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from httpbed.addons.virtual import capability, guest_cost, guest_kernel, outside
from httpbed.addons.virtual.guest_kernel import GuestKernel
from httpbed.addons.virtual.places import RANDOM_DEVICE
from httpbed.base import disk
from httpbed.base.errors import ConfigError, Mistake
from httpbed.bed.machine.backend import Backend
from httpbed.bed.machine.doctor import Capability
from httpbed.campaign.addition import Say, TrialClock
from httpbed.experiment.scenario import Scenario
from httpbed.experiment.trial import Record
from httpbed.trial.plan import CampaignSetup, TrialPlan


@dataclass(frozen=True)
class VirtualClock(TrialClock):
    """The clock of guests."""

    name: str = "virtual"

    def refuse(self, backend: Backend) -> None:
        """Refuse another processor, and disciplines of the guest's kernel: none was tested."""
        guest_kernel.require_processor()
        if backend == "tbf":
            reason = f"{backend} is not supported in virtual time"
            remedy = "run without --link-backend, or with --clock real"
            raise ConfigError([Mistake("--link-backend", reason, remedy)])

    def require_congestion(self, names: Collection[str]) -> None:
        """Check that the guest's kernel has these congestion controls."""
        guest_kernel.require_congestion(names)

    def kernel(self, say: Say) -> GuestKernel:
        """Build or find the kernel, and check that this machine boots it."""
        kernel = guest_kernel.ensure(say)
        capability.require(kernel)
        return kernel

    def program(self, kernel: GuestKernel) -> dict[str, Any]:
        """Identify the kernel of guests, and the library that their programs load."""
        return {
            "name": guest_kernel.NAME,
            "version": kernel.version,
            "path": guest_kernel.NAME,
            "sha256": kernel.sha256,
            "libraries": {RANDOM_DEVICE: disk.sha256(kernel.random_device)},
        }

    async def run(
        self, planned: TrialPlan, setup: CampaignSetup, artifacts: Path
    ) -> Mapping[str, float]:
        """Make an attempt in a guest; return the virtual seconds of each phase."""
        return await outside.run(planned, setup, artifacts)

    def judged(self, judge: Callable[[], Record]) -> Record:
        """Judge what a guest left."""
        return outside.judged(judge)

    def test(self) -> Capability:
        """Boot a guest, if the kernel is built."""
        return capability.test(guest_kernel.find())

    def cpu_s(self, scenario: Scenario, share: float, *, in_browser: bool) -> float:
        """Estimate the CPU seconds of a trial in a guest."""
        return guest_cost.cpu_s(scenario, share, in_browser=in_browser)

    @property
    def start_s(self) -> float:
        """CPU seconds of a guest's boot."""
        return guest_cost.COST.boot_s


CLOCK = VirtualClock()
