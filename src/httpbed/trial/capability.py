"""Whether the chosen backend can do what an experiment asks of its links."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from httpbed.host.backend import Backend
from httpbed.model import reading
from httpbed.model.errors import ConfigError, Mistake
from httpbed.model.experiment import fill, values
from httpbed.model.trial import Trial
from httpbed.network import kernel
from httpbed.network.kernel import Unable
from httpbed.trial.preparation import Loaded

_LINK = ("topology", "links", 0)


def require(loaded: Loaded, backend: Backend) -> None:
    """Refuse what the kernel's disciplines cannot do; the emulator can do everything.

    Raises:
        ConfigError: With every place, of every treatment.
    """
    if backend in {"af_packet", "tun"}:
        return
    found = [*_mistakes(loaded, "tbf" if backend == "tbf" else "netem")]
    if found:
        raise ConfigError(dict.fromkeys(found))


def _mistakes(loaded: Loaded, kind: kernel.Kind) -> Iterator[Mistake]:
    for trial in loaded.trials:
        if trial.block == 1:  # every block has all treatments
            for unable in kernel.unable(kind, trial.scenario().link):
                yield _mistake(loaded.document, trial, unable)


def _mistake(document: Mapping[str, Any], trial: Trial, unable: Unable) -> Mistake:
    said = fill(document["topology"], values(document, trial.levels))  # profiles not filled in
    link = said["links"][0]
    place, used_at = reading.place_of(document, (*_LINK, *_said(link, unable)), trial.levels)
    return Mistake(place, unable.reason + used_at, unable.remedy)


def _said(link: Mapping[str, Any], unable: Unable) -> tuple[str | int, ...]:
    """Find where an author said it: for the direction, for both, or by naming a profile."""
    side, key = unable.side, unable.key
    if side is not None and key[0] in link.get(side, {}):
        return (side, *key)
    return ("profile",) if key[0] not in link and "profile" in link else key
