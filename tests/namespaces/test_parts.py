"""Trials of several parts: proxies, parallel files, rounds, resumption, competitors.

What is asserted is certain on a busy machine: that all packets are accounted for, what was
spoken on each hop, and that what came is what was served.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from httpbed.experiment.trial import Record
from real_runs import SmallExperiment, artifact, check, stage, values

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]

THROUGH_NGINX = 'proxies = [{ implementation = "nginx", http_version = "1.1" }]'
ROW = ("client", "proxy", "server")


def completed(settings: SmallExperiment, directory: Path) -> dict[str, Record]:
    """Run trials, all of which must complete, and return them by HTTP version."""
    records = stage(settings).results(directory)
    for record in records:
        assert record.attempt.outcome.kind == "completed", record.attempt.outcome.reason
        assert check(record, "conservation of packets").passed
    return {record.attempt.trial.levels["http_version"]: record for record in records}


def test_a_proxy_between_two_links(tmp_path: Path) -> None:
    """Each hop speaks its version; no packet behind the proxy has the client's address."""
    settings = SmallExperiment(way=ROW, roles=THROUGH_NGINX, loss="1 %")
    for version, record in completed(settings, tmp_path / "campaign").items():
        first = check(record, "protocol used, client->proxy")
        assert first.figure == f"1 request(s) HTTP/{version}, by the proxy's log"
        second = check(record, "protocol used, proxy->server")
        assert second.figure == "1 request(s) HTTP/1.1, by the server's log"
        assert check(record, "body as served").passed
        assert check(record, "round-trip time, proxy->server").passed
        links = artifact(tmp_path / "campaign", record, "link-result.json")["directions"]
        assert [way["link"] for way in links] == ["client-proxy"] * 2 + ["proxy-server"] * 2
        assert all(way["packets"]["delivered"] for way in links)
        assert set(values(record)) >= {"proxy_cpu", "server_cpu", "upstream_connections"}


def test_several_files_at_once(tmp_path: Path) -> None:
    """HTTP/2 and HTTP/3 fetch all files over one connection, and each file has its time."""
    settings = SmallExperiment(versions=("2", "3"), workload="files = 20", size="20 kB")
    for record in completed(settings, tmp_path / "campaign").values():
        assert check(record, "bodies as served").figure == "20 files as served"
        assert check(record, "connection count").figure.startswith("1,")
        times = {
            observation.item: observation.value
            for observation in record.observations
            if observation.metric == "file_time"
        }
        assert set(times) == {f"20000-{number}.txt" for number in range(1, 21)}
        assert values(record)["file_time_slowest"] == max(times.values())


def test_six_connections(tmp_path: Path) -> None:
    """As browsers do with HTTP/1.1, the client opens at most as many as it was told."""
    settings = SmallExperiment(
        versions=("1.1",), workload="files = 12\nconnections = 6", size="20 kB"
    )
    (record,) = completed(settings, tmp_path / "campaign").values()
    assert 1 < values(record)["connections"] <= 6
    assert check(record, "bodies as served").figure == "12 files as served"


def test_rounds_on_a_warm_connection(tmp_path: Path) -> None:
    """One connection fetches the file repeatedly, and each response's length is reported."""
    settings = SmallExperiment(workload="rounds = 5", size="20 kB")
    for record in completed(settings, tmp_path / "campaign").values():
        assert check(record, "connection count").figure.startswith("1,")
        assert check(record, "length of the answers").figure.startswith("0 of 5")
        assert check(record, "status of the answers").figure.startswith("5 of 200")


