"""From what was seen to observations: one value per metric that could be taken."""

from __future__ import annotations

from collections.abc import Iterator

from httpbed.model.metric import Observation
from httpbed.model.scenario import Scenario
from httpbed.trial.content import Content
from httpbed.trial.seen import Seen

NS = 1e9


def observations(scenario: Scenario, content: Content, seen: Seen) -> list[Observation]:
    """Take every metric of an attempt, in a fixed order."""
    return [
        *_wire(content, seen),
        *_link(scenario, seen),
        *_bed(seen),
        *seen.client_findings.observations,
    ]


def request_time_s(seen: Seen) -> float | None:
    """Seconds from the client's first packet until it closed the last of its connections."""
    if not seen.connections:
        return None
    first = min(connection["client_first_ns"] for connection in seen.connections)
    last = max(
        connection["client_close_ns"] or connection["client_last_ns"]
        for connection in seen.connections
    )
    return float(last - first) / NS


def _wire(content: Content, seen: Seen) -> Iterator[Observation]:
    duration = request_time_s(seen)
    if duration is None:
        return
    first = seen.connections[0]
    if first["handshake_ns"] is not None:
        yield _on_wire("handshake_time", (first["handshake_ns"] - first["client_first_ns"]) / NS)
    if seen.client and not seen.client.timed_out:  # otherwise there is no end to take it to
        yield _on_wire("request_time", duration)
        complete = seen.body is not None and seen.body["bytes"] == content.size
        if complete and content.size and duration:  # else the rate is of something else
            yield _on_wire("goodput", content.size * 8 / duration)
    sent = sum(connection["server_bytes"] for connection in seen.connections)
    if content.size:
        yield _on_wire("wire_overhead", sent / content.size - 1)
    tcp = [connection for connection in seen.connections if connection["protocol"] == "tcp"]
    payload = sum(connection["server_payload_bytes"] for connection in tcp)
    if payload:
        again = sum(connection["server_retransmitted_bytes"] for connection in tcp)
        yield _on_wire("retransmitted_share", again / payload)


def _link(scenario: Scenario, seen: Seen) -> Iterator[Observation]:
    if not seen.link:
        return
    downstream = seen.link["directions"][scenario.downstream()]
    if downstream["queue_delay_ns"]["p50"] is not None:
        yield _on_wire("queue_delay_p50", downstream["queue_delay_ns"]["p50"] / NS)
    if downstream["utilisation"] is not None:
        yield _on_wire("utilisation", downstream["utilisation"])


def _bed(seen: Seen) -> Iterator[Observation]:
    if seen.pings_s:
        yield Observation(metric="rtt", value=min(seen.pings_s), source="bed")


def _on_wire(metric: str, value: float) -> Observation:
    return Observation(metric=metric, value=value, source="wire")
