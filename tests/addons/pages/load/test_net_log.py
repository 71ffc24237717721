"""Chromium's net-log: recorded ones of one page load each, complete and incomplete."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpbed.addons.pages.load import net_log
from httpbed.addons.pages.load.net_log import NetLog

FOLDER = Path(__file__).parent / "net_logs"
QUIC, HTTP2 = ((FOLDER / name).read_text() for name in ("quic.json", "http2.json"))
CONSTANTS = {
    "logSourceType": {"QUIC_SESSION": 13},
    "logEventTypes": {
        "QUIC_SESSION": 0,
        "QUIC_SESSION_PACKET_SENT": 1,
        "QUIC_SESSION_ACK_FRAME_RECEIVED": 2,
        "QUIC_SESSION_PACKET_LOST": 3,
    },
}


def log(*events: Any) -> str:
    """Return a net-log of one QUIC session, with its events at times in milliseconds."""
    lines = ",\n".join(
        json.dumps({"source": {"id": 1, "type": 13}, "time": at, "type": kind, "params": params})
        for at, kind, params in events
    )
    return f'{{"constants":{json.dumps(CONSTANTS)},\n"events": [\n{lines}],\n"polledData": [{{}}]}}'


def test_a_recorded_quic_session() -> None:
    """Chromium 156 with nginx 1.26.3 through a policer of 8 Mbit/s on the loopback device."""
    read = net_log.read(QUIC)
    assert (read.product, read.is_truncated, read.http2) == ("Chromium/156.0.8078.79", False, ())
    (session,) = read.quic
    assert (session.host, session.port) == ("server.httpbed.test", 443)
    assert (session.version, session.connection_id) == ("RFCv1", "7afd6062d90274e2")
    assert (session.began_s, session.handshake_s) == (46567.826, 0.007)
    assert (session.congestion_control, session.initial_window_packets) == ("CUBIC_BYTES", 32)
    assert (session.packets_sent, session.packets_received) == (42, 54)
    assert (session.packets_lost, session.packets_missing) == (0, 33)
    assert session.smallest_rtt_s == pytest.approx(0.000246, abs=1e-6)
    assert (session.requests, session.closed) == (5, "net error")


def test_a_recorded_http2_session() -> None:
    """QUIC was off; all payload of DATA frames counts."""
    (session,) = net_log.read(HTTP2).http2
    assert (session.host, session.protocol) == ("server.httpbed.test:443", "h2")
    assert (session.requests, session.closed) == (5, "Closing all sessions.")
    # The page, two files of 200 kB under three names, and an error response.
    assert session.bytes_received == 149 + 2 * 200_000 + 3000 + 555


@pytest.mark.parametrize("text", [QUIC, HTTP2])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.9, 0.999])
def test_an_incomplete_log_is_read_up_to_its_end(text: str, share: float) -> None:
    """The log is marked as truncated: a browser may be killed."""
    whole, torn = net_log.read(text), net_log.read(text[: int(len(text) * share)])
    assert torn.is_truncated or torn == whole
    for mine, its in zip(torn.quic, whole.quic, strict=False):
        assert mine.packets_sent <= its.packets_sent
        assert mine.began_s == its.began_s


def test_losses_and_round_trips() -> None:
    """The smallest sample less the peer's delay; losses as Chromium counts them."""
    read = net_log.read(
        log(
            (1000, 0, {"host": "a.test"}),
            (1000, 1, {"packet_number": 1, "sent_time_us": 1_000_500, "size": 1200}),
            (1010, 1, {"packet_number": 2, "sent_time_us": 1_010_250, "size": 1200}),
            (1061, 2, {"largest_observed": 1, "delta_time_largest_observed_us": 0}),
            (1062, 2, {"largest_observed": 1, "delta_time_largest_observed_us": 60_000}),
            (1063, 2, {"largest_observed": 2, "delta_time_largest_observed_us": 2750}),
            (1070, 3, {"packet_number": 3}),
        )
    )
    (session,) = read.quic
    assert session.smallest_rtt_s == pytest.approx(0.050)
    assert (session.packets_lost, session.bytes_sent) == (1, 2400)
    assert (session.version, session.handshake_s, session.closed) == ("", None, "")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"constants":[]}', "\x00", "[" * 100_000])
def test_another_file_gives_an_empty_net_log(text: str) -> None:
    """It gives an empty log, and no exception."""
    assert net_log.read(text) == NetLog(is_truncated=True)


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
PARAMS = st.dictionaries(
    st.sampled_from(["size", "packet_number", "largest_observed", "sent_time_us", "host"]), ANY
)


@given(st.lists(st.tuples(ANY, st.integers(0, 4) | ANY, PARAMS | ANY), max_size=6))
def test_arbitrary_events_are_read(events: list[Any]) -> None:
    """A compromised browser may write anything."""
    for session in net_log.read(log(*events)).quic:
        assert session.packets_sent >= 0
        assert session.bytes_sent >= 0
