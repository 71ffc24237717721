"""The groups of senders that the bench asks for names, with what each really sends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from httpbed.addons.conformance import conformance_session as session
from httpbed.addons.conformance.fingerprint import Conditions, Fingerprint, fingerprint
from httpbed.addons.conformance.properties import SenderTransfer
from httpbed.addons.conformance.sender import Sender
from httpbed.addons.conformance.sender_selection import SenderOptions, choose
from httpbed.bed.machine import backend
from httpbed.campaign.settings import Parallelism, RunSettings
from httpbed.cli import experiment_argument
from httpbed.experiment.roles import TCP_CONTROLS

BUFFER = {"http3_stream_buffer_size": "10m"}
"""nginx's default holds the window at 64 kB."""
KERNEL = tuple(SenderOptions("nginx", control, "1.1") for control in TCP_CONTROLS)
BBR3 = SenderOptions("gtlsserver", "bbr", "3")
VERSION_1 = frozenset({("nginx", "bbr"), ("quinn", "bbr"), ("envoy", "bbr"), ("bun", "bbr")})
"""Senders whose BBR is version 1; picoquic calls its own bbr1."""


def stacks() -> Iterator[SenderOptions]:
    """Yield the QUIC senders of the toolbox that have no part in the references."""
    yield SenderOptions("nginx", None, "3", BUFFER)
    offered = {
        "gtlsserver": ("cubic", "reno"),
        "httpbed-quiche": ("reno", "cubic", "bbr2"),
        "haproxy": ("bbr", "reno", "cubic"),
        "envoy": ("bbr", "cubic", "bbr2"),
        "quinn": ("cubic", "reno", "bbr"),
        "aioquic": ("reno", "cubic"),
        "picoquic": ("cubic", "bbr", "reno", "bbr1"),
    }
    for name, controls in offered.items():
        yield from (SenderOptions(name, control, "3") for control in controls)
    yield SenderOptions("quic-go", None, "3")
    yield SenderOptions("nginx-1.26", None, "3", BUFFER)
    yield SenderOptions("bun", None, "3", client="quic-go")


@dataclass(frozen=True)
class Group:
    """Senders, each with every seed and condition."""

    senders: tuple[SenderOptions, ...]
    seeds: tuple[int, ...]
    conditions: tuple[Conditions, ...] = field(default=(Conditions(),))


TRAINING = Group((*KERNEL, BBR3), (1, 2))
GROUPS: Mapping[str, Group] = {
    "seeds": Group((*KERNEL, BBR3), (11,)),
    "networks": Group((*KERNEL, BBR3), (13,), (Conditions(1_500_000, 0.24, 450),)),
    "stacks": Group(tuple(stacks()), (21,)),
}


@dataclass(frozen=True)
class Seen:
    """A sender with one seed, and what its packets show."""

    sender: str
    truth: str
    """The reference that it should have."""
    seed: int
    transfers: tuple[SenderTransfer, ...]
    fingerprint: Fingerprint


def transfers(group: Group, folder: Path) -> Iterator[Seen]:
    """Run a group's trials, or continue them in the folder, and yield what they show."""
    catalog = experiment_argument.catalog(())
    settings = RunSettings(backend=backend.choose(None), command="make bench-identify", log=True)
    settings = replace(settings, jobs=Parallelism(1))
    for place, conditions in enumerate(group.conditions):
        for seed in group.seeds:
            for sender in (choose(catalog, replace(o, unknown_as="reno")) for o in group.senders):
                name = f"{sender.implementation}-{sender.transport}-{sender.algorithm}"
                test = session.prepare_identification(sender, catalog, "virtual", conditions, seed)
                evidence = session.run(
                    test,
                    folder / f"{name}-{seed}-{place}",
                    settings,
                    tell=lambda _: None,
                    say=lambda _: None,
                )
                every = tuple(evidence.transfers.every)
                yield Seen(named(sender), truth(sender), seed, every, fingerprint(every))


def named(sender: Sender) -> str:
    """Name a sender in few words."""
    return f"{sender.implementation} {sender.http_version} {sender.algorithm}"


def truth(sender: Sender) -> str:
    """Return the reference that a sender should have."""
    control = {"newreno": "reno", "bbr1": "bbr", "bbr2": "bbr3"}.get(
        sender.algorithm, sender.algorithm
    )
    if control == "bbr" and sender.algorithm != "bbr1":
        return "bbr" if (sender.implementation, control) in VERSION_1 else "bbr3"
    return control
