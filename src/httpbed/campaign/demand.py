"""Estimates the demand of attempts, and their tolerance, from those that ended.

# Theory of operation

The *demand* of an attempt is the number of CPUs that it needs. While its clients run, the kernel
counts the CPU time of its processes. No counter of the attempt includes the set-up before and the
judging after; :data:`OVERHEAD_S` stands for them. So a download of 0.1 s needs much more than one
of 10 s.

Earlier attempts at the same treatment give the best estimate. The network matters most: a page
that loads in 1 s needs a CPU, the same page needs a fifteenth of one over a link on which it
takes 50 s. Before the first attempt at a treatment has ended, attempts of its kind give the
estimate: the same roles and workload over any network. Before that, attempts with its client do:
the same program and version of HTTP.

A mean does not show what neighbours do to an attempt. Over HTTP/2 the kernel sends and receives
for the programs; over HTTP/3 they wake up for every packet. A browser starts six processes that
need all CPUs at once, and then waits for the network. So an attempt also has a *tolerance*: the
demand of others beside which it runs. A strained attempt (one that is invalid because the machine
was busy) lowers the tolerance much, every other attempt raises it a little. In equilibrium one
attempt in ten is strained. A tolerance belongs to a client and a range of demand, because the
start of a browser is nearly all of a page load of a second, and little of one of a minute.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Self, TypeVar

from httpbed.experiment.factorial import TreatmentKey, treatment_key
from httpbed.experiment.trial import Attempt, Trial
from httpbed.trial import verdict

K = TypeVar("K")
UNKNOWN_DEMAND = 0.2
"""Estimate for a client without earlier attempts, in CPUs: more than most downloads need, and less
than a browser."""
MIN_DEMAND = 0.02
OVERHEAD_S = 0.15
"""CPU time of an attempt beside that of its client's run: set-up, tear-down, judging, commit."""
WEIGHT_OF_NEW = 0.3
"""Weight of an attempt's demand in the running mean (exponential smoothing)."""
MIN_TOLERANCE = 0.05
"""Smallest tolerance, in CPUs: a few transfers of minutes over slow links may run beside any
attempt."""
FIRST_RANGE = 0.1
"""CPUs at which the first range of demand ends; each further one ends at twice as many."""
LOWER, RAISE = 0.7, 1.04
"""Factors of a tolerance after a strained attempt, and after another one. It stays the same where
the share ``f`` is strained for which ``LOWER**f * RAISE**(1 - f)`` is 1: 10 %."""
INFORMATIVE_SHARE = 0.25
"""An attempt beside a smaller share of its tolerance does not change the tolerance."""


@dataclass(frozen=True)
class Keys:
    """What attempts have in common, from the closest to the most general."""

    treatment: TreatmentKey
    kind: str
    """Roles and workload, without the network."""
    client: str
    """The client's program and version of HTTP."""

    @classmethod
    def of(cls, trial: Trial) -> Self:
        """Return the keys of a trial's attempts."""
        executed = {name: part for name, part in trial.document.items() if name != "topology"}
        role = executed["roles"]["client"]
        client = f"{role['implementation']} {role.get('http_version')}"
        return cls(treatment_key(trial.levels), json.dumps(executed, sort_keys=True), client)


@dataclass
class Demands:
    """Demands and tolerances, learnt from attempts that ended."""

    cpus: float
    """The CPUs that this process may count on; no client tolerates more at first."""
    _whole: dict[object, float] = field(default_factory=dict)
    """Demand with set-up and judging, by each of the keys."""
    _of_clients: dict[str, float] = field(default_factory=dict)
    """Demand while the clients run, by kind and by client."""
    _tolerances: dict[tuple[str, int], float] = field(default_factory=dict)
    """By client and range of demand."""

    def of(self, keys: Keys) -> float:
        """Return the estimated demand of an attempt, in CPUs."""
        for key in (keys.treatment, keys.kind, keys.client):
            if (known := self._whole.get(key)) is not None:
                return max(known, MIN_DEMAND)
        return UNKNOWN_DEMAND

    def of_client(self, keys: Keys) -> float:
        """Return the estimated demand while the client runs, in CPUs."""
        of_client = self._of_clients.get(keys.client, UNKNOWN_DEMAND)
        return self._of_clients.get(keys.kind, of_client)

    def tolerance(self, keys: Keys, demand: float) -> float:
        """Return the demand of others, in CPUs, beside which an attempt with this demand runs."""
        return self._tolerances.get(_range(keys, demand), self.cpus)

    def learn(self, attempt: Attempt) -> None:
        """Learn the demand of an attempt; a strained one had fewer CPUs than it needed."""
        if attempt.cpus is None:
            return
        keys, strained = Keys.of(attempt.trial), verdict.is_strained(attempt)
        whole = _demand(attempt)
        for key in (keys.treatment, keys.kind, keys.client):
            _note(self._whole, key, whole, strained=strained)
        for key in (keys.kind, keys.client):
            _note(self._of_clients, key, attempt.cpus, strained=strained)

    def learn_tolerance(self, keys: Keys, demand: float, beside: float, *, strained: bool) -> None:
        """Learn from an attempt with this demand that ran while others had the demand ``beside``.

        Work outside the campaign may strain an attempt, too. So an attempt beside much less than
        the tolerance does not change it.
        """
        before = self.tolerance(keys, demand)
        if beside < INFORMATIVE_SHARE * before:
            return
        after = max(LOWER * before, MIN_TOLERANCE) if strained else min(RAISE * before, self.cpus)
        self._tolerances[_range(keys, demand)] = after


def _range(keys: Keys, demand: float) -> tuple[str, int]:
    """Return the client, and the number of the range of demand."""
    return keys.client, math.ceil(math.log2(max(demand / FIRST_RANGE, 1.0)))


def _note(known: dict[K, float], key: K, cpus: float, *, strained: bool) -> None:
    before = known.get(key, cpus)
    known[key] = max(before, cpus) if strained else before + WEIGHT_OF_NEW * (cpus - before)


def _demand(attempt: Attempt) -> float:
    """Return the CPUs that an attempt needed: while its client ran, or on average if that is more.

    :attr:`Attempt.cpus` must be known.
    """
    of_client, client_s = attempt.cpus or 0.0, attempt.phases_s.get("client", 0.0)
    whole_s = sum(attempt.phases_s.values())
    return max(of_client, (of_client * client_s + OVERHEAD_S) / whole_s) if whole_s else of_client
