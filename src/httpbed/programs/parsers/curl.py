r"""What curl prints for each transfer: a line with an object, times in seconds from its start.

``--write-out '{"ended_at":%time{%s.%f},"transfer":%{json}}\\n'`` adds curl's clock to what the
transfer took, so that transfers that ran side by side can be put on one axis. Where curl was
started again, the lines of all its runs follow each other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from httpbed.experiment.metric import Observation
from httpbed.host.sandbox import untrusted_files
from httpbed.programs.parsers.untrusted_values import UNREADABLE, seconds
from httpbed.programs.protocol import LoggedRequest, ProgramReport

TIMES = {
    "client_total_time": "time_total",
    "client_connect_time": "time_connect",
    "client_handshake_time": "time_appconnect",
    "time_to_first_byte": "time_starttransfer",
}
"""Metric -> curl's field (curl(1), --write-out)."""


@dataclass(frozen=True)
class _Transfer:
    said: dict[str, Any]
    ended_at: float | None
    """By the clock on the wall; None where only the transfer's own times were asked for."""

    @property
    def began_at(self) -> float | None:
        return None if self.ended_at is None else self.ended_at - self.said["time_total"]

    @property
    def wanted(self) -> tuple[object, ...]:
        """What was to be fetched, equal for all tries at it."""
        return self.said.get("urlnum"), self.said.get("url")


def parse(file: Path) -> ProgramReport:
    """Read every line; curl leaves none when it is killed."""
    try:
        lines = untrusted_files.text(file, errors="strict").splitlines()
        return _findings([_transfer(json.loads(line)) for line in lines])
    except FileNotFoundError:
        return ProgramReport(complaint="curl printed nothing")
    except UNREADABLE as error:
        return ProgramReport(complaint=f"curl printed no JSON of its own: {error!r}")


def _transfer(said: dict[str, Any]) -> _Transfer:
    transfer = said.get("transfer", said)
    ended_at = seconds(said["ended_at"]) if "ended_at" in said else None
    return _Transfer(dict(transfer), ended_at)


def _findings(transfers: list[_Transfer]) -> ProgramReport:
    if not transfers:
        return ProgramReport(complaint="curl printed nothing")
    origin = min((t.began_at for t in transfers if t.began_at is not None), default=0.0)
    last = {transfer.wanted: transfer for transfer in transfers}
    complaints = dict.fromkeys(str(t.said.get("errormsg") or "") for t in last.values())
    told = [one for one in transfers if one is last[one.wanted] or _answered(one.said)]
    return ProgramReport(
        observations=tuple(_observations(transfers, origin)),
        requests=tuple(_request(transfer, origin) for transfer in told),
        complaint="; ".join(filter(None, complaints)),
    )


def _observations(transfers: list[_Transfer], origin: float) -> Iterator[Observation]:
    """Yield the times of the whole run: of one transfer, or from the first to the last."""
    first = min(transfers, key=lambda transfer: transfer.began_at or 0.0)
    for metric, field in TIMES.items():
        value = first.said.get(field)
        if metric == "client_total_time":
            value = max(_after(transfer, origin) for transfer in transfers)
        if value and not (metric == "time_to_first_byte" and not _answered(first.said)):
            yield Observation(metric=metric, value=value, source="client")


def _after(transfer: _Transfer, origin: float) -> float:
    if transfer.ended_at is None:
        return seconds(transfer.said.get("time_total", 0))
    return transfer.ended_at - origin


def _answered(said: dict[str, Any]) -> bool:
    """Tell whether a response began: without one curl gives its end as the first byte's time."""
    return bool(said.get("response_code"))


def _request(transfer: _Transfer, origin: float) -> LoggedRequest:
    said, began, ended = transfer.said, transfer.began_at, transfer.ended_at
    return LoggedRequest(
        http_version=str(said["http_version"]),
        status=int(said["response_code"]),
        # Of a file that was complete, an error's page is read and thrown away.
        body_bytes=int(said.get("size_delivered", said["size_download"])),
        connection=str(said["conn_id"]) if "conn_id" in said else "",
        path=str(said.get("url.path") or ""),
        began_s=None if began is None else began - origin,
        ended_s=None if ended is None else ended - origin,
    )
