"""Estimates the demand of attempts, and their tolerance, from those that ended.

The *demand* of an attempt is the number of CPUs that it needs. While its clients run, the kernel
counts the CPU time of its processes. No counter of the attempt includes the set-up before and the
judging after; :data:`OVERHEAD_S` stands for them. So a download of 0.1 s needs much more than one
of 10 s.

Earlier attempts at the same treatment give the best estimate. The network matters most: a page that
loads in 1 s needs a CPU, the same page needs a fifteenth of one over a link on which it takes 50 s.
Before the first attempt at a treatment has ended, attempts of its kind give the estimate: the same
roles and workload over any network. Before that, attempts with its client do: the same program and
version of HTTP.

A mean does not show what neighbours do to an attempt. Over HTTP/2 the kernel sends and receives for
the programs; over HTTP/3 they wake up for every packet. A browser starts six processes that need
all CPUs at once, and then waits for the network. So an attempt also has a *tolerance*: the demand
of others beside which it runs. A strained attempt lowers the tolerance much, every other attempt
raises it a little. In equilibrium one attempt in ten is strained. A tolerance belongs to a
client and a range of demand, because the start of a browser is nearly all of a page load of a
second, and little of one of a minute.
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
"""Estimate for a client without earlier attempts, in CPUs: more than most downloads need, and less
than a browser."""
LEAST_DEMAND = 0.02
OVERHEAD_S = 0.15
"""CPU time of an attempt beside that of its client's run: set-up, tear-down, judging, commit."""
WEIGHT_OF_NEW = 0.3
"""Of an attempt's demand in the running mean (exponential smoothing)."""
LEAST_TOLERANCE = 0.05
"""CPUs that others may need in any case: a few transfers of minutes over slow links."""
FIRST_RANGE = 0.1
"""CPUs at which the first range of demand ends; each further one ends at twice as many."""
LOWER, RAISE = 0.7, 1.04
"""Factors of a tolerance after a strained attempt, and after another one. It stays the same where
the share ``f`` is strained for which ``LOWER**f * RAISE**(1 - f)`` is 1: 10 %. With 5 %, a mixed
grid took twice as long."""


@dataclass
class Demands:
    """Demands and tolerances, by treatment, by kind and by client."""

    cpus: float
    """The CPUs of this machine; no client tolerates more at first."""
    _whole: dict[object, float] = field(default_factory=dict)
    """Demand with set-up and judging."""
    _of_clients: dict[object, float] = field(default_factory=dict)
    """Demand while the clients run."""
    _tolerances: dict[tuple[str, int], float] = field(default_factory=dict)

    def of(self, trial: Trial) -> float:
        """Return the estimated demand of an attempt at a trial, in CPUs."""
        keys = (treatment_key(trial.levels), *_general(trial))
        known = next((self._whole[key] for key in keys if key in self._whole), UNKNOWN_DEMAND)
        return max(known, LEAST_DEMAND)

    def of_client(self, trial: Trial) -> float:
        """Return the estimated demand while the client runs, in CPUs."""
        known = (self._of_clients[key] for key in _general(trial) if key in self._of_clients)
        return next(known, UNKNOWN_DEMAND)

    def tolerance(self, trial: Trial, demand: float) -> float:
        """Return the demand of others, in CPUs, beside which an attempt with this demand runs."""
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
        """Learn from an attempt that started while others had the demand ``beside``.

        A valid attempt beside much less than the tolerance does not change it.
        """
        demand, strained = attempt.cpus or 0.0, verdict.is_strained(attempt)
        key, before = _range(attempt.trial, demand), self.tolerance(attempt.trial, demand)
        if strained and beside >= LEAST_TOLERANCE:
            self._tolerances[key] = max(LOWER * before, LEAST_TOLERANCE)
        elif not strained and beside >= before / 2:
            self._tolerances[key] = min(RAISE * before, self.cpus)


def _general(trial: Trial) -> Iterator[object]:
    """Yield the keys of a trial's kind and client."""
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