@pytest.mark.slow
def test_requests_in_waves(tmp_path: Path) -> None:
    """Each is due at a multiple of the interval, whatever the client was busy with then.

    The client is compiled first, which takes minutes.
    """
    settings = SmallExperiment(
        client="quic-go",
        workload='files = 25\ninterval = "40 ms"\nwave = 5\n',
        size="5 kB",
    )
    for record in completed(settings, tmp_path / "campaign").values():
        assert check(record, "requests at intervals").passed
        file = next((tmp_path / "campaign").glob(f"trials/*/{record.attempt.trial.id}/*/artifacts"))
        log = [
            json.loads(line) for line in (file / "client/quic-go.jsonl").read_text().splitlines()
        ]
        due_s = sorted(request["began_s"] for request in log)
        waves = [round((time_s - due_s[0]) / 0.04, 6) for time_s in due_s]
        assert waves == [wave for wave in range(5) for _ in range(5)]


def test_what_is_stated_for_tcp_sockets(tmp_path: Path) -> None:
    """The client's receive buffer bounds the window, and each kernel reports what is stated."""
    settings = SmallExperiment(
        versions=("1.1", "2"),
        on_client='tcp_receive_buffer = "32 KiB"\ntcp_initial_window = 20',
        on_server='tcp_send_buffer = "256 KiB"\ntcp_initial_window = 40',
    )
    for record in completed(settings, tmp_path / "campaign").values():
        assert check(record, "TCP buffers, client").passed
        assert check(record, "TCP buffers, server").figure == "send 262144 bytes"
        assert check(record, "TCP initial window, client").passed
        assert check(record, "TCP initial window, server").passed


def test_a_resumed_connection(tmp_path: Path) -> None:
    """The previous visit leaves a ticket, and its request is not counted."""
    settings = SmallExperiment(
        versions=("3",), client="gtlsclient", workload='resumption = "resumed"'
    )
    (record,) = completed(settings, tmp_path / "campaign").values()
    figure = check(record, "resumption").figure
    assert figure.startswith("1 of 1 request(s) on a resumed connection, 0 in early data")
    assert check(record, "client-prior ended well").passed
    assert check(record, "status of the one answer").passed


@pytest.mark.parametrize("version", ["1.1", "3"])
def test_an_empty_file(tmp_path: Path, version: str) -> None:
    """An empty file has a digest and a time, and no goodput."""
    settings = SmallExperiment(versions=(version,), size="0 B")
    (record,) = completed(settings, tmp_path / "campaign").values()
    assert check(record, "body as served").passed
    assert "goodput" not in values(record)
    assert "request_time" in values(record)


RIVAL = """
[[competitors]]
after = "100 ms"
client = { implementation = "curl", http_version = "2", host = "rival" }
server = { implementation = "nginx", host = "rivalserver", congestion_control = "reno" }
workload = { kind = "download", size = "10 MB" }
"""
BELL = SmallExperiment(
    versions=("1.1",),
    way=("client", "left", "right", "server"),
    branches=(("rival", "left"), ("right", "rivalserver")),
    more=RIVAL,
    size="1 MB",
)
"""Two clients whose ways have one link in common."""


def test_competitors_share_a_link(tmp_path: Path) -> None:
    """The trial ends with the client; each sender has its own congestion control and resources."""
    (record,) = completed(BELL, tmp_path / "campaign").values()
    stopped = check(record, "competitor-1-client ended well")
    assert (stopped.passed, stopped.figure) == (
        None,
        "was stopped at work when the client was done",
    )
    senders = {
        one.name.rpartition(" ")[2]: one.figure
        for one in record.attempt.checks
        if one.name.startswith("sender's")
    }
    assert senders == {
        "server": "cubic on the accepted sockets",
        "competitor-1-server": "reno on the accepted sockets",
    }
    seen = values(record)
    rates = [
        observation.value
        for observation in record.observations
        if observation.metric == "rate_while_shared"
    ]
    assert len(rates) == 2
    assert seen["share"] == pytest.approx(rates[0] / sum(rates))
    assert sum(rates) < 10e6 * 1.05
    assert 0.5 <= seen["jain_index"] <= 1
    exits = artifact(tmp_path / "campaign", record, "evidence.json")["exits"]
    assert set(exits) == {"client", "server", "competitor-1-client", "competitor-1-server"}
    assert all(one["cpu_s"] > 0 and one["max_rss_kib"] > 0 for one in exits.values())
