"""The suite of envelopes: a sender beside the kernel's Reno and CUBIC, against each of them there.

The networks are those of BCP 133 with such a flow, so that suite has the figures, too. Here the
flows last three times as long: the hull of few points is mostly chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from httpbed.addons.conformance import bcp133
from httpbed.addons.conformance.envelope import EPOCH_ROUND_TRIPS, Envelope, envelope
from httpbed.addons.conformance.networks import Network
from httpbed.addons.conformance.properties import OPEN, PropertyResult, Transfers, within
from httpbed.addons.conformance.sender import Control, Scale

KERNELS: Mapping[str, str] = {"beside reno": "reno", "beside cubic": "cubic"}
"""The reference in whose place the sender is, by network."""
LASTS_S = 60.0


def networks(scale: Scale, control: Control) -> tuple[Network, ...]:
    """Return the networks, which are the same at every scale."""
    del scale
    every = bcp133.networks("standard", control)
    return tuple(replace(network, lasts_s=LASTS_S) for network in every if network.name in KERNELS)


@dataclass(frozen=True)
class NetworkEnvelopes:
    """The envelopes of a network."""

    network: Network
    kernel: str
    """The name of the reference that the others are compared with."""
    references: Mapping[str, Envelope]
    """By name, without those that span no region."""
    sender: Envelope | None
    """Of the sender under test."""
    second: Envelope | None
    """Of the flow beside the kernel's, which is the same sender: the control."""


def by_network(transfers: Transfers) -> Iterator[NetworkEnvelopes]:
    """Yield the envelopes of each planned network."""
    references = bcp133.with_references(transfers).references
    for network in transfers.planned:
        if kernel := KERNELS.get(network.name):
            seen = {name: _envelope(trials, network) for name, trials in references.items()}
            known = {name: region for name, region in seen.items() if region is not None}
            second = _envelope(references[kernel], network, flow=1)
            yield NetworkEnvelopes(network, kernel, known, _envelope(transfers, network), second)


def _envelope(transfers: Transfers, network: Network, flow: int = 0) -> Envelope | None:
    return envelope(trial.split.epochs[flow] for trial in transfers.sharing(network.name))


def judge(control: Control, transfers: Transfers) -> list[PropertyResult]:
    """Compare the envelopes of each network; nothing bounds the figures."""
    del control
    results = list[PropertyResult]()
    for envelopes in by_network(transfers):
        title = envelopes.network.title
        trials = len(transfers.sharing(envelopes.network.name))
        for figure, unit, values in _figures(envelopes):
            result = within(f"envelope {title}: {figure}", [values[""]] * trials, OPEN, unit)
            others = {name: values.get(name) for name in bcp133.REFERENCES}
            results.append(replace(result, references=others, network=title))
    return results


def _figures(
    envelopes: NetworkEnvelopes,
) -> Iterator[tuple[str, str, Mapping[str, float | None]]]:
    """Yield each figure with its unit and its values, that of the sender under no name.

    The value under the name of the network's own kernel is that of the control. Its two flows
    differ in nothing, so more is not to be expected of points as few as these.
    """
    kernel = envelopes.references.get(envelopes.kernel)
    alike: dict[str, float | None] = {"": None}
    moved, later, faster = dict(alike), dict(alike), dict(alike)
    compared = {"": envelopes.sender, **envelopes.references, envelopes.kernel: envelopes.second}
    for name, other in compared.items():
        if kernel is not None and other is not None:
            move = other.moved_to(kernel)
            alike[name], moved[name] = other.conformance(kernel), move.conformance
            later[name], faster[name] = move.delay_ms, move.throughput_mbit_s
    yield "conformance", "of 1", alike
    yield "conformance-T", "of 1", moved
    yield "more delay", "ms", later
    yield "more throughput", "Mbit/s", faster


def notes(transfers: Transfers) -> Iterator[str]:
    """Yield what the figures are."""
    for envelopes in by_network(transfers):
        kernel, sender = envelopes.references.get(envelopes.kernel), envelopes.sender
        if kernel is not None and sender is not None:
            title = bcp133.TITLES[envelopes.kernel]
            yield (
                f"envelope {envelopes.network.title}: {len(sender.points)} points of the sender and"
                f" {len(kernel.points)} of the kernel's {title}, one for each {EPOCH_ROUND_TRIPS}"
                " round trips. Conformance is the share of them in the envelope of the other;"
                f" conformance-T is that after the best move. The figures of {title} compare the"
                " two flows of one trial: they differ in nothing, so these points cannot show more"
            )
