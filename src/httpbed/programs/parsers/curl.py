r"""What curl prints for each transfer: a line with an object, times in seconds from its start.

``--write-out '{"ended_at":%time{%s.%f},"transfer":%{json}}\\n'`` adds curl's clock, so that
parallel transfers have one time axis. If curl was started again, its runs' lines follow each other.
A single transfer needs no clock, which curl lacks before 8.16: its axis begins at its start.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from httpbed.base import untrusted_files
from httpbed.experiment.metric import Observation
from httpbed.programs.parsers import seconds
from httpbed.programs.part import LoggedRequest, ProgramReport

TIMES = {
    "client_total_time": "time_total",
    "client_connect_time": "time_connect",
    "client_handshake_time": "time_appconnect",
    "time_to_first_byte": "time_starttransfer",
}
"""Metric -> curl's field (curl(1), --write-out)."""


@dataclass(frozen=True)
class _Transfer:
    fields: dict[str, Any]
    ended_at: float | None
    """Seconds since 1970, or since the start of an only transfer; None if several have no clock."""

    @property
    def began_at(self) -> float | None:
        return None if self.ended_at is None else self.ended_at - self.fields["time_total"]

    @property
    def requested(self) -> tuple[object, ...]:
        """What was requested; equal for all attempts at one file."""
        return self.fields.get("urlnum"), self.fields.get("url")


def parse(file: Path) -> ProgramReport:
    """Read every line; a killed curl leaves none."""
    transfers = [*map(_transfer, untrusted_files.json_lines(file, errors="strict"))]
    if not transfers:
        raise EOFError
    if len(transfers) == 1 and transfers[0].ended_at is None:
        only = transfers[0]
        transfers = [replace(only, ended_at=seconds(only.fields.get("time_total", 0)))]
    return _report(transfers)


def _transfer(fields: dict[str, Any]) -> _Transfer:
    transfer = fields.get("transfer", fields)
    ended_at = seconds(fields["ended_at"]) if "ended_at" in fields else None
    return _Transfer(dict(transfer), ended_at)


def _report(transfers: list[_Transfer]) -> ProgramReport:
    origin = min((t.began_at for t in transfers if t.began_at is not None), default=0.0)
    last = {transfer.requested: transfer for transfer in transfers}
    complaints = dict.fromkeys(str(t.fields.get("errormsg") or "") for t in last.values())
    reported = [
        transfer
        for transfer in transfers
        if transfer is last[transfer.requested] or _answered(transfer.fields)
    ]
    return ProgramReport(
        observations=tuple(_observations(transfers, origin)),
        requests=tuple(_request(transfer, origin) for transfer in reported),
        complaint="; ".join(filter(None, complaints)),
    )


def _observations(transfers: list[_Transfer], origin: float) -> Iterator[Observation]:
    """Yield the times of the whole run: of one transfer, or from the first to the last."""
    first = min(transfers, key=lambda transfer: transfer.began_at or 0.0)
    for metric, field in TIMES.items():
        value = first.fields.get(field)
        if metric == "client_total_time":
            value = max(_after(transfer, origin) for transfer in transfers)
        if value and not (metric == "time_to_first_byte" and not _answered(first.fields)):
            yield Observation(metric=metric, value=value, source="client")


def _after(transfer: _Transfer, origin: float) -> float:
    if transfer.ended_at is None:
        return seconds(transfer.fields.get("time_total", 0))
    return transfer.ended_at - origin


def _answered(fields: dict[str, Any]) -> bool:
    """Return whether a response began; otherwise curl reports its end as the first byte's time."""
    return bool(fields.get("response_code"))


def _request(transfer: _Transfer, origin: float) -> LoggedRequest:
    fields, began, ended = transfer.fields, transfer.began_at, transfer.ended_at
    return LoggedRequest(
        http_version=str(fields["http_version"]),
        status=int(fields["response_code"]),
        # curl reads and discards the body of an error response to a range request.
        body_bytes=int(fields.get("size_delivered", fields["size_download"])),
        connection=str(fields["conn_id"]) if "conn_id" in fields else "",
        path=str(fields.get("url.path") or ""),
        began_s=None if began is None else began - origin,
        ended_s=None if ended is None else ended - origin,
    )
