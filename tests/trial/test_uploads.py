"""An upload: the server's file proves it, and all that has a direction follows the bodies.

The recorded attempt sent 100 kB over 4 Mbit/s with 5 % loss; the way back has 20 Mbit/s and none.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from httpbed.experiment.metric import Observation
from httpbed.experiment.trial import Outcome
from httpbed.programs.part import LoggedRequest
from httpbed.trial import plan, verdict
from httpbed.trial.fairness import FairShares
from planted import Fault, broken, ending, logged, on_link, other, relogged, stored
from recorded import (
    CATALOG,
    UPLOADED,
    contents,
    judged,
    judged_attempt,
    observations,
    planned,
    recorded_evidence,
    trial,
    with_additions,
)

EVIDENCE = recorded_evidence(UPLOADED)
((_, SENT),) = contents(UPLOADED).items()
WHOLE = {"bytes": SENT.size, "sha256": SENT.sha256}
EARLY = 65_386
"""Bytes after which nginx answers 200 if nothing makes it read a body."""


def value(metric: str, found: list[Observation]) -> float:
    (one,) = [observation.value for observation in found if observation.metric == metric]
    return one


def test_the_recorded_upload_completes_again() -> None:
    """Judging depends only on the files."""
    assert judged(UPLOADED).attempt.outcome == Outcome(kind="completed")
    assert broken(EVIDENCE, UPLOADED) == set()


@pytest.mark.parametrize(
    ("fault", "check"),
    [
        (stored({**WHOLE, "bytes": EARLY, "sha256": "0" * 64}), "bodies as sent"),
        (stored({**WHOLE, "sha256": "0" * 64}), "bodies as sent"),
        (stored(None), "bodies as sent"),
        (relogged("server", status=413), "status of the one answer"),
    ],
)
def test_an_upload_that_did_not_arrive_whole_has_failed(fault: Fault, check: str) -> None:
    """A status of success proves nothing, and the bed is not to blame."""
    evidence = fault(EVIDENCE)
    assert broken(evidence, UPLOADED) == {check}
    assert ending(evidence, UPLOADED).kind == "failed"


@pytest.mark.parametrize(
    ("method", "failed"), [("PUT", set()), ("POST", {"method of the requests"})]
)
def test_the_servers_log_says_the_method(method: str, failed: set[str]) -> None:
    """It is no flag of the client; a log without it, as the recorded one, is no evidence."""
    evidence = relogged("server", method=method)(EVIDENCE)
    assert broken(evidence, UPLOADED) == failed


def test_a_refusal_that_the_server_did_not_log_is_told_by_the_client() -> None:
    """A server that still drains the connection may end before it has logged the request."""
    refused = relogged("client", status=413)(stored(None)(logged()(EVIDENCE)))
    assert "413, by the client" in ending(refused, UPLOADED).reason


def test_a_server_that_stores_more_than_was_delivered_has_failed() -> None:
    """It cannot have the file from anywhere else."""
    direction = on_link("directions", 0, "bytes", "delivered", to=EARLY)
    assert broken(direction(EVIDENCE), UPLOADED) >= {"possible for this link, bodies stored"}


def test_the_sender_whose_congestion_control_counts_is_the_client() -> None:
    """The kernel reports that of the client's sockets."""
    assert dict(EVIDENCE.algorithms) == {"client": {"cubic"}}
    evidence = other(algorithms={"client": frozenset({"reno"})})(EVIDENCE)
    assert broken(evidence, UPLOADED) == {"sender's congestion control"}
    assert ending(evidence, UPLOADED).kind == "invalid"


def test_metrics_of_a_direction_are_of_the_bodies_direction() -> None:
    """Losses, overhead and utilisation of the way up; the way down carried acknowledgements."""
    found = observations(EVIDENCE, UPLOADED)
    up, down = EVIDENCE.link["directions"]
    assert value("utilisation", found) == up["utilisation"] > 4 * down["utilisation"]
    assert value("packet_loss", found) == len(up["lost_numbers"]) / up["packets"]["in"] > 0
    (connection,) = EVIDENCE.connections
    overhead = connection["client_bytes"] / SENT.size - 1
    assert value("wire_overhead", found) == pytest.approx(overhead)
    again = connection["client_retransmitted_bytes"] / connection["client_payload_bytes"]
    assert value("retransmitted_share", found) == again > 0
    assert value("goodput", found) < 4e6
    assert "time_to_first_byte" not in {observation.metric for observation in found}


def test_the_plan_gives_the_file_to_the_client_and_a_folder_to_the_server() -> None:
    """So the server stores only what came over the link."""
    (client,) = planned(UPLOADED).attempt.clients
    assert client.receiver == "server"
    assert client.part.sender == "client"
    words = client.process.argv
    assert words[words.index("--upload-file") + 1] == "/content/100000.txt"
    server = planned(UPLOADED).attempt.servers["server"]
    (configuration,) = [text for name, text in server.files.items() if name.endswith("nginx.conf")]
    assert "root /tmp/bodies/client; dav_methods PUT;" in configuration


def test_a_request_that_a_client_reports_with_another_success_is_accepted() -> None:
    """A server may answer a PUT with 200, 201 or 204."""
    for status in (200, 201, 204):
        requests: list[LoggedRequest] = [
            replace(request, status=status) for request in EVIDENCE.reports["server"].requests
        ]
        evidence = relogged("client", status=status)(logged(*requests)(EVIDENCE))
        assert broken(evidence, UPLOADED) == set()


def test_an_upload_beside_a_download_has_no_share() -> None:
    """They share no direction of a link; each still has its rate."""
    rival = {
        "client": {"implementation": "curl", "http_version": "2", "host": "rival"},
        "server": {"implementation": "nginx", "host": "rivalserver"},
    }
    links = [{"between": [host, "middle"]} for host in ("client", "rival", "server", "rivalserver")]
    hosts = ["client", "rival", "middle", "server", "rivalserver"]
    rates = {"client": 4e6, "competitor-1-client": 2e6}
    shared = replace(
        EVIDENCE,
        fairness=FairShares(2.0, rates),
        reports=dict.fromkeys(("client", "competitor-1-client"), EVIDENCE.reports["client"]),
        link={},
        pings_s=dict.fromkeys(("client->server", "competitor-1-client->competitor-1-server"), ()),
    )
    for kind, has_share in (("download", False), ("upload", True)):
        workload = {"kind": kind, "size": "1 MB"}
        document = {
            **trial(UPLOADED).document,
            "topology": {"hosts": hosts, "links": links},
            "competitors": [{**rival, "workload": workload}],
        }
        mixed = plan.plan(trial(UPLOADED).model_copy(update={"document": document}), CATALOG)
        attempt = with_additions(mixed, judged_attempt(EVIDENCE, UPLOADED).setup, shared)
        found = {observation.metric for observation in verdict.observations(attempt)}
        assert "rate_while_shared" in found
        assert ({"share", "jain_index"} <= found) is has_share
