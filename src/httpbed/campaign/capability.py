"""Checks that machine and backend support an experiment's network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from httpbed.base.errors import ConfigError, Mistake
from httpbed.bed.machine.backend import Backend, require_ip
from httpbed.bed.network import kernel
from httpbed.bed.network.kernel import UnsupportedKey
from httpbed.campaign.addition import clock
from httpbed.campaign.preparation import LoadedExperiment
from httpbed.experiment import parser
from httpbed.experiment.document import fill, level_values
from httpbed.experiment.trial import Trial

_REMEDY = "choose another kind, or run without --link-backend"


def require(loaded: LoadedExperiment, backend: Backend) -> None:
    """Refuse what the kernel's disciplines do not support; the emulator supports everything.

    Raises:
        ConfigError: With every place in every treatment; or the trials are in virtual time.
        HostError: The kernel does not support the IP version, or the processor has no guests.
    """
    if loaded.experiment.clock != "real":
        clock(loaded.experiment.clock).refuse(backend)
        return
    for version in sorted({scenario.topology.ip_version for scenario in loaded.scenarios()}):
        require_ip(version)
    if backend in {"af_packet", "tun"}:
        return
    found = [*_mistakes(loaded, "tbf" if backend == "tbf" else "netem")]
    if found:
        raise ConfigError(dict.fromkeys(found))


def _mistakes(loaded: LoadedExperiment, kind: kernel.Kind) -> Iterator[Mistake]:
    document = loaded.document
    for trial in loaded.trials:
        if trial.block > 1:  # every block has all treatments
            continue
        scenario = trial.scenario()
        for index, link in enumerate(scenario.topology.links):
            for unable in kernel.unable(kind, link):
                yield _mistake(document, trial, index, unable)
        if reason := kernel.unable_to_hand_over(kind, scenario.handover):
            path = ("handover", "kind")
            yield parser.mistake_at(document, path, trial.levels, reason, _REMEDY)


def _mistake(
    document: Mapping[str, Any], trial: Trial, index: int, unable: UnsupportedKey
) -> Mistake:
    described = fill(document["topology"], level_values(document, trial.levels))  # without profiles
    path = ("topology", "links", index, *_written_path(described["links"][index], unable))
    return parser.mistake_at(document, path, trial.levels, unable.reason, unable.remedy)


def _written_path(link: Mapping[str, Any], unable: UnsupportedKey) -> tuple[str | int, ...]:
    """Return the keys that the author wrote: of the direction, of both, or of a profile."""
    side, key = unable.side, unable.key
    if side is not None and key[0] in link.get(side, {}):
        return (side, *key)
    return ("profile",) if key[0] not in link and "profile" in link else key
