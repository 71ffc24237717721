"""How a client reacted to a hand-over, by the packets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from httpbed.addons.handover import handover_checks as handover
from httpbed.trial.evidence import AttemptEvidence
from planted import ended
from recorded_handover import (
    CHAIN,
    MS,
    S,
    changed,
    connections,
    delivered,
    observed,
    of_subject,
    on,
    on_handover,
    own,
    verdicts,
)


@pytest.mark.parametrize(
    ("how", "words"),
    [({"opening": "initial"}, "QUIC, with"), ({"protocol": "tcp", "opening": None}, "TCP")],
)
def test_a_handshake_shows_a_new_connection(how: dict[str, Any], words: str) -> None:
    """Over TCP and QUIC."""
    evidence = observed()
    check = of_subject(connections(evidence, on(evidence, "wifi"), on(evidence, "cellular", **how)))
    assert check.passed is True
    assert check.figure == f"a new connection: {words}{check.figure.split(words)[1]}"
    assert check.figure.endswith("over cellular")


def only(evidence: AttemptEvidence, **changes: Any) -> AttemptEvidence:
    """Leave this connection alone on the new link, without other deliveries there."""
    there = {"server_payload_bytes": 1, "handshake_ns": None, **changes}
    came = sum(there.get("server_first_sizes", ()))
    at_ms = own(evidence).changes[0].at_ns // MS + 50
    bins = {"wifi": own(evidence).deliveries["wifi"], "cellular": {at_ms: came} if came else {}}
    told = connections(evidence, on(evidence, "wifi"), on(evidence, "cellular", **there))
    return delivered(told, bins)


def test_a_stateless_reset_is_no_migration() -> None:
    """A stateless reset is one datagram that looks like a short header."""
    reset = only(ended(status=56)(observed()), server_first_sizes=[43], server_payload_bytes=43)
    check = of_subject(reset)
    assert check.passed is None
    assert check.figure == (
        "answered once over cellular, by a datagram of 43 bytes: perhaps a stateless reset"
    )
    assert handover.unfollowed(verdicts(reset)) == check.figure
    assert of_subject(ended(status=0)(reset)).passed is None


def test_a_validated_path_without_data_is_no_migration() -> None:
    """The client stayed on its old path."""
    probed = only(ended(status=56)(observed()), server_first_sizes=[1200, 1200])
    bins = {**own(probed).deliveries, "wifi": dict.fromkeys(range(600), 900)}
    probed = delivered(probed, bins)
    for evidence in (probed, ended(status=0)(probed)):
        check = of_subject(evidence)
        assert check.passed is None
        assert check.figure == (
            "answered only: 1 bytes came back over cellular, first datagrams of 1200, 1200 bytes,"
            " and no data went on there"
        )


def test_a_small_rest_of_a_body_is_a_migration() -> None:
    """The client ended well, and all of it came on the new path."""
    rest = {"server_first_sizes": [1200, 700], "server_payload_bytes": 1900}
    assert of_subject(only(observed(), **rest)).figure.startswith("migrated: ")
    assert of_subject(only(ended(status=56)(observed()), **rest)).passed is None


def test_a_refused_connection_is_no_connection() -> None:
    """The response was a reset."""
    tcp = {"protocol": "tcp", "opening": None, "server_first_sizes": None}
    evidence = only(
        ended(status=7)(observed()), **{**tcp, "server_first_sizes": []}, server_reset=True
    )
    check = of_subject(evidence)
    assert check.passed is None
    assert check.figure == "answered only: a new connection over cellular was refused"
    closed = {"opening": "initial", "server_first_sizes": [90], "server_payload_bytes": 90}
    check = of_subject(only(ended(status=7)(observed()), **closed))
    assert check.figure == "answered once over cellular, by a datagram of 90 bytes"


def test_a_greased_short_header_with_data_is_a_migration() -> None:
    """RFC 9287: without data the kind is unknown."""
    evidence = observed()
    assert CHAIN.hops[0].opened(greased(evidence).connections) == [on(evidence, "wifi")]
    assert of_subject(greased(evidence)).figure.startswith("migrated: same connection")
    answered = {"opening": "other", "server_first_sizes": [1200, 1200]}
    check = of_subject(only(ended(status=56)(evidence), **answered))
    assert check.passed is None
    assert check.figure == "not known: what came over cellular looks like no known header"


def greased(evidence: AttemptEvidence) -> AttemptEvidence:
    """Let the connection migrate with a datagram of an unknown kind."""
    return connections(evidence, on(evidence, "wifi"), on(evidence, "cellular", opening="other"))


def test_packets_without_a_response_are_no_connection() -> None:
    """A connection needs a response, however many packets the client sends."""
    evidence = observed()
    unanswered = on(evidence, "cellular", server_first_ns=None, server_first_sizes=[])
    check = of_subject(connections(evidence, on(evidence, "wifi"), unanswered))
    assert check.passed is None
    assert check.figure.endswith("nothing was answered of what was sent over cellular")


def test_the_link_behind_a_nat_shows_the_new_port() -> None:
    """The client's own link shows nothing new."""
    evidence = observed()
    at_ns = own(evidence).changes[0].at_ns
    evidence = changed(evidence, left="wifi", entered="wifi", ordered_ns=at_ns - MS)
    since = at_ns + evidence.link["started_ns"]
    behind = {"client": "10.77.0.1:1024", "client_first_ns": since, "opening": "short"}
    kind = {"kind": "NAT rebinding", "sockets": ""}
    before = [on(evidence, "wifi", client_last_ns=since + S), on(evidence, "router-server")]
    survived = of_subject(
        connections(evidence, *before, on(evidence, "router-server", **behind)), **kind
    )
    assert survived.figure.startswith("migrated behind its NAT: same connection, from ")
    assert " to 10.77.0.1:1024" in survived.figure
    tcp = {**behind, "protocol": "tcp", "opening": None}
    lost = of_subject(connections(evidence, *before, on(evidence, "router-server", **tcp)), **kind)
    assert lost.figure == "from 10.77.0.1:1024, which for TCP is another connection"
    assert of_subject(connections(evidence, *before), **kind).figure.startswith("nothing more came")


def test_deliveries_show_a_path_that_is_used_again() -> None:
    """The old socket sends again, without a new beginning."""
    evidence = observed()
    (first,) = own(evidence).changes
    later = first.at_ns + S
    second = replace(
        first, number=2, left="cellular", entered="wifi", at_ns=later, ordered_ns=later
    )
    evidence = ended(status=1)(on_handover(changes=(first, second), ended_ns=later + S)(evidence))
    after = {later // MS + 5: 9000}
    back = {**own(evidence).deliveries, "wifi": {**own(evidence).deliveries["wifi"], **after}}
    returned = of_subject(delivered(evidence, back))
    assert returned.figure == "2 hand-overs: 2 migrated"
    stayed = of_subject(delivered(evidence, {"wifi": back["wifi"]}))
    assert stayed.figure == "2 hand-overs: 1 answered only, 1 not followed"
