"""Named quantities, and single values of them."""

from __future__ import annotations

from typing import Literal

from httpbed.experiment.value import Value

Source = Literal["wire", "client", "proxy", "server", "bed"]
"""Who saw it: the emulator on the link, the client, a proxy, the server, or httpbed around them."""


class Metric(Value):
    """A named quantity with its unit and direction."""

    unit: str
    """SI unit, ``bit/s``, ``byte``, ``byte/s``, or ``1`` for a share or a number of things."""
    better: Literal["lower", "higher", "neither"]
    """Which way is an improvement."""
    meaning: str
    """Definition, with where it begins and ends."""


def _metric(unit: str, better: Literal["lower", "higher", "neither"], meaning: str) -> Metric:
    return Metric(unit=unit, better=better, meaning=meaning)


METRICS: dict[str, Metric] = {
    "request_time": _metric(
        "s",
        "lower",
        "total request time: from the client's first packet until the client closes (TCP: its"
        " FIN; QUIC: its last packet), on the wire, as Liu et al. 2024 section 3 define it",
    ),
    "handshake_time": _metric(
        "s",
        "lower",
        "from the client's first packet until its first packet under the keys that the handshake"
        " agreed (TLS Finished, RFC 8446; first 1-RTT packet, RFC 9001), on the wire",
    ),
    "time_to_first_byte": _metric(
        "s",
        "lower",
        "from the start of the client until the response's first byte, by the client",
    ),
    "goodput": _metric(
        "bit/s",
        "higher",
        "the body's bits over the request time",
    ),
    "retransmitted_share": _metric(
        "1",
        "lower",
        "server's payload bytes sent again over all that it sent; TCP only, for QUIC hides it",
    ),
    "wire_overhead": _metric(
        "1",
        "lower",
        "IP bytes that the server sent over the body's bytes, less one",
    ),
    "client_total_time": _metric("s", "lower", "from start to end, by the client's own clock"),
    "client_connect_time": _metric(
        "s",
        "lower",
        "until the transport is connected, by the client; for QUIC often the handshake",
    ),
    "client_handshake_time": _metric("s", "lower", "until TLS or QUIC is set up, by the client"),
    "rtt": _metric("s", "neither", "smallest round-trip time of the idle link, by ping"),
    "queue_delay_p50": _metric(
        "s",
        "lower",
        "median wait in the queue towards the client, of the narrowest link between it and who"
        " answers it",
    ),
    "utilisation": _metric(
        "1", "higher", "share of the time in which that link sent towards the client"
    ),
    "connections": _metric(
        "1", "neither", "number of connections that the client opened, on the wire"
    ),
    "client_runs": _metric(
        "1",
        "lower",
        "how often the client was started, where a failed download is tried again; what a program"
        " tries again by itself is within one run",
    ),
    "file_time": _metric(
        "s",
        "lower",
        "of each of several files: from when the client set out to fetch it until its end, by the"
        " client's own clock",
    ),
    "file_time_slowest": _metric("s", "lower", "file time of the slowest of several files"),
    "file_time_median": _metric("s", "lower", "median file time of several files"),
    "retries": _metric(
        "1", "lower", "requests that proxies made again because an attempt had failed"
    ),
    "upstream_connections": _metric(
        "1", "neither", "number of connections that proxies opened towards the server, on the wire"
    ),
    "rate_while_shared": _metric(
        "bit/s",
        "higher",
        "of each of several clients: bits of IP packets delivered to it in a second, while all were"
        " active: from when the last of them got its first packet to when one got its last",
    ),
    "time_shared": _metric("s", "neither", "how long all of several clients were active"),
    "share": _metric(
        "1", "neither", "the client's part of what was delivered to all clients in that time"
    ),
    "jain_index": _metric(
        "1",
        "higher",
        "Jain's index of what was delivered to each client in that time: 1 when all got the same,"
        " 1/n when one got everything",
    ),
    "delivery_silence": _metric(
        "s",
        "lower",
        "longest time in which no packet at all was delivered to the client: from a second before a"
        " hand-over, or the client's start, until the next one, or the end; the worst of a trial's,"
        " but for one that came when the client was done."
        " Where nothing changes, without the first second. To the millisecond",
    ),
    "delivery_stall": _metric(
        "s",
        "lower",
        "longest time in which fewer than 4000 bytes of IP packets were delivered to the client,"
        " likewise: path validation, tickets and handshakes are less",
    ),
    "probe_delay": _metric(
        "s",
        "lower",
        "from a hand-over until the client's first packet on the new path, on the wire; the worst"
        " of a trial's, where each has one",
    ),
    "validation_delay": _metric(
        "s",
        "lower",
        "from a hand-over until the new path is validated (RFC 9000 section 8.2), by the client;"
        " likewise",
    ),
    "new_path_delay": _metric(
        "s",
        "lower",
        "from a hand-over until the first packet is delivered to the client on the new path, on the"
        " wire; likewise",
    ),
    "bytes_fetched_twice": _metric(
        "byte",
        "lower",
        "bytes of bodies that the client got in all its tries beyond one copy of each, by its word",
    ),
    "migrations": _metric(
        "1", "neither", "migrations of connections to another path that the client tried"
    ),
    "migrations_failed": _metric("1", "lower", "those of them that did not succeed"),
    "client_cpu": _metric(
        "s/GB",
        "lower",
        "CPU time of the client, its start included, over the bodies' bytes (10^9 each GB)",
    ),
    "proxy_cpu": _metric(
        "s/GB", "lower", "CPU time of all proxies, their start and end included, likewise"
    ),
    "server_cpu": _metric(
        "s/GB", "lower", "CPU time of all servers, their start and end included, likewise"
    ),
    "speed_index": _metric(
        "s",
        "lower",
        "area above the curve of visual completeness, from the start of the navigation to the last"
        " change, by histograms of the browser's pictures as speedline-core 1.4.3 (Lighthouse)"
        " reckons them; under 3.4 s is fast, up to 5.8 s moderate, more is slow (Liu et al. 2024"
        " section 4.4)",
    ),
    "first_contentful_paint": _metric(
        "s",
        "lower",
        "from the start of the navigation until the browser first painted text or a picture of the"
        " page (W3C Paint Timing)",
    ),
    "largest_contentful_paint": _metric(
        "s",
        "lower",
        "from the start of the navigation until the largest text or picture in the viewport was"
        " painted (W3C Largest Contentful Paint): the last candidate before the load's end",
    ),
    "page_load_time": _metric(
        "s",
        "lower",
        "from the start of the navigation until the last byte of the last resource, by the browser",
    ),
    "network_page_load_time": _metric(
        "s",
        "lower",
        "time in network activity: each resource from when the page asked for it until its last"
        " byte, overlaps counted once (Biswal & Gnawali 2016 section 3.1)",
    ),
    "onload_time": _metric(
        "s",
        "lower",
        "from the start of the navigation until the load event (onLoad of HAR 1.2)",
    ),
    "resource_start": _metric(
        "s",
        "neither",
        "of each resource: from the start of the navigation until its request was sent, by the"
        " browser",
    ),
    "resource_time_to_first_byte": _metric(
        "s",
        "lower",
        "of each resource: from when its request was sent until its answer's header was there;"
        " Zhang & Song 2023 section 5 call it round-trip time, which under multiplexing it is not",
    ),
    "resource_time": _metric(
        "s",
        "lower",
        "of each resource: from when its request was sent until its last byte (Biswal & Gnawali"
        " 2016 figure 5b, without queueing)",
    ),
    "resource_time_queued": _metric(
        "s",
        "lower",
        "of each resource: from when the page asked for it until its last byte (figure 5a there,"
        " with queueing)",
    ),
    "page_throughput": _metric(
        "byte/s",
        "higher",
        "bytes of all whole answers over the page load time (Zhang & Song 2023 section 5)",
    ),
    "page_bytes": _metric(
        "byte",
        "neither",
        "bytes of all answers, header and body, as they came on their connections, by the browser",
    ),
    "page_requests": _metric(
        "1", "neither", "requests that went over the network, by the browser; redirects each count"
    ),
    "page_connections": _metric(
        "1",
        "neither",
        "connections over which they were answered, by the browser; what it opened and did not use"
        " is in `connections` only",
    ),
    "browser_cpu": _metric(
        "s",
        "lower",
        "CPU time of all processes of the browser, its start and end included, a visit before not",
    ),
    "browser_starts": _metric(
        "1",
        "lower",
        "how many browsers were started until one answered; one that does not answer within ten"
        " seconds has been asked for nothing, and another is started in its place",
    ),
    "browser_ready_time": _metric(
        "s",
        "lower",
        "from the start of the browser until it was asked to navigate, a visit before left out",
    ),
}
"""Every metric that a trial may observe, by name."""


class Observation(Value):
    """One value of one metric in one trial."""

    metric: str
    value: float
    source: Source
    item: str = ""
    """Of which of several equals, such as a file; empty for what is of the whole trial."""

    @property
    def unit(self) -> str:
        """The metric's unit."""
        return METRICS[self.metric].unit
