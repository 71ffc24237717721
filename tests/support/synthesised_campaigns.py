"""Campaigns of any size, made without running a trial: each attempt varies a recorded one.

A synthesised attempt has the checks, the observations and the artifacts of the attempt with the
same HTTP version in ``tests/recorded``, judged by today's checks. Its request time is drawn from a
lognormal distribution around what the link needs at least, and all other times, and the figures of
some checks, vary with it. The product's own code plans the trials and commits the attempts, so
``httpbed verify`` accepts the campaign.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import cache
from unittest import mock

import recorded
from httpbed.base import units
from httpbed.experiment.check import LATENESS, PRESSURE, ROUND_TRIP_TIME
from httpbed.experiment.metric import METRICS, Observation
from httpbed.experiment.trial import Attempt, Check, Outcome, OutcomeKind, Record, Trial
from httpbed.store.campaign import Campaign

NETWORK = {
    "size": ["10 kB", "100 kB", "300 kB", "1 MB", "3 MB"],
    "loss": ["0 %", "0.5 %", "1 %", "2 %", "4 %"],
    "rate": ["5 Mbit/s", "10 Mbit/s", "20 Mbit/s", "50 Mbit/s", "100 Mbit/s"],
    "delay": ["5 ms", "20 ms", "40 ms", "80 ms"],
}
"""Factors beside the HTTP version, each with its levels."""
VERSIONS = ["2", "3"]
TEMPLATES = {"2": recorded.H2_LOSS, "3": recorded.H3_CLEAN}
"""The recorded attempt of each HTTP version."""
BEGAN = datetime(2026, 11, 21, 12, tzinfo=UTC)
SPREAD = 0.06
"""Standard deviation of the logarithm of a treatment's request times."""
INVALID_SHARE, TIMED_OUT_SHARE, FAILED_SHARE = 0.01, 0.004, 0.002
"""Of the trials: with an invalid attempt before the one that counts; that do not complete."""
WORKERS = 4

TEXT = """\
schema = 1
name = "synthesised"
question = "Does HTTP/3 fetch files faster than HTTP/2 over {networks} networks?"
replicates = {blocks}
seed = 20261121

[factors]
http_version = {versions}
{factors}

[topology]
hosts = ["client", "server"]

[[topology.links]]
between = ["client", "server"]
rate = {{ factor = "rate" }}
delay = {{ factor = "delay" }}
loss = {{ factor = "loss" }}
queue = {{ discipline = "droptail", limit = "1000 packets" }}

[roles.client]
implementation = "curl"
http_version = {{ factor = "http_version" }}

[roles.server]
implementation = "nginx"
congestion_control = "cubic"

[workload]
kind = "download"
size = {{ factor = "size" }}

[report]
metric = "request_time"
base = {{ http_version = "2" }}

[[claim]]
id = "h3-faster"
says = "With losses HTTP/3 needs less time than HTTP/2"
metric = "request_time"
where = {{ loss = {lossy} }}
over = ["size", "loss", "rate", "delay"]
compare = {{ of = {{ http_version = "3" }}, to = {{ http_version = "2" }} }}
expect = "< 1"
"""


