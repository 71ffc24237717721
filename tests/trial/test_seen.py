"""Reading evidence: what ``ss``, ``ping`` and the emulator left, as one value."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from httpbed.implementations import catalog
from httpbed.model.metric import METRICS
from httpbed.trial import observe, seen
from recorded import FOLDER, H2_LOSS, H3_CLEAN, SERVED, artifacts, trial, what_was_seen


@pytest.mark.parametrize("algorithm", ["cubic", "reno", "bbr"])
def test_the_sockets_algorithm_is_read(algorithm: str) -> None:
    """From what ``ss --tcp --info`` says of an accepted socket; ``bbr:(bw:...`` is no second."""
    text = (FOLDER / f"iproute2-7.3.0/ss-{algorithm}.txt").read_text()
    assert seen.algorithms(text) == {algorithm}


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
def test_as_many_algorithms_as_sockets_say(text: str, names: set[str]) -> None:
    """None when there was no socket to read, all when they differ."""
    assert seen.algorithms(text) == names


def test_a_whole_attempt_is_read_back() -> None:
    """Everything that the checks need, from the recorded files alone."""
    found = what_was_seen(H2_LOSS)
    assert found.client is not None
    assert found.client.clean
    assert found.body == {"bytes": SERVED.size, "sha256": SERVED.sha256}
    assert found.pings_s == (0.0504, 0.0502, 0.0502)
    assert found.algorithms == {"cubic"}
    assert [connection["protocol"] for connection in found.connections] == ["tcp"]
    assert [request.http_version for request in found.server_findings.requests] == ["2"]


def test_a_trial_whose_server_did_not_start_left_little(tmp_path: Path) -> None:
    """What is not there was not seen; reading it is no error."""
    (tmp_path / "evidence.json").write_text('{"server_failure": "exit status 1"}')
    shutil.copy(artifacts(H2_LOSS) / "ping.txt", tmp_path)
    found = seen.read(trial(H2_LOSS).scenario().roles, catalog.load(), tmp_path)
    assert found.server_failure == "exit status 1"
    assert found.client is None
    assert found.link == {}
    assert observe.observations(trial(H2_LOSS).scenario(), SERVED, found) == [
        observation
        for observation in observe.observations(
            trial(H2_LOSS).scenario(), SERVED, what_was_seen(H2_LOSS)
        )
        if observation.metric == "rtt"
    ]


def test_request_time_ends_with_the_clients_fin_over_tcp() -> None:
    """From its first packet to its FIN, as the emulator stamped them; what follows is no part."""
    found = what_was_seen(H2_LOSS)
    (connection,) = found.link["connections"]
    connection["client_last_ns"] = connection["client_close_ns"] + 10**9
    took = (connection["client_close_ns"] - connection["client_first_ns"]) / 1e9
    assert observe.request_time_s(found) == pytest.approx(took)


def test_request_time_ends_with_the_clients_last_packet_over_quic() -> None:
    """For a CONNECTION_CLOSE cannot be told from other packets on the wire."""
    found = what_was_seen(H3_CLEAN)
    (connection,) = found.connections
    assert connection["client_close_ns"] is None
    took = (connection["client_last_ns"] - connection["client_first_ns"]) / 1e9
    assert observe.request_time_s(found) == pytest.approx(took)


def test_request_time_ends_with_the_last_of_several_connections() -> None:
    """And begins with the first."""
    found = what_was_seen(H2_LOSS)
    (connection,) = found.link["connections"]
    earlier = {**connection, "client_first_ns": 10**6, "client_close_ns": 2 * 10**6}
    found.link["connections"].append(earlier)
    assert observe.request_time_s(found) == (connection["client_close_ns"] - 10**6) / 1e9


@pytest.mark.parametrize(("name", "tcp"), [(H2_LOSS, True), (H3_CLEAN, False)])
def test_every_metric_that_can_be_taken_is_taken(name: str, *, tcp: bool) -> None:
    """Of a completed trial: all, but for retransmissions that QUIC hides."""
    taken = observe.observations(trial(name).scenario(), SERVED, what_was_seen(name))
    values = {one.metric: one.value for one in taken}
    assert set(values) == set(METRICS) - (set() if tcp else {"retransmitted_share"})
    assert values["goodput"] == pytest.approx(8e6 / values["request_time"])
    assert values["goodput"] < 10e6
    assert values["handshake_time"] < values["request_time"]
    assert 0.05 < values["rtt"] < 0.06
    assert values["wire_overhead"] > 0
