"""Several senders on one bottleneck: the experiment, and what is read of it.

::

    client  ──┐                                 ┌── server
    client2 ──┼── left ══ bottleneck ══ right ──┼── proxy2 ── server2
    client3 ──┘                                 └── server3

Every flow has an access link of its own, which does nothing: so the emulator knows whose packets
are whose, encrypted or not. All begin at once, which is no advantage to any. A proxy that is
looked at has its origin behind it, on another link that does nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from httpbed.analysis.sender.split import Split
from httpbed.experiment.sender import Scale
from httpbed.studies.conformance.document import answering, text
from httpbed.studies.conformance.networks import SIZE
from httpbed.studies.conformance.sender import Sender

FACTOR = "queue"
QUEUES: Mapping[Scale, tuple[str, ...]] = {
    "smoke": ("1 BDP",),
    "standard": ("0.5 BDP", "1 BDP", "4 BDP"),
    "full": ("0.5 BDP", "1 BDP", "4 BDP"),
}
REPLICATES: Mapping[Scale, int] = {"smoke": 1, "standard": 3, "full": 10}
RATE_BIT_S = 10_000_000
ONE_WAY_S = 0.02
TIME_LIMIT_S = 30
SETTLED_S = 5.0
"""From here on the shares are measured: every sender's start is over."""


@dataclass(frozen=True)
class Shared:
    """What one trial of a competition shows."""

    queue: str
    split: Split


@dataclass(frozen=True)
class Competition:
    """What a competition showed."""

    flows: tuple[str, ...]
    """Names of the flows, in the order of their shares."""
    trials: Sequence[Shared]
    manifest: Mapping[str, Any]
    blind: Sequence[str]
    """Trials of which nothing can be said, each with the reason."""
    invalid: bool = False
    """Whether the bed was the reason in any of them."""

    def of(self, queue: str) -> list[Split]:
        """Those with one length of the queue."""
        return [trial.split for trial in self.trials if trial.queue == queue]

    def queues(self) -> list[str]:
        """Lengths of the queue of which there is a trial, in their order."""
        return sorted({trial.queue for trial in self.trials}, key=_packets)

    def as_json(self) -> dict[str, Any]:
        """Return it as values that JSON can hold."""
        return {
            "flows": list(self.flows),
            "rate_bit_s": RATE_BIT_S,
            "rtt_s": 2 * ONE_WAY_S,
            "trials": [
                {
                    "queue": trial.queue,
                    "rates_bit_s": dict(trial.split.rates_bit_s),
                    "shares": trial.split.shares,
                    "jain": trial.split.jain,
                    "queue_delay_s": dict(trial.split.queue_delay_s),
                    "utilisation": trial.split.utilisation,
                }
                for trial in self.trials
            ],
            "blind": list(self.blind),
        }


def names(senders: Sequence[Sender]) -> tuple[str, ...]:
    """Name the flows of a competition, each differently."""
    return tuple(
        f"{number} {sender.algorithm} {sender.implementation} H{sender.http_version}"
        for number, sender in enumerate(senders, start=1)
    )


def access(flow: int) -> int:
    """Direction, in the emulator's log, from a flow's sender to its client; flows count from 0."""
    return 2 * flow + 1


def bottleneck(flows: int) -> int:
    """Direction of the bottleneck towards the clients."""
    return 2 * (2 * flows) + 1


def experiment(senders: Sequence[Sender], scale: Scale, *, seed: int) -> str:
    """Write the experiment file of a competition; the first sender is the one in question."""
    first, flows = senders[0], _by_end(senders)
    competitors = [_competitor(flows[end], end) for end in list(flows)[1:]]
    return f"""\
schema = 1
name = "competition-{first.implementation.replace(".", "-")[:40]}"
question = "How do {len(senders)} senders share one bottleneck?"
replicates = {REPLICATES[scale]}
seed = {seed}
time_limit = "{TIME_LIMIT_S} s"

[factors]
{FACTOR} = [{", ".join(map(text, QUEUES[scale]))}]

[topology]
hosts = [{", ".join(map(text, _hosts(flows)))}]
links = [
{"".join(_links(flows))}]

{_cast(first, "", "roles")}
{"".join(competitors)}[workload]
kind = "download"
size = "{SIZE}"
"""


def _by_end(senders: Sequence[Sender]) -> dict[str, Sender]:
    """Map what the names of each flow's hosts end in to its sender."""
    return {"" if number == 1 else f"{number}": one for number, one in enumerate(senders, start=1)}


def _hosts(flows: Mapping[str, Sender]) -> list[str]:
    clients, servers = ([f"{role}{end}" for end in flows] for role in ("client", "server"))
    return [*clients, "left", "right", *(f"proxy{end}" for end in _proxied(flows)), *servers]


def _links(flows: Mapping[str, Sender]) -> list[str]:
    """Write the links, in the order on which :func:`access` and :func:`bottleneck` count."""
    ends = [(f"client{end}", "left") for end in flows]
    ends += [(f"{sender.role}{end}", "right") for end, sender in flows.items()]
    behind = [(f"proxy{end}", f"server{end}") for end in _proxied(flows)]
    queue = f'queue = {{ limit = {{ factor = "{FACTOR}" }} }}'
    shared = f'rate = "{RATE_BIT_S} bit/s", delay = "{ONE_WAY_S * 1e3:g} ms", {queue}'
    return [
        *(f'    {{ between = ["{one}", "{other}"] }},\n' for one, other in ends),
        f'    {{ between = ["left", "right"], {shared} }},\n',
        *(f'    {{ between = ["{one}", "{other}"] }},\n' for one, other in behind),
    ]


def _proxied(flows: Mapping[str, Sender]) -> list[str]:
    return [end for end, sender in flows.items() if sender.role == "proxy"]


def _competitor(sender: Sender, end: str) -> str:
    return f"[[competitors]]\n\n{_cast(sender, end, 'competitors')}\n"


def _cast(sender: Sender, end: str, place: str) -> str:
    """Write the roles of one flow: its client, and who answers it."""
    return (
        f"[{place}.client]\nimplementation = {text(sender.client)}\n"
        f'host = "client{end}"\nhttp_version = "{sender.http_version}"\n\n'
        + answering(sender, place, end)
    )


def _packets(queue: str) -> float:
    return float(queue.split(maxsplit=1)[0])
