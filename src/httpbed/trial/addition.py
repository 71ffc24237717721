"""What addons add to trials, and the clocks beside real time: two seams.

An addon registers a :class:`TrialAddition`. Where a trial has something for it, it plans an
:class:`~httpbed.trial.attempt_plan.AttemptAddition`, which the runner carries out, reads what
that left as evidence, and judges it beside the checks and observations that every attempt has. The
descriptors of its checks and metrics are registered in :mod:`httpbed.experiment`. A
:class:`TrialClock` runs trials by another clock.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from httpbed.base.addon import Seam
from httpbed.base.errors import HostError
from httpbed.bed.network.network_plan import NetworkPlan
from httpbed.bed.sandbox.sandbox_spec import ProcessSpec
from httpbed.bed.toolbox.root_filesystem import Contents
from httpbed.experiment.scenario import Scenario
from httpbed.experiment.topology import Topology
from httpbed.experiment.trial import Record, Trial
from httpbed.experiment.workload import Workload
from httpbed.programs.part import Part
from httpbed.trial.attempt_plan import AttemptAddition, CampaignSetup, PlannedClient, TrialPlan
from httpbed.trial.evidence import AddedEvidence, AddedJudgement, AttemptFiles
from httpbed.trial.program_roots import Say

if TYPE_CHECKING:
    from httpbed.bed.doctor import Capability


@dataclass(frozen=True)
class PlannedParts:
    """What the rest of a trial's plan is, when an addition is planned."""

    scenario: Scenario
    network: NetworkPlan
    parts: Mapping[str, Part]
    clients: Sequence[PlannedClient]
    """The measured client, then its competitors."""


@dataclass(frozen=True)
class TrialAddition:
    """What an addon adds to trials; each method does nothing unless it is overridden."""

    name: str
    judgement: type[AddedJudgement] = field(default=AddedJudgement, init=False)

    def topology(self, scenario: Scenario, topology: Topology) -> Topology:
        """Return the topology with what the addition needs in it."""
        del scenario
        return topology

    def nat(self, scenario: Scenario) -> Collection[int]:
        """Return the indices of links that need a NAT at their second host."""
        del scenario
        return ()

    def part(self, part: Part, workload: Workload) -> Part:
        """Return a part with the addition's task; ``workload`` is that of its client."""
        del workload
        return part

    def process(self, trial: Trial, process: ProcessSpec) -> ProcessSpec:
        """Return the process of a program under test as the trial needs it."""
        del trial
        return process

    def plan(self, planned: PlannedParts) -> AttemptAddition | None:
        """Plan what is added to an attempt; None if nothing is."""
        del planned
        return None

    def roots(self, workloads: Iterable[Workload]) -> Mapping[str, Contents]:
        """Return the root filesystems that its own programs need, by the names they use."""
        del workloads
        return {}

    def shared(self, setup: CampaignSetup, trial: TrialPlan) -> dict[str, Path]:
        """Return files that every process of a trial sees: path in the sandbox -> path here."""
        del setup, trial
        return {}

    def served(self, setup: CampaignSetup, scenario: Scenario) -> dict[str, Path]:
        """Return files that only servers see."""
        del setup, scenario
        return {}

    def read(self, files: AttemptFiles) -> AddedEvidence | None:
        """Read what the addition left; None if it left nothing."""
        del files
        return None


TRIAL_ADDITIONS = Seam("additions to trials", TrialAddition)


def planned(parts: PlannedParts) -> Iterator[AttemptAddition]:
    """Plan everything that addons add to an attempt."""
    additions = TRIAL_ADDITIONS.provided(parts.scenario.words)
    yield from filter(None, (addition.plan(parts) for addition in additions))


# The clocks beside real time.


@dataclass(frozen=True)
class TrialClock:
    """A clock beside real time, by which trials run."""

    name: str

    def require_machine(self) -> None:
        """Check that this machine has the clock.

        :raises HostError: when it has none.
        """

    def require_congestion(self, names: Collection[str]) -> None:
        """Check that its kernel has these congestion controls.

        :raises HostError: when it lacks one.
        """

    def kernel(self, say: Say) -> Any:
        """Build or find the kernel that trials need."""
        raise NotImplementedError

    def program(self, kernel: Any) -> dict[str, Any]:
        """Return the kernel as a manifest lists programs."""
        raise NotImplementedError

    async def run(
        self, planned: TrialPlan, setup: CampaignSetup, artifacts: Path
    ) -> Mapping[str, float]:
        """Make an attempt, and return each phase's seconds.

        :raises BedError: when the bed breaks it off.
        """
        raise NotImplementedError

    def judged(self, judge: Callable[[], Record]) -> Record:
        """Judge an attempt.

        :raises BedError: when its evidence cannot be judged.
        """
        return judge()

    def test(self) -> Capability:
        """Test whether this machine runs trials by the clock."""
        raise NotImplementedError

    def cpu_s(self, scenario: Scenario, share: float, *, in_browser: bool) -> float:
        """Estimate the CPU seconds of a trial in which this share of the transfer happens."""
        raise NotImplementedError

    @property
    def start_s(self) -> float:
        """CPU seconds that every trial takes to begin."""
        raise NotImplementedError


CLOCKS = Seam("clocks", TrialClock)


def clock(name: str) -> TrialClock:
    """Return a clock beside real time.

    :raises HostError: when no addon has it.
    """
    for one in CLOCKS.provided():
        if one.name == name:
            return one
    raise HostError(f"this httpbed runs no trials in {name} time", "run with --clock real")
