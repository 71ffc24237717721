"""Campaigns of trials with hand-overs, whose deliveries and events are known."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from campaigns import Ending, campaign
from httpbed.store import campaign as campaigns
from httpbed.store.results import Results

ORIGIN_MS = 100.5
"""Time of the client's first packet since the start of the emulator, in ms."""
MIGRATION = """
schema = 1
name = "migration"
question = "What does it cost a download when the client's address changes?"
replicates = 3
seed = 6

handover = { factor = "address" }

[factors]
client = ["quiche", "wget", "curl-h3"]
loss = ["0 %", "2 %"]

[factors.address.stable]
links = ["wifi", "cellular"]
kind = "none"

[factors.address.changed]
links = ["wifi", "cellular"]
kind = "address deleted"
when = { delivered = "2 MB" }
sockets = "destroyed"

[topology]
hosts = ["client", "router", "server"]

[[topology.links]]
name = "wifi"
between = ["client", "router"]
rate = "10 Mbit/s"
delay = "25 ms"
loss = { factor = "loss" }

[[topology.links]]
name = "cellular"
between = ["client", "router"]
rate = "10 Mbit/s"
delay = "25 ms"
loss = { factor = "loss" }

[[topology.links]]
between = ["router", "server"]

[roles.client]
implementation = "httpbed-quiche"
http_version = "3"

[roles.server]
implementation = "nginx"

[workload]
kind = "download"
size = "5 MB"
"""


@dataclass(frozen=True)
class TrialCourse:
    """The course of a trial: bytes at a constant rate, with at most one interruption."""

    rate_bit_s: float = 9.4e6
    stall_s: float = 0.0
    """Length of the interruption at the hand-over, in seconds."""
    size: int = 5_200_000
    """IP bytes of the whole transfer."""
    change_at: int = 2_000_000
    """IP bytes delivered at the hand-over."""
    verdict: str = ""
    """What became of the connection; empty without a hand-over."""
    validated: bool = True
    """Whether the client reports that it validated the path to which it migrated."""
    again: int = 0
    """Bytes that are fetched twice."""
    outcome: str = "completed"


def usual(levels: Mapping[str, str], block: int) -> TrialCourse:
    """Return a course: quiche migrates, wget starts again, other clients are silent once."""
    if levels["address"] == "stable":
        return TrialCourse()
    if levels["client"] == "quiche":
        return TrialCourse(stall_s=0.1 + block / 100, verdict="migrated")
    if levels["client"] == "wget":
        return TrialCourse(stall_s=1.0, verdict="new connection", again=2_000_000)
    if block == 1:
        return TrialCourse(verdict="nothing", outcome="failed")
    return TrialCourse(stall_s=3.0, verdict="new connection")


def handover_campaign(
    course: Callable[[Mapping[str, str], int], TrialCourse],
    directory: Path,
    text: str = MIGRATION,
    manifest: Mapping[str, Any] | None = None,
) -> Results:
    """Make a campaign whose trials have these courses, with their files in its folder."""
    moments: dict[tuple[int, str], list[dict[str, Any]]] = {}
    lines: dict[tuple[int, str], str] = {}

    def ends(levels: Mapping[str, str], block: int) -> Ending:
        one = course(levels, block)
        key = (block, repr(sorted(levels.items())))
        lines[key], moments[key], end_s = _left(one, block)
        return _ending(one, end_s)

    results = campaign(ends, text, directory, manifest)
    for row in results.trials.to_pylist():
        levels = {name: row[name] for name in results.experiment.factors}
        key = (row["block"], repr(sorted(levels.items())))
        folder = campaigns.artifacts(directory, row["block"], row["trial"], row["attempt"])
        folder.mkdir(parents=True)
        (folder / "deliveries.tsv").write_text(lines[key])
        (folder.parent / "handovers.json").write_text(json.dumps(moments[key]))
    return results


def _left(one: TrialCourse, block: int) -> tuple[str, list[dict[str, Any]], float]:
    """Return the deliveries, the events of the hand-over and the end in seconds."""
    chance = random.Random(block)  # noqa: S311 - a figure to look at
    told, now_ms, total, link = [f"# origin_ms: {ORIGIN_MS}", "bin\tlink\tbytes"], 151.0, 0, "wifi"
    moments: list[dict[str, Any]] = []
    goal = one.size + one.again
    while total < goal:
        if one.verdict and not moments and total >= one.change_at:
            moments.append(_moment(one, (now_ms - ORIGIN_MS) / 1e3))
            if one.verdict == "nothing":
                break
            now_ms, link = now_ms + one.stall_s * 1e3, "cellular"
        told.append(f"{int(now_ms)}\t{link}\t1500")
        total += 1500
        now_ms += 1500 * 8 / one.rate_bit_s * 1e3 * chance.uniform(0.8, 1.2)
    return "\n".join([*told, ""]), moments, (now_ms - ORIGIN_MS) / 1e3


def _moment(one: TrialCourse, at_s: float) -> dict[str, Any]:
    migrated, answered = one.verdict == "migrated", one.verdict != "nothing"
    return {
        "number": 1,
        "from": "wifi",
        "to": "cellular",
        "at_s": at_s,
        "first_sent_s": at_s + 0.002 if answered else None,
        "validated_s": at_s + 0.055 if migrated and one.validated else None,
        "first_byte_s": at_s + one.stall_s if answered else None,
        "verdict": one.verdict,
        "how": "migrated: same connection" if migrated else "",
    }


def _ending(one: TrialCourse, end_s: float) -> Ending:
    seen = {"delivery_stall": max(one.stall_s, 0.004), "delivery_silence": max(one.stall_s, 0.003)}
    seen |= {"bytes_fetched_twice": one.again, "client_runs": 2.0 if one.again else 1.0}
    if one.verdict == "migrated":
        seen |= {"migrations": 1.0, "migrations_failed": 0.0}
        seen |= {"probe_delay": 0.002} | ({"validation_delay": 0.055} if one.validated else {})
    if one.verdict and one.verdict != "nothing":
        seen["new_path_delay"] = one.stall_s
    if one.outcome == "completed":
        seen |= {"request_time": end_s, "goodput": one.size * 8 / end_s}
    return Ending(seen, one.outcome, "" if one.outcome == "completed" else "exit status 56")
