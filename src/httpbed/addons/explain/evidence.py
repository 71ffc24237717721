"""Reads an attempt's packets as a :class:`~.transfer.Transfer`, or says why it has none.

The packet log has every packet's times, size and fate; the capture has the headers. Both number the
packets of a direction in the order of their arrival. The emulator's configuration has the links,
and its result has the connections.

**Along a path.** Which packet of a link is which one of the link before? Each link numbers its
packets as they arrive, and routers forward all of them in the order in which they come. So the n-th
packet that leaves a link is the n-th one that enters the next. That is checked by sizes; it fails
where packets join or leave the path between two links.
"""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from httpbed.addons.explain import capture, qlog_trace
from httpbed.addons.explain.capture import Headers
from httpbed.addons.explain.transfer import (
    FAR,
    NS,
    BehindProxy,
    NetworkPath,
    Numbers,
    Sent,
    Span,
    Transfer,
    held_back,
    merged,
)
from httpbed.base import untrusted_files
from httpbed.base.clock import Clock
from httpbed.experiment.bodies_path import vantage_points
from httpbed.experiment.kept import CAPTURE, KEYS, LINK_RESULT, PACKET_LOG
from httpbed.experiment.roles import Hop
from httpbed.experiment.scenario import Scenario
from httpbed.experiment.workload import Sender, other_end
from httpbed.store import packet_log
from httpbed.store.packet_log import PacketLog

BITS = 8
LINK_CONFIGURATION = "link.json"
MAX_BYTES = 2**31
"""Largest capture that is read; 30 million full packets have 45 GB."""
MAX_KEYLOG_BYTES = 2**20
REACTION_NS: Mapping[Clock, int] = {"real": 1_000_000, "virtual": 200_000}
"""Longest reaction of a host. In virtual time computing takes none; what is left are stamps of
packets in one batch."""
AGAIN = "explain without --no-run runs it again"


class NoTransferError(ValueError):
    """An attempt cannot be divided; the reason is a part of a sentence."""


def read(
    artifacts: Path, scenario: Scenario, clock: Clock, request_s: float | None, *, is_over: bool
) -> Transfer:
    """Read the connection of an attempt that carried most of the bodies.

    ``request_s`` is the observed request time; without one, the time ends with the client's last
    packet.

    :raises NoTransferError: when there is nothing to divide.
    """
    if reason := refusal(scenario):
        raise NoTransferError(reason)
    packets = recorded(artifacts, scenario, clock)
    main = main_connection(packets.connections, scenario)
    found = packets.transfer(main)
    ended = found.ended if request_s is None else round(request_s * NS)
    count = len(packets.connections)
    remarks = (f"of {count} connections, the one with most bytes",) if count > 1 else ()
    return replace(found, ended=ended, is_over=is_over, remarks=remarks)


def refusal(scenario: Scenario) -> str:
    """Return why no rule covers a trial; empty if one does."""
    if scenario.handover is not None:
        return "its client changes its link, and a path is one set of links"
    is_page = scenario.workload.kind == "page"
    return "a page is many requests that depend on each other" if is_page else ""