def text(trials: int, levels: int = 5) -> str:
    """Return an experiment of at least so many trials, with so many levels of each factor."""
    factors = {name: some[:levels] for name, some in NETWORK.items()}
    treatments = len(VERSIONS)
    for some in factors.values():
        treatments *= len(some)
    return TEXT.format(
        networks=treatments // len(VERSIONS) // len(factors["size"]),
        blocks=-(-trials // treatments),
        versions=_toml(VERSIONS),
        factors="\n".join(f"{name} = {_toml(some)}" for name, some in factors.items()),
        lossy=_toml(factors["loss"][1:]),
    )


def _toml(texts: Sequence[str]) -> str:
    return json.dumps(list(texts))


def commit(campaign: Campaign, *, leave_out: int = 0) -> int:
    """Commit attempts at all trials of a campaign but the last few; return how many.

    Their files are not flushed to the disk: a synthesised campaign need not survive a power cut.
    """
    design = campaign.design()
    trials = design[: len(design) - leave_out]
    with mock.patch.object(os, "fsync"), ThreadPoolExecutor(WORKERS) as pool:
        return sum(pool.map(lambda trial: _commit(campaign, trial), trials))


def _commit(campaign: Campaign, trial: Trial) -> int:
    number = 0
    for number, record in enumerate(records(trial), start=1):
        folder = campaign.unfinished(trial, number)
        shutil.copytree(_artifacts(trial), folder / "artifacts")
        campaign.commit(record, folder)
    return number


def _artifacts(trial: Trial) -> str:
    return str(recorded.artifacts(TEMPLATES[trial.levels["http_version"]]))


def records(trial: Trial) -> Iterator[Record]:
    """Yield the attempts at a trial: an invalid one before some, then the one that counts."""
    draw = random.Random(trial.id)  # noqa: S311 - values of a distribution, not a secret
    seconds = _least_s(trial) * draw.lognormvariate(0.0, SPREAD)
    number = 1
    if draw.random() < INVALID_SHARE:
        yield _record(trial, number, seconds, "invalid", draw)
        number += 1
    chance = draw.random()
    if chance < TIMED_OUT_SHARE:
        yield _record(trial, number, seconds, "timed out", draw)
    elif chance < TIMED_OUT_SHARE + FAILED_SHARE:
        yield _record(trial, number, seconds, "failed", draw)
    else:
        yield _record(trial, number, seconds, "completed", draw)


def _least_s(trial: Trial) -> float:
    """Return about what a transfer takes: handshake and request, and the bytes with losses."""
    levels = trial.levels
    round_trips = 3 if levels["http_version"] == "2" else 2
    loss = units.parse_share(levels["loss"])
    transfer_s = units.parse_size(levels["size"]) * 8 / units.parse_rate(levels["rate"])
    rtt_s = 2 * units.parse_duration(levels["delay"])
    return rtt_s * round_trips + transfer_s * (1 + 20 * loss) + 0.002


REASONS: dict[OutcomeKind, str] = {
    "completed": "",
    "invalid": "CPU pressure: 41%, at most 25%",
    "timed out": "the client did not end within its time limit",
    "failed": "client ended well: exit status 56",
}


def _record(
    trial: Trial, number: int, seconds: float, kind: OutcomeKind, draw: random.Random
) -> Record:
    template = _template(trial.levels["http_version"])
    checks = [_varied(check, trial, kind, draw) for check in template.attempt.checks]
    began = BEGAN + timedelta(seconds=2 * (1000 * trial.block + trial.position))
    attempt = Attempt(
        trial=trial,
        number=number,
        outcome=Outcome(kind=kind, reason=REASONS[kind]),
        checks=checks,
        started=began.isoformat(timespec="milliseconds"),
        phases_s={**template.attempt.phases_s, "client": seconds},
        cpus=draw.uniform(0.1, 0.2),
    )
    observations = template.observations if kind == "completed" else []
    scaled = [
        _scaled(observation, seconds / _request_time(template)) for observation in observations
    ]
    goodput = units.parse_size(trial.levels["size"]) * 8 / seconds
    own = [
        _of_value(observation, goodput) if observation.metric == "goodput" else observation
        for observation in scaled
    ]
    return Record(attempt=attempt, observations=own)


@cache
def _template(version: str) -> Record:
    return recorded.judged(TEMPLATES[version])


def _request_time(template: Record) -> float:
    return next(
        observation.value
        for observation in template.observations
        if observation.metric == "request_time"
    )


def _scaled(one: Observation, factor: float) -> Observation:
    """Return an observation whose time is so many times longer; shares and counts stay."""
    return _of_value(one, one.value * factor) if METRICS[one.metric].unit == "s" else one


def _of_value(one: Observation, value: float) -> Observation:
    return one.model_copy(update={"value": value})


def _varied(check: Check, trial: Trial, kind: OutcomeKind, draw: random.Random) -> Check:
    """Return a check with a figure of its own, as attempts of real trials have."""
    if check.check == LATENESS.id:
        late_us = draw.uniform(40, 140)
        figure = f"p99 {late_us:.0f} us, largest {2 * late_us:.0f} us, 1091 packets, SCHED_FIFO"
        return check.model_copy(update={"figure": figure, "measured": late_us / 1e6})
    if check.check == ROUND_TRIP_TIME.id:
        rtt_s = 2 * units.parse_duration(trial.levels["delay"]) + draw.uniform(0, 2e-4)
        return check.model_copy(update={"figure": f"{1e3 * rtt_s:.2f} ms", "measured": rtt_s})
    if check.check == PRESSURE.id:
        share = 0.41 if kind == "invalid" else draw.uniform(0, 0.02)
        about = {"passed": kind != "invalid", "figure": f"{share:.1%}", "measured": share}
        return check.model_copy(update=about)
    return check
