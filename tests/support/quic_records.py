"""What one end of a connection of QUIC records of a computed transfer, as a qlog."""

from __future__ import annotations

import json
from typing import Any, Literal

from httpbed.addons.explain.transfer import Transfer
from window_sender import MS, PAYLOAD

Vantage = Literal["client", "server"]
WINDOW = 10
"""Packets that the client accepts."""
ANSWER_BYTES = 60


def records(transfer: Transfer, vantage: Vantage, *, limits: bool = True) -> list[dict[str, Any]]:
    """Write a transfer as the events that one end records; its client opens ten packets."""
    data, answers, rows = transfer.data, transfer.answers, list[tuple[int, dict[str, Any]]]()
    is_server = vantage == "server"
    number = 0
    for place in range(len(data)):
        at = int(data.sent[place] if is_server else data.arrived[place])
        frames = []
        if data.payload[place]:
            end = number * PAYLOAD
            frames = [{"frame_type": "stream", "stream_id": 0, "offset": end, "length": PAYLOAD}]
        if at >= 0:
            rows.append((at, packet("sent" if is_server else "received", number, frames)))
        number += bool(frames)
    for place, known in enumerate(answers.acknowledged.tolist()):
        at = int(answers.arrived[place] if is_server else answers.sent[place])
        count = known // PAYLOAD
        frames = [{"frame_type": "ack", "acked_ranges": [[0, count - 1]]}] if count else []
        if limits and count:
            maximum = (count + WINDOW) * PAYLOAD
            frames += [{"frame_type": "max_stream_data", "stream_id": 0, "maximum": maximum}]
        if place == 2:
            frames = [{"frame_type": "stream", "stream_id": 0, "offset": 0, "length": 50}]
        rows.append((at, packet("received" if is_server else "sent", place, frames)))
    rows.sort(key=lambda row: row[0])
    owner = "remote" if is_server else "local"
    own = {"owner": owner, "initial_max_stream_data_bidi_local": WINDOW * PAYLOAD}
    parameters = {"time": rows[0][0] / MS, "name": "transport:parameters_set", "data": own}
    return [parameters, *({"time": at / MS, **event} for at, event in rows)]


def packet(what: str, number: int, frames: list[dict[str, Any]]) -> dict[str, Any]:
    size = PAYLOAD if frames and frames[0].get("length") == PAYLOAD else ANSWER_BYTES
    header = {"packet_type": "1RTT", "packet_number": number}
    return {
        "name": f"transport:packet_{what}",
        "data": {"header": header, "raw": {"length": size}, "frames": frames},
    }


def sequence(events: list[dict[str, Any]], vantage: Vantage, version: str = "0.3") -> str:
    """Write a text sequence (.sqlog)."""
    trace = {"vantage_point": {"type": vantage}}
    head = {"qlog_version": version, "qlog_format": "JSON-SEQ", "trace": trace}
    return "".join(f"\x1e{json.dumps(one)}\n" for one in (head, *events))