@dataclass(frozen=True)
class Recorded:
    """The packets of an attempt, and its client's connections."""

    artifacts: Path
    scenario: Scenario
    clock: Clock
    configuration: Mapping[str, Any]
    """Of the emulator: its links."""
    result: Mapping[str, Any]
    """What it counted."""
    log: PacketLog
    headers: Headers
    route: tuple[int, ...]
    """Directions of all links towards the receiver, in the order in which data travels."""
    narrow: int
    """The one of them at which packets are watched."""
    connections: Sequence[Mapping[str, Any]]
    """As the emulator counted them on the client's own link; the client sent a packet in each."""

    @cached_property
    def origin(self) -> int:
        """The client's first packet, in ns on the emulator's clock."""
        return min(int(one["client_first_ns"]) for one in self.connections)

    @property
    def start(self) -> int:
        """The same in ns since the emulator's start."""
        return self.origin - int(self.result["started_ns"])

    def transfer(self, connection: Mapping[str, Any]) -> Transfer:
        """Return a connection's packets, up to its last one, with what else the link carried.

        :raises NoTransferError: when its packets cannot be followed.
        """
        transfer, headers = self.followed(connection)
        transfer = replace(transfer, behind_proxy=self._behind_proxy)
        if transfer.protocol == "tcp":
            return transfer
        hop = self.scenario.hops()[0]
        transfer = self._decrypted(transfer, headers)
        return qlog_trace.with_credit(transfer, self.artifacts, (hop.client, hop.server))

    def followed(self, connection: Mapping[str, Any]) -> tuple[Transfer, Sequence[Headers]]:
        """Return what packets show of a connection, and the headers of data and answers."""
        is_tcp, sender = connection["protocol"] == "tcp", self.scenario.workload.sender
        back = [one ^ 1 for one in reversed(self.route)]
        data, data_headers, others = self._flow(connection, self.route, sender)
        answers, answer_headers, _ = self._flow(connection, back, other_end(sender))
        if is_tcp:
            first, said, known, edge = capture.tcp_numbers(data_headers, answer_headers)
            data = replace(data, first=first, end=first + data.payload)
            answers = replace(answers, first=said, acknowledged=known, edge=edge)
        handshake = connection.get("handshake_ns")
        last = max(connection["client_last_ns"] or 0, connection["server_last_ns"] or 0)
        transfer = Transfer(
            protocol="tcp" if is_tcp else "quic",
            data=data,
            answers=answers,
            others=others,
            path=self._path(),
            body_bytes=self.scenario.workload.body_bytes() or 0,
            reaction_ns=REACTION_NS[self.clock],
            sender=sender,
            ended=int(last) - self.origin,
            request=None if handshake is None else int(handshake) - self.origin,
            others_are_own=not self.scenario.competitors,
        )
        return transfer, (data_headers, answer_headers)

    @cached_property
    def _behind_proxy(self) -> Mapping[BehindProxy, Sequence[Span]]:
        """What the connections behind the proxies did; nothing if the client sends the bodies."""
        set_up, under_way, held = list[Span](), list[Span](), list[Span]()
        for route, one in self._of_proxies():
            try:
                behind = replace(self, route=route, narrow=route[-1]).followed(one)[0]
            except NoTransferError:  # its links copy packets, for example
                return {}
            ready = behind.ended if behind.request is None else behind.request
            set_up.append((int(one["client_first_ns"]) - self.origin, ready))
            data = behind.content
            came = data.where(~data.lost & (data.sent >= ready))
            under_way += zip(came.sent.tolist(), came.arrived.tolist(), strict=True)
            held += held_back(data, FAR) if behind.protocol == "tcp" else ()
        found: dict[BehindProxy, list[Span]]
        found = {"set-up": set_up, "under way": under_way, "held back": held}
        return {
            kind: [*merged(*np.array(spans, dtype=np.int64).reshape(-1, 2).T)]
            for kind, spans in found.items()
            if spans
        }

    def _of_proxies(self) -> Iterator[tuple[tuple[int, ...], Mapping[str, Any]]]:
        """Yield the connections from proxies that send the bodies, each with its route.

        A connection is of the hop all of whose links it passes. Competitors may pass the same
        links, so a scenario with competitors has none.
        """
        if self.scenario.workload.sender == "client" or self.scenario.competitors:
            return
        every, passed = self.result["connections"], defaultdict[tuple[str, str], set[str]](set)
        for one in every:
            passed[one["client"], one["server"]].add(one["link"])
        for hop in self.scenario.hops()[1:]:
            route = _directions(self.scenario, hop)
            first, *further = (self.scenario.topology.links[one // 2].name for one in route[::-1])
            for one in every:
                is_own = one["link"] == first and one["client_first_ns"] is not None
                if is_own and passed[one["client"], one["server"]].issuperset(further):
                    yield route, one

    def _flow(
        self, connection: Mapping[str, Any], directions: Sequence[int], end: Sender
    ) -> tuple[Sent, Headers, tuple[Numbers, Numbers]]:
        """Follow the packets of an end of a connection along its path.

        Also return their headers, and when the narrowest link served other packets.
        """
        protocol = capture.TCP if connection["protocol"] == "tcp" else capture.UDP
        port = int(connection["client"].rpartition(":")[2])
        rows, headers = list[PacketLog](), list[Headers]()
        served = others = (np.zeros(0, dtype=np.int64),) * 2
        for direction in directions:
            every = self.log.originals(direction)
            found = self._headers(direction, every)
            ports = found.source_port if end == "client" else found.destination_port
            is_own = (found.protocol == protocol) & (ports == port)
            rows.append(every.where(is_own))
            headers.append(found.where(is_own))
            if direction // 2 == self.narrow // 2:
                begun, done = self._service(every, direction)
                served = begun[is_own], done[is_own]
                other = np.flatnonzero(~is_own & (done >= 0))
                other = other[np.argsort(begun[other], kind="stable")]
                others = begun[other], done[other]
                place = len(rows) - 1
        try:
            path = along(rows)
        except DifferentPacketsError:
            reason = "its path has links that carry different packets of it, or copy them"
            raise NoTransferError(reason) from None
        sent = rows[0].in_ns - self.start
        entered, left = path.entered(place), path.left(-1)
        begun, done = (path.on(place, times) for times in served)
        is_whole, none = left >= 0, np.zeros(len(sent), dtype=np.int64)
        packets = Sent(
            sent=sent,
            entered=entries(rows[0].in_ns, entered) - self.start,
            begun=np.where(is_whole, begun, -1),
            done=np.where(is_whole, done, -1),
            arrived=np.where(is_whole, left - self.start, -1),
            payload=headers[0].payload,
            first=none,
            acknowledged=none,
            edge=none,
            end=none,
        )
        return packets, headers[0], others

    def _decrypted(self, transfer: Transfer, flows: Sequence[Headers]) -> Transfer:
        """Return a transfer of QUIC with its flow control, if secrets of it were kept.

        ``flows`` are the headers of its data and of its answers.
        """
        try:
            keylog = untrusted_files.text(self.artifacts / KEYS, most=MAX_KEYLOG_BYTES)
        except (OSError, ValueError):
            return transfer
        from httpbed.addons.explain import decryption  # slow, and most trials keep no secrets

        with capture.mapped(self.artifacts / CAPTURE) as raw:
            datagrams = [
                [bytes(raw[begin:end]) for begin, end in headers.payload_places()]
                for headers in flows
            ]
        ids = [decryption.connection_id_bytes(flow) for flow in datagrams]
        sent, answered = (
            None if of_other is None else decryption.packets(flow, known, of_other)
            for flow, known, of_other in zip(
                datagrams,
                [decryption.secrets(keylog, end) for end in (transfer.sender, transfer.receiver)],
                reversed(ids),
                strict=True,
            )
        )
        if sent is None or answered is None:
            return transfer
        return qlog_trace.credited(transfer, {}, sent, answered)

    def _headers(self, direction: int, rows: PacketLog) -> Headers:
        """Return the headers of a direction's packets."""
        headers = self.headers.of(direction)
        if len(rows) and int(rows.number.max()) >= len(headers):
            raise NoTransferError("its packet log and its capture differ")
        return headers.where(rows.number)

    def _service(self, rows: PacketLog, direction: int) -> tuple[Numbers, Numbers]:
        """Return when the link began and finished each packet; -1 for dropped ones."""
        described = self.configuration["links"][direction // 2]["directions"][direction % 2]
        entered = rows.in_ns - self.start
        left = np.flatnonzero(rows.out_ns >= 0)
        begun, done = np.full(len(rows), -1), np.full(len(rows), -1)
        delays = self.scenario.topology.links[direction // 2].delays(direction % 2)
        if len(delays) == 1 and not described["jitter"] and not described["reordering"]:
            finished = rows.out_ns[left] - self.start - int(described["delay_ns"])
            order = left[np.argsort(finished, kind="stable")]
            ends = np.sort(finished)
            starts = np.maximum(entered[order], np.concatenate([[-(1 << 62)], ends[:-1]]))
            begun[order], done[order] = np.minimum(starts, ends), ends
            return begun, done
        rate = (described["rate"] or {}).get("bit_s")
        free_at = -(1 << 62)
        for index in left[np.argsort(entered[left], kind="stable")].tolist():
            size = int(rows.bytes[index]) + int(described["overhead_bytes"])
            begun[index] = max(int(entered[index]), free_at)
            free_at = int(begun[index]) + (size * BITS * NS // int(rate) if rate else 0)
            done[index] = free_at
        return begun, done

    def _path(self) -> NetworkPath:
        links = self.scenario.topology.links
        direction = links[self.narrow // 2].directions()[self.narrow % 2]
        used = [links[one // 2] for one in self.route]
        return NetworkPath(
            rate_bit_s=direction.mean_bit_s(),
            round_trip_ns=round(sum(link.rtt_s() for link in used) * NS),
        )


def recorded(artifacts: Path, scenario: Scenario, clock: Clock) -> Recorded:
    """Read the packets that an attempt kept.

    :raises NoTransferError: when it kept none, or none of its client.
    """
    result = json_object(artifacts / LINK_RESULT)
    configuration = json_object(artifacts / LINK_CONFIGURATION)
    log, headers = _packets(artifacts)
    (link, way), *more = vantage_points(scenario).narrow
    if more:
        raise NoTransferError("its client has several links")
    narrow = 2 * link + way
    route = _directions(scenario, scenario.hops()[0])
    near = of_client(result, scenario)
    return Recorded(
        artifacts, scenario, clock, configuration, result, log, headers, route, narrow, near
    )


def _directions(scenario: Scenario, hop: Hop) -> tuple[int, ...]:
    """Return the directions of a hop's links in the order in which its bodies pass them."""
    passed = scenario.bodies_route(hop, scenario.workload)
    route = tuple(2 * link + direction for link, direction in passed)
    return route[::-1] if scenario.workload.sender == "server" else route


def main_connection(
    connections: Sequence[Mapping[str, Any]], scenario: Scenario
) -> Mapping[str, Any]:
    """Return the connection over which most bytes of the bodies' sender came."""
    key = f"{scenario.workload.sender}_bytes"
    return max(connections, key=lambda one: int(one[key]))


def json_object(path: Path) -> dict[str, Any]:
    """Read a JSON object of the emulator.

    :raises NoTransferError: when it is missing or damaged.
    """
    try:
        text = untrusted_files.text(path, most=64 * 2**20)
        return dict(json.loads(text))
    except (OSError, ValueError):
        reason = f"its {path.name} is missing or damaged; {AGAIN}"
        raise NoTransferError(reason) from None


def _packets(artifacts: Path) -> tuple[PacketLog, Headers]:
    files = artifacts / PACKET_LOG, artifacts / CAPTURE
    if not all(file.is_file() for file in files):
        raise NoTransferError(f"it kept no packets; {AGAIN} with them")
    if files[1].stat().st_size > MAX_BYTES:
        raise NoTransferError("its capture is larger than 2 GiB")
    try:
        with capture.mapped(files[1]) as data:
            return packet_log.load(files[0], is_cut_off=True), capture.read(data)
    except (OSError, ValueError) as error:
        raise NoTransferError(f"its packets cannot be read: {error}") from None


def of_client(result: Mapping[str, Any], scenario: Scenario) -> list[Mapping[str, Any]]:
    """Return the client's connections as its own link had them, in which it sent a packet.

    No competitor shares that link. Farther links see the client's packets later than it sends them.

    :raises NoTransferError: when there is none.
    """
    own = scenario.link.name
    near = [
        one
        for one in result["connections"]
        if one["link"] == own and one["client_first_ns"] is not None
    ]
    if not near:
        reason = "its client sent nothing; httpbed report --trial shows what it printed"
        raise NoTransferError(reason)
    return near


def entries(sent: Numbers, entered: Numbers) -> Numbers:
    """Return when packets entered a link; of those that never came (-1), when they would have.

    A link before has dropped these. They would have come the fastest way later, and not before the
    packets ahead of them.
    """
    came = entered >= 0
    way = int((entered - sent)[came].min()) if came.any() else 0
    expected = np.maximum(sent + way, np.maximum.accumulate(entered))
    return np.where(came, entered, expected)


class DifferentPacketsError(ValueError):
    """Two links next to each other carry different packets."""


@dataclass(frozen=True)
class Route:
    """The packets of the links of a path, in the order in which they travel."""

    rows: tuple[PacketLog, ...]
    places: tuple[Numbers, ...]
    """For each packet of the first link, its row on each link; -1 where it never came."""

    def entered(self, link: int) -> Numbers:
        """Return when each packet entered a link; -1 where it never came."""
        return self.on(link, self.rows[link].in_ns)

    def left(self, link: int) -> Numbers:
        """Return when each packet left a link; -1 where it did not."""
        return self.on(link, self.rows[link].out_ns)

    def on(self, link: int, values: Numbers) -> Numbers:
        """Return a link's values for each packet of the first link; -1 where it never came."""
        places = self.places[link]
        found = np.full(len(places), -1, dtype=np.int64)
        came = places >= 0
        found[came] = values[places[came]]
        return found


def along(rows: Sequence[PacketLog]) -> Route:
    """Follow the packets of the first link.

    :raises DifferentPacketsError: when packets join or leave between two links.
    """
    places = [np.arange(len(rows[0]))]
    for before, after in itertools.pairwise(rows):
        left = np.flatnonzero(before.out_ns >= 0)
        left = left[np.argsort(before.out_ns[left], kind="stable")]
        arriving = np.argsort(after.in_ns, kind="stable")
        count = len(arriving)
        if count > len(left) or (before.bytes[left[:count]] != after.bytes[arriving]).any():
            raise DifferentPacketsError
        following = np.full(len(before), -1, dtype=np.int64)
        following[left[:count]] = arriving
        last = places[-1]
        places.append(np.where(last >= 0, following[last], -1) if len(before) else last)
    return Route(tuple(rows), tuple(places))
