"""Reading evidence: the output of ``ss``, ``ping`` and the emulator as one value."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from httpbed.experiment.metric import METRICS
from httpbed.programs.part import LoggedRequest
from httpbed.trial import client_requests, evidence
from recorded import (
    CATALOG,
    H2_LOSS,
    H3_CLEAN,
    PROXIED,
    SERVED,
    artifacts,
    observations,
    planned,
    recorded_evidence,
    trial,
)

HOP = planned(H2_LOSS).hops[0]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", set()),
        ("ESTAB 0 0 10.77.0.2:443 10.77.0.1:5\n\t ts sack ecn cubic wscale:7,7", {"cubic"}),
        ("ESTAB 0 0 a b\n\t cubic x:1\nESTAB 0 0 a c\n\t reno x:1\n", {"cubic", "reno"}),
        ("SYN-RECV 0 0 10.77.0.2:443 10.77.0.1:5\n", set()),
        ("Cannot open netlink socket: Permission denied\n", set()),
    ],
)
def test_every_congestion_control_of_the_sockets_is_read(text: str, names: set[str]) -> None:
    """None without a socket."""
    assert evidence.algorithms(text) == names


@pytest.mark.parametrize(("visited", "dropped"), [(False, 269), (True, 169)])
def test_drops_before_the_measured_client_do_not_count(
    tmp_path: Path, *, visited: bool, dropped: int
) -> None:
    """The counters are read after prior visits, too; IPv4, IPv6 and both reasons are added."""

    def line(full: int) -> str:
        counted = {"UdpInDatagrams": 9000, "UdpRcvbufErrors": full, "Udp6MemErrors": 9}
        return json.dumps({"kernel": counted}) + "\n"

    folder = tmp_path / "artifacts"
    shutil.copytree(artifacts(H3_CLEAN), folder)
    (folder / "datagrams-client.txt").write_text((line(91) if visited else "") + line(260))
    found = evidence.read(planned(H3_CLEAN), CATALOG, folder).datagrams
    assert {host: one.dropped for host, one in found.items()} == {"client": dropped}


def test_a_whole_attempt_is_read_back() -> None:
    """The recorded files have all that the checks need."""
    observed = recorded_evidence(H2_LOSS)
    assert observed.client is not None
    assert observed.client.clean
    assert observed.bodies == {"client": [{"bytes": SERVED.size, "sha256": SERVED.sha256}]}
    assert [len(pings_s) for pings_s in observed.pings_s.values()] == [3]
    assert observed.algorithms == {"server": {"cubic"}}
    assert [connection["protocol"] for connection in observed.connections] == ["tcp"]
    assert [request.http_version for request in observed.reports["server"].requests] == ["2"]


def test_evidence_of_a_trial_without_a_client_is_read(tmp_path: Path) -> None:
    """Missing files are no error."""
    (tmp_path / "evidence.json").write_text('{"failures": {"server": "exit status 1"}}')
    shutil.copy(artifacts(H2_LOSS) / "ping-client-server.txt", tmp_path)
    observed = evidence.read(planned(H2_LOSS), CATALOG, tmp_path)
    assert observed.failures == {"server": "exit status 1"}
    assert observed.client is None
    assert observed.link == {}
    whole = observations(recorded_evidence(H2_LOSS))
    assert observations(observed) == [
        observation for observation in whole if observation.metric == "rtt"
    ]


def test_request_time_ends_with_the_clients_fin_over_tcp() -> None:
    """It begins with the client's first packet; later packets do not count."""
    observed = recorded_evidence(H2_LOSS)
    (connection,) = observed.link["connections"]
    connection["client_last_ns"] = connection["client_close_ns"] + 10**9
    took = (connection["client_close_ns"] - connection["client_first_ns"]) / 1e9
    assert client_requests.request_s(HOP, observed, 0) == pytest.approx(took)


def test_request_time_ends_with_the_clients_last_packet_over_quic() -> None:
    """CONNECTION_CLOSE is encrypted like any other packet."""
    observed = recorded_evidence(H3_CLEAN)
    (connection,) = observed.connections
    assert connection["client_close_ns"] is None
    took = (connection["client_last_ns"] - connection["client_first_ns"]) / 1e9
    assert client_requests.request_s(HOP, observed, 0) == pytest.approx(took)


