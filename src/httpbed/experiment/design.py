"""The design of an experiment, how it grows, and how two versions of it differ.

A design is the ordered list of trials, in randomised complete blocks.

Each block runs each treatment once, in a random order of its own (Fisher 1935). Drift of the
machine over minutes affects all treatments of a block alike, so comparisons are made within blocks.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from httpbed.base import seeds
from httpbed.experiment import parser
from httpbed.experiment.document import Document, KeyPath, scenario_document
from httpbed.experiment.experiment import Experiment
from httpbed.experiment.factorial import treatment_key
from httpbed.experiment.scenario import ScenarioReader
from httpbed.experiment.trial import Trial


def design(
    experiment: Experiment,
    document: Mapping[str, Any],
    completed: Callable[[dict[str, Any]], dict[str, Any]] = dict,
    blocks: Mapping[tuple[str, ...], int] | None = None,
) -> list[Trial]:
    """List the trials of an experiment in the order in which they run.

    ``completed`` adds to a scenario's document what only the machine knows, such as the digests of
    files. ``blocks`` gives the number of blocks in which a treatment runs, by its levels; by
    default all.
    """
    treatments = list(experiment.treatments())
    documents = [completed(scenario_document(document, levels)) for levels in treatments]
    scenarios = ScenarioReader()
    limits = [experiment.time_limit_s(scenarios.read(scenario)) for scenario in documents]
    trials = []
    for block in range(1, experiment.blocks + 1):
        order = [
            index
            for index, levels in enumerate(treatments)
            if blocks is None or block <= blocks[treatment_key(levels)]
        ]
        seeds.block_order(experiment.seed, block).shuffle(order)
        trials += [
            Trial(
                block=block,
                position=position,
                levels=treatments[index],
                document=documents[index],
                seed=experiment.seed,
                time_limit_s=limits[index],
                clock=experiment.clock,
            )
            for position, index in enumerate(order, start=1)
        ]
    return trials


# How the design of a campaign follows an experiment file that asks for other trials.
#
# A trial's identifier is the hash of what it executes. It does not depend on the number of blocks,
# treatments or groups, so a larger experiment contains the trials of a smaller one. Three rules
# follow:
#
# * A trial that ran stays in the design, at its position, also if the file no longer asks for it.
# * A block in which no trial ran gets the order that a new campaign gives it.
# * In a block in which trials ran, further trials come after them, in random order. They run at
#   another time than the rest of their block, so :attr:`Growth.joined` names these blocks.


@dataclass(frozen=True)
class Growth:
    """The step from the design of a campaign to the one that an experiment asks for."""

    design: tuple[Trial, ...]
    """All trials in order: those that the experiment asks for, and those that ran."""
    added: tuple[Trial, ...]
    left: tuple[Trial, ...]
    """Trials of the earlier design that never ran and that the experiment does not ask for."""
    kept: tuple[Trial, ...]
    """Trials that ran and that the experiment does not ask for."""
    joined: tuple[int, ...]
    """Blocks in which trials ran and to which trials were added."""

    @property
    def changes_trials(self) -> bool:
        """Whether the design has other trials than before."""
        return bool(self.added or self.left)


def grown(old: Sequence[Trial], wanted: Sequence[Trial], ran: Collection[str]) -> Growth:
    """Return the design that contains what ran and what is wanted.

    ``ran`` are the identifiers of trials with an attempt. The trials of ``old`` and ``wanted`` with
    equal levels execute the same (:mod:`httpbed.experiment.design`).
    """
    old_trials, needed = _by_id(old), _by_id(wanted)
    added = tuple(trial for name, trial in needed.items() if name not in old_trials)
    begun = {trial.block for name, trial in old_trials.items() if name in ran}
    growth = Growth(
        design=tuple(old),
        added=added,
        left=tuple(
            trial for name, trial in old_trials.items() if name not in needed and name not in ran
        ),
        kept=tuple(
            trial for name, trial in old_trials.items() if name not in needed and name in ran
        ),
        joined=tuple(sorted(begun & {trial.block for trial in added})),
    )
    if not growth.changes_trials:
        return growth
    staying = [trial for name, trial in old_trials.items() if name in ran or name in needed]
    design = _joined_blocks(old, staying, added, begun)
    design += [trial for trial in needed.values() if trial.block not in begun]
    ordered = sorted(design, key=lambda trial: (trial.block, trial.position))
    return replace(growth, design=tuple(ordered))


def _by_id(trials: Iterable[Trial]) -> dict[str, Trial]:
    return {trial.id: trial for trial in trials}


def _joined_blocks(
    old: Sequence[Trial], staying: Iterable[Trial], added: Iterable[Trial], begun: Collection[int]
) -> list[Trial]:
    """Return the trials of the blocks that began: first those that stay, then the added ones."""
    last = defaultdict[int, int](int)
    for trial in old:
        last[trial.block] = max(last[trial.block], trial.position)
    design = [trial for trial in staying if trial.block in begun]
    for trial in added:
        if trial.block in begun:
            last[trial.block] += 1
            design.append(trial.model_copy(update={"position": last[trial.block]}))
    return design


# What two versions of an experiment execute differently, key by key.
#
# Two trials of equal levels and block are compared as they run: with factors and profiles filled
# in, and with the digests of the files that they name. So a difference is found wherever the author
# wrote it, and a title, a question, a claim or a figure is none.


_LONGEST_SHOWN = 80
_ABSENT = object()
CLOCK = "clock"


OF_FILES = (".sha256", ".rate.mean")
"""Keys that httpbed adds to a table with the name of a trace or a record."""


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
        if self.key == CLOCK:  # the option decides, whatever the file says
            return f"give --clock {json.loads(self.before)}"
        if self.key.endswith(OF_FILES):
            return f"restore the file that {self.key.rpartition('.')[0]} names"
        return f"{'restore' if self.before else 'remove'} {self.key}"


@dataclass(frozen=True)
class Version:
    """One version of an experiment."""

    document: Document
    """The parsed file."""
    design: Sequence[Trial]

    def treatments(self) -> dict[tuple[tuple[str, str], ...], Trial]:
        """Return the first trial of each treatment, by the treatment's levels."""
        first: dict[tuple[tuple[str, str], ...], Trial] = {}
        for trial in self.design:
            first.setdefault(tuple(sorted(trial.levels.items())), trial)
        return first


