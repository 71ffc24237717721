"""Virtual time as a clock of trials: each runs in a guest whose time jumps while all wait.

A trial costs CPU seconds of this machine, and not virtual ones. A guest computes every packet and
waits for nothing. So the cost is that of its boot and of its packets, whatever rate and delay they
have, and a trial with few packets over a long time is cheap. The constants follow from the figures
in ``docs/measurements/virtual-time.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from httpbed.addons.virtual import capability, guest_kernel, outside
from httpbed.addons.virtual.guest_kernel import GuestKernel
from httpbed.addons.virtual.visible_files import RANDOM_DEVICE
from httpbed.base import disk
from httpbed.bed.doctor import Capability
from httpbed.experiment.roles import Transport
from httpbed.experiment.scenario import Scenario
from httpbed.experiment.trial import Record
from httpbed.results.duration import SEGMENT_BYTES
from httpbed.trial.addition import TrialClock
from httpbed.trial.attempt_plan import CampaignSetup, TrialPlan
from httpbed.trial.program_roots import Say


@dataclass(frozen=True)
class VirtualClock(TrialClock):
    """The clock of guests."""

    name: str = "virtual"

    def require_machine(self) -> None:
        """Check that the processor has guests."""
        guest_kernel.require_processor()

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
        return cpu_s(scenario, share, in_browser=in_browser)

    @property
    def start_s(self) -> float:
        """CPU seconds of a guest's boot."""
        return COST.boot_s


CLOCK = VirtualClock()


@dataclass(frozen=True)
class GuestCost:
    """CPU seconds of the parts of a trial in a guest."""

    boot_s: float
    """Kernel, Python, sandbox, programs, and taking the evidence."""
    proxy_s: float
    """To start a proxy."""
    visit_s: float
    """A browser's start and its visit of a URL, beside the packets."""
    request_s: float
    """For each request of a browser."""
    byte_s: float
    """For each byte that a browser draws: as text, if it is a file."""
    packet_s: Mapping[Transport, float]
    """For a full packet of a body on one hop, with what acknowledges it: sender, link, receiver."""
    link_s: float
    """The same for each further link of the hop."""


COST = GuestCost(
    boot_s=0.5,
    proxy_s=0.1,
    visit_s=2.0,
    request_s=0.02,
    byte_s=1.5e-6,
    packet_s={"tcp": 0.15e-3, "quic": 0.25e-3},
    link_s=0.06e-3,
)


def cpu_s(scenario: Scenario, share: float = 1.0, *, in_browser: bool = False) -> float:
    """Return a trial's estimated CPU seconds in a guest, if this share of the transfer happens.

    Args:
        scenario: What the trial does.
        share: Of the transfer.
        in_browser: Whether the measured client is a browser.
    """
    workload = scenario.workload
    visits = 1 + workload.comes_twice
    fixed_s = COST.boot_s + COST.proxy_s * len(scenario.roles.proxies)
    transfer_s = _packets_s(scenario)
    if in_browser:
        fixed_s += visits * COST.visit_s
        transfer_s += COST.request_s * workload.requests() + COST.byte_s * workload.body_bytes()
    return fixed_s + share * visits * transfer_s


def _packets_s(scenario: Scenario) -> float:
    """Return the seconds that the packets of all clients' bodies take, hop by hop."""
    seconds = 0.0
    for group in scenario.client_groups:
        packets = group.workload.body_bytes() / SEGMENT_BYTES
        for hop in group.hops():
            further = len(scenario.route(hop.client, hop.server)) - 1
            seconds += packets * (COST.packet_s[hop.transport] + further * COST.link_s)
    return seconds