def test_request_time_ends_with_the_last_of_several_connections() -> None:
    """It begins with the first connection."""
    observed = recorded_evidence(H2_LOSS)
    (connection,) = observed.link["connections"]
    earlier = {**connection, "client_first_ns": 10**6, "client_close_ns": 2 * 10**6}
    observed.link["connections"].append(earlier)
    assert (
        client_requests.request_s(HOP, observed, 0) == (connection["client_close_ns"] - 10**6) / 1e9
    )


@pytest.mark.parametrize(
    ("name", "more"),
    [(H2_LOSS, {"TCP"}), (H3_CLEAN, set()), (PROXIED, {"several files", "proxies"})],
)
def test_a_completed_trial_has_every_metric_that_applies_to_it(name: str, more: set[str]) -> None:
    """The descriptors say which metrics apply; QUIC hides retransmissions."""
    taken = observations(recorded_evidence(name), name)
    values = {
        observation.metric: observation.value for observation in taken if not observation.item
    }
    applies = {"every trial", "download", "transfer", *more}
    assert {observation.metric for observation in taken} == {
        name for name, metric in METRICS.items() if metric.applies in applies
    }
    assert {observation.metric for observation in taken if observation.item} == {
        name for name, metric in METRICS.items() if metric.applies in applies and metric.per_item
    }
    size = trial(name).scenario().workload.body_bytes()
    assert values["goodput"] == pytest.approx(8 * size / values["request_time"])
    assert values["goodput"] < 10e6
    assert values["handshake_time"] < values["request_time"]
    assert 0.05 < values["rtt"] < 0.06
    assert values["wire_overhead"] > 0


def test_packet_loss_counts_every_packet_to_the_client_that_did_not_arrive() -> None:
    """Random losses and drops by the queue; packets in flight at the end are not lost."""
    observed = recorded_evidence(H2_LOSS)
    packets = observed.link["directions"][1]["packets"]
    assert (packets["in"], packets["lost"], packets["queue_dropped"]) == (714, 13, 0)
    packets |= {"delivered": 690, "queue_dropped": 4, "aqm_dropped": 2, "in_flight": 5}
    (loss,) = [
        observation for observation in observations(observed) if observation.metric == "packet_loss"
    ]
    assert (loss.value, loss.source) == (19 / 714, "wire")


def test_each_file_has_a_time_of_its_own() -> None:
    """The slowest and the median are computed from them."""
    taken = observations(recorded_evidence(PROXIED), PROXIED)
    times = {
        observation.item: observation.value
        for observation in taken
        if observation.metric == "file_time"
    }
    assert set(times) == {f"100000-{number}.txt" for number in range(1, 6)}
    whole = {observation.metric: observation.value for observation in taken if not observation.item}
    assert whole["file_time_slowest"] == max(times.values())
    assert whole["file_time_median"] == sorted(times.values())[2]
    assert whole["file_time_p95"] == whole["file_time_p99"] == max(times.values())


def test_each_hop_has_its_own_connections() -> None:
    """QUIC between client and proxy, TCP between proxy and server."""
    observed, (first, second) = recorded_evidence(PROXIED), planned(PROXIED).hops
    assert {one["protocol"] for one in first.near(observed.connections)} == {"udp"}
    assert {one["protocol"] for one in second.near(observed.connections)} == {"tcp"}
    assert len(observed.connections) == 2
    assert observed.algorithms == {"server": {"cubic"}}


def test_requests_of_prior_visits_are_left_out() -> None:
    """By their path; in a log without paths the first ones."""
    before, after = LoggedRequest("3", 200, 1000), LoggedRequest("3", 200, 10**6)
    assert evidence.measured([before, after], 1) == (after,)
    assert evidence.measured([before, after], 0) == (before, after)
    before, after = replace(before, path="/prior.txt"), replace(after, path="/1000000.txt")
    assert evidence.measured([after, before], 1) == (after,)


def test_the_smallest_echo_is_read_to_a_microsecond() -> None:
    """The summary of ping is exact; by its lines an echo of 100.341 ms would be too early."""
    lines = "".join(
        f"64 bytes from 10.77.1.2: icmp_seq={n} ttl=63 time=100 ms\n" for n in (1, 2, 3)
    )
    summary = "rtt min/avg/max/mdev = 100.341/100.353/100.377/0.016 ms, pipe 3\n"
    assert evidence._pings(lines + summary) == (0.100341,) * 3
    assert evidence._pings(lines) == (0.1,) * 3
    assert evidence._pings("") == ()
