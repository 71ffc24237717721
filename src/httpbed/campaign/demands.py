"""What attempts need, and beside how much they may start: learnt from those that ended.

An attempt's *demand* is the number of CPUs that it needs. While its clients run, the kernel counts
the CPU time of its processes. The set-up before and the judging after take CPU time, too, which no
counter of the attempt has: :data:`OVERHEAD_S` stands for them. So a download of 0.1 s needs much
more than one of 10 s.

What is known of a treatment comes first. The network matters most: a page that loads in 1 s needs a
CPU, the same page needs a fifteenth of one over a link on which it takes 50 s. Before a treatment's
first attempt has ended, its kind tells, which is the same roles and workload over any network, and
before that its client: a program and a version of HTTP.

A mean does not show what a neighbour does to an attempt. Over HTTP/2 the kernel sends and receives
for the programs, over HTTP/3 they wake up for every packet. A browser starts six processes that
need all CPUs at once, and then waits for the network. So attempts also have a *tolerance*: the
demand of others beside which they run. Strained attempts lower it quickly and all others raise it
slowly, so that in the long run about one attempt in twenty is strained. It belongs to a client and
a range of demand: in a page load of a minute the start of the browser does not count, in one of a
second it is nearly all.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from httpbed.experiment.treatment import treatment_key
from httpbed.experiment.trial import Attempt, Trial
from httpbed.trial import verdict

UNKNOWN_DEMAND = 0.2
"""CPUs that an attempt is taken to need of whose client nothing is known: more than most
downloads and less than a browser."""
LEAST_DEMAND = 0.02
OVERHEAD_S = 0.15
"""CPU time of an attempt beside that of its client's run: set-up, tear-down, judging, commit."""
WEIGHT_OF_NEW = 0.3
"""Of an attempt's demand in the running mean (exponential smoothing)."""
LEAST_TOLERANCE = 0.05
"""CPUs that others may need in any case: a few transfers of minutes over slow links."""
FIRST_RANGE = 0.1
"""CPUs at which the first range of demand ends; each further one ends at twice as many."""
LOWER, RAISE = 0.7, 1.019
"""Factors of a tolerance after a strained attempt, and after another one. It stays the same where
the share ``f`` is strained for which ``LOWER**f * RAISE**(1 - f)`` is 1: 5 %."""


@dataclass
class Demands:
    """What attempts need, by treatment, by kind and by client."""

    cpus: float
    """The CPUs of this machine; no client tolerates more at first."""
    _whole: dict[object, float] = field(default_factory=dict)
    """Demand with set-up and judging."""
    _of_clients: dict[object, float] = field(default_factory=dict)
    """Demand while the clients run."""
    _tolerances: dict[tuple[str, int], float] = field(default_factory=dict)

    def of(self, trial: Trial) -> float:
        """Return the CPUs that an attempt at a trial will use."""
        keys = (treatment_key(trial.levels), *_general(trial))
        known = next((self._whole[key] for key in keys if key in self._whole), UNKNOWN_DEMAND)
        return max(known, LEAST_DEMAND)

    def of_client(self, trial: Trial) -> float:
        """Return the CPUs that attempts of the same kind use while their client runs."""
        known = (self._of_clients[key] for key in _general(trial) if key in self._of_clients)
        return next(known, UNKNOWN_DEMAND)

    def tolerance(self, trial: Trial, demand: float) -> float:
        """Return the CPUs that others may need beside an attempt at a trial with such a demand."""
        return self._tolerances.get(_range(trial, demand), self.cpus)

    def learn(self, attempt: Attempt) -> None:
        """Note what an attempt used; a strained one had less than it needed."""
        if attempt.cpus is None:
            return
        strained, whole = verdict.is_strained(attempt), _demand(attempt)
        for key in (treatment_key(attempt.trial.levels), *_general(attempt.trial)):
            _note(self._whole, key, whole, strained=strained)
        for key in _general(attempt.trial):
            _note(self._of_clients, key, attempt.cpus, strained=strained)

    def learn_tolerance(self, attempt: Attempt, beside: float) -> None:
        """Note how an attempt went that started while others needed so many CPUs.

        One that went well beside much less than it tolerates tells nothing.
        """
        demand, strained = attempt.cpus or 0.0, verdict.is_strained(attempt)
        key, before = _range(attempt.trial, demand), self.tolerance(attempt.trial, demand)
        if strained and beside >= LEAST_TOLERANCE:
            self._tolerances[key] = max(LOWER * before, LEAST_TOLERANCE)
        elif not strained and beside >= before / 2:
            self._tolerances[key] = min(RAISE * before, self.cpus)


def _general(trial: Trial) -> Iterator[object]:
    """Yield what attempts at other treatments share with those at this one, the closest first."""
    executed = {name: part for name, part in trial.document.items() if name != "topology"}
    yield json.dumps(executed, sort_keys=True)
    yield _client(trial)


def _range(trial: Trial, demand: float) -> tuple[str, int]:
    """Return the client, and the number of the range of demand."""
    return _client(trial), math.ceil(math.log2(max(demand / FIRST_RANGE, 1.0)))


def _client(trial: Trial) -> str:
    """Return the client's program with its version of HTTP."""
    role = trial.document["roles"]["client"]
    return f"{role['implementation']} {role.get('http_version')}"


def _note(known: dict[object, float], key: object, cpus: float, *, strained: bool) -> None:
    before = known.get(key, cpus)
    known[key] = max(before, cpus) if strained else before + WEIGHT_OF_NEW * (cpus - before)


def _demand(attempt: Attempt) -> float:
    """Return the CPUs that an attempt needed: while its client ran, or on average if that is more.

    :attr:`Attempt.cpus` must be known.
    """
    of_client, client_s = attempt.cpus or 0.0, attempt.phases_s.get("client", 0.0)
    whole_s = sum(attempt.phases_s.values())
    return max(of_client, (of_client * client_s + OVERHEAD_S) / whole_s) if whole_s else of_client
