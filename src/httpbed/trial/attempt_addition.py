"""What an addon adds to the plan of an attempt, and what it does while the attempt runs.

A plan is made where the schema of experiments is known, and carried out where it is not, perhaps in
a guest. So an addition is a value that can be pickled, and imports what runs it only then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from httpbed.bed.sandbox.sandbox_spec import ProcessSpec
from httpbed.trial.hops import NetworkHop

if TYPE_CHECKING:  # a planner needs neither what runs nor numpy
    import asyncio

    from httpbed.bed.network.running_network import Emulator
    from httpbed.bed.sandbox.supervisor import Supervisor
    from httpbed.store.packet_log import PacketLog


class RunningAddition:
    """An addition while its attempt runs; the runner calls each method at its time.

    A method that raises BedError makes the attempt invalid.
    """

    async def network_is_built(self, emulator: Emulator) -> None:
        """Begin what must see the network before it is used."""

    async def before_clients(self) -> None:
        """Bring about what clients find; the idle round-trip times are measured."""

    def on_trigger(self, name: str) -> None:
        """Take note of a triggered event of the emulator."""

    async def beside_clients(self, ended: asyncio.Event) -> None:
        """Work while clients do, and finish soon after they have ``ended``."""

    async def after_clients(self) -> None:
        """End it; servers have ended, unless a part could not start."""


class AttemptAddition:
    """What one addon adds to one attempt."""

    def programs(self) -> Mapping[str, ProcessSpec]:
        """Return programs of the bed that start before servers, by the folders they write to."""
        return {}

    def before_clients(self) -> tuple[ProcessSpec, ...]:
        """Return the commands of :meth:`RunningAddition.before_clients` and before."""
        return ()

    def reads_packet_log(self) -> bool:
        """Whether :meth:`reduce` needs the log of every packet."""
        return False

    def reduce(self, artifacts: Path, log: PacketLog, hop: NetworkHop) -> None:
        """Reduce the log to a file of the attempt; ``hop`` is the measured client's."""

    def running(
        self, supervisor: Supervisor, artifacts: Path
    ) -> AbstractAsyncContextManager[RunningAddition]:
        """Return the addition as it runs, for the time from before the first program starts."""
        del supervisor, artifacts
        return nullcontext(RunningAddition())

    def imported_later(self) -> tuple[str, ...]:
        """Name the modules that it imports while it runs."""
        return ()

    def described(self) -> dict[str, Any]:
        """Return what ``httpbed plan --json`` says of it, beside its processes."""
        return {}

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield what ``httpbed plan`` writes: indentation and text."""
        yield from ()