def differences(old: Version, new: Version, ran: Collection[str]) -> list[Difference]:
    """List what keeps two versions out of one campaign, each difference once.

    ``ran`` are the identifiers of old trials with an attempt: the new version needs their levels.
    """
    differences = [*_header_differences(old, new)]
    if not any(difference.key.startswith("factors") for difference in differences):
        differences += [*_of_treatments(old, new), *_of_dropped(old, new, ran)]
    return list(dict.fromkeys(differences))


def _header_differences(old: Version, new: Version) -> Iterator[Difference]:
    """Compare the name, the seed and the names of the factors."""
    for key in ("name", "seed"):
        yield from _compared(old.document.get(key), new.document.get(key), (key,))
    before, now = (version.document.get("factors", {}) for version in (old, new))
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
        yield from _compared(before.clock, now.clock, (CLOCK,))


def _of_dropped(old: Version, new: Version, ran: Collection[str]) -> Iterator[Difference]:
    """Compare treatments that ran and that the new version does not run."""
    wanted = new.treatments()
    with_attempts = Version(old.document, [trial for trial in old.design if trial.id in ran])
    for levels, trial in with_attempts.treatments().items():
        if levels in wanted:
            continue
        gone = [*_gone_levels(new.document, trial.levels)]
        yield from gone
        if not gone:
            before, now = (
                scenario_document(version.document, trial.levels) for version in (old, new)
            )
            yield from _compared(before, now)
            yield from _time_limit(old, new)


def _time_limit(old: Version, new: Version) -> Iterator[Difference]:
    before, now = (version.document.get("time_limit", _ABSENT) for version in (old, new))
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
        for index, pair in enumerate(zip(before, now, strict=True)):
            yield from _compared(*pair, (*path, index))
    else:
        yield Difference(parser.format_path(path), _shown(before), _shown(now))


def _shown(value: Any) -> str:
    if value is _ABSENT:
        return ""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 3]}..."
