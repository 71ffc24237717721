"""What two versions of an experiment execute differently, key by key.

Two trials of equal levels and block are compared as they run: with factors and profiles filled in,
and with the digests of the files that they name. So a difference is found wherever the author wrote
it, and a title, a question, a claim or a figure is none.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from httpbed.experiment import parser
from httpbed.experiment.document import Document, KeyPath, scenario_document
from httpbed.experiment.trial import Trial

_LONGEST = 80
_ABSENT = object()


@dataclass(frozen=True)
class Difference:
    """A key with another value than before."""

    key: str
    before: str
    """The earlier value as JSON; empty if there was none."""
    now: str
    """The present value as JSON; empty if there is none."""

    def __str__(self) -> str:
        return f"{self.key} was {self.before or 'absent'} and is now {self.now or 'absent'}"

    @property
    def remedy(self) -> str:
        """The way back to the earlier version."""
        return f"{'restore' if self.before else 'remove'} {self.key}"


@dataclass(frozen=True)
class Version:
    """One version of an experiment."""

    document: Document
    """The parsed file."""
    design: Sequence[Trial]

    def treatments(self) -> dict[tuple[tuple[str, str], ...], Trial]:
        """Return the first trial of each treatment, by the treatment's levels."""
        found: dict[tuple[tuple[str, str], ...], Trial] = {}
        for trial in self.design:
            found.setdefault(tuple(sorted(trial.levels.items())), trial)
        return found


def differences(old: Version, new: Version, ran: Collection[str]) -> list[Difference]:
    """List what keeps two versions out of one campaign, each difference once.

    ``ran`` are the identifiers of old trials with an attempt: the new version needs their levels.
    """
    found = [*_header(old, new)]
    if not any(one.key.startswith("factors") for one in found):
        found += [*_of_treatments(old, new), *_of_dropped(old, new, ran)]
    return list(dict.fromkeys(found))


def _header(old: Version, new: Version) -> Iterator[Difference]:
    """Compare the name, the seed and the names of the factors."""
    for key in ("name", "seed"):
        yield from _compared(old.document.get(key), new.document.get(key), (key,))
    before, now = (one.document.get("factors", {}) for one in (old, new))
    for name in dict.fromkeys([*before, *now]):
        if (name in before) != (name in now):
            yield from _compared(
                before.get(name, _ABSENT), now.get(name, _ABSENT), ("factors", name), whole=True
            )


def _of_treatments(old: Version, new: Version) -> Iterator[Difference]:
    """Compare what the trials of a treatment execute."""
    wanted = new.treatments()
    for levels, before in old.treatments().items():
        now = wanted.get(levels)
        if now is None:
            continue
        yield from _compared(before.document, now.document)
        if before.time_limit_s != now.time_limit_s:  # by the file, or by the scenario
            yield from _time_limit(old, new)
        yield from _compared(before.clock, now.clock, ("clock",))


def _of_dropped(old: Version, new: Version, ran: Collection[str]) -> Iterator[Difference]:
    """Compare treatments that ran and that the new version does not run."""
    wanted = new.treatments()
    with_attempts = Version(old.document, [one for one in old.design if one.id in ran])
    for levels, trial in with_attempts.treatments().items():
        if levels in wanted:
            continue
        gone = [*_gone_levels(new.document, trial.levels)]
        yield from gone
        if not gone:
            before, now = (scenario_document(one.document, trial.levels) for one in (old, new))
            yield from _compared(before, now)
            yield from _time_limit(old, new)


def _time_limit(old: Version, new: Version) -> Iterator[Difference]:
    before, now = (one.document.get("time_limit", _ABSENT) for one in (old, new))
    return _compared(before, now, ("time_limit",))


def _gone_levels(document: Document, levels: Mapping[str, str]) -> Iterator[Difference]:
    for name, level in levels.items():
        if level not in document["factors"][name]:
            yield Difference(f"level {_shown(level)} of factors.{name}", "run", "")


def _compared(
    before: Any, now: Any, path: KeyPath = (), *, whole: bool = False
) -> Iterator[Difference]:
    """Yield the keys at and below ``path`` whose values differ; only ``path`` if ``whole``."""
    if before == now:
        return
    if not whole and isinstance(before, Mapping) and isinstance(now, Mapping):
        for key in dict.fromkeys([*before, *now]):
            yield from _compared(before.get(key, _ABSENT), now.get(key, _ABSENT), (*path, key))
    elif (
        not whole and isinstance(before, list) and isinstance(now, list) and len(before) == len(now)
    ):
        for index, (one, other) in enumerate(zip(before, now, strict=True)):
            yield from _compared(one, other, (*path, index))
    else:
        yield Difference(parser.format_path(path), _shown(before), _shown(now))


def _shown(value: Any) -> str:
    if value is _ABSENT:
        return ""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
