//! The report of a connection.

use link_model::Nanos;
use serde::Serialize;
use wire::{Connection, Opening, Protocol, Side};

use super::Peers;
use crate::config::Config;

/// A connection as one link saw it. Times are since the emulator was ready; see [`Report`](super::Report).
#[derive(Debug, Serialize)]
pub struct ConnectionReport<'a> {
    #[serde(flatten)]
    peers: Peers<'a>,
    client_first_ns: Option<Nanos>,
    client_last_ns: Option<Nanos>,
    server_first_ns: Option<Nanos>,
    server_last_ns: Option<Nanos>,
    client_packets: u64,
    server_packets: u64,
    client_bytes: u64,
    server_bytes: u64,
    client_close_ns: Option<Nanos>,
    server_reset: bool,
    handshake_ns: Option<Nanos>,
    client_payload_bytes: u64,
    server_payload_bytes: u64,
    server_retransmitted_bytes: Option<u64>,
    client_retransmitted_bytes: Option<u64>,
    /// The most sequence numbers that a side acknowledged beyond what was delivered to it. `None` for UDP, and
    /// without the first SYN.
    acknowledged_ahead: Option<u32>,
    server_first_payload_ns: Option<Nanos>,
    /// The last delivery to the client that belongs to the answer; see [`wire::Answer`].
    answer_last_ns: Option<Nanos>,
    /// Payload delivered to the client until then, or until the client's end if that is later.
    answer_bytes: u64,
    /// Of UDP: the same until the client's last datagram.
    heard_bytes: Option<u64>,
    /// Of UDP: when the client's last datagram was delivered to the server, unless it was lost.
    client_heard_ns: Option<Nanos>,
    /// Of UDP: when the server's last large datagram arrived at the link.
    server_last_large_ns: Option<Nanos>,
    /// Type of the client's first datagram: `initial`, `0-rtt`, `handshake`, `short` or `other`.
    opening: Option<&'static str>,
    /// UDP payload bytes of the client's first datagrams, at most four.
    client_first_sizes: Option<Vec<u16>>,
    /// The same of the server.
    server_first_sizes: Option<Vec<u16>>,
}

impl<'a> ConnectionReport<'a> {
    /// The report of a connection in the table.
    pub fn new(config: &'a Config, entry: &(usize, Connection)) -> Self {
        let connection = &entry.1;
        let Connection { from_client, from_server, .. } = connection;
        let sent_again = |side: &Side| connection.retransmitted_bytes(side);
        let is_udp = connection.protocol == Protocol::Udp;
        let first_sizes = |side: &Side| is_udp.then(|| side.first_sizes.known().to_vec());
        Self {
            peers: Peers::of(config, entry),
            client_first_ns: from_client.first,
            client_last_ns: from_client.last,
            server_first_ns: from_server.first,
            server_last_ns: from_server.last,
            client_packets: from_client.packets,
            server_packets: from_server.packets,
            client_bytes: from_client.bytes,
            server_bytes: from_server.bytes,
            client_close_ns: connection.client_close,
            server_reset: connection.server_reset,
            handshake_ns: connection.handshake,
            client_payload_bytes: from_client.payload_bytes,
            server_payload_bytes: from_server.payload_bytes,
            server_retransmitted_bytes: sent_again(from_server),
            client_retransmitted_bytes: sent_again(from_client),
            acknowledged_ahead: connection.acknowledged_ahead(),
            server_first_payload_ns: from_server.first_payload,
            answer_last_ns: connection.answer.last(),
            answer_bytes: connection.answer.bytes(),
            heard_bytes: is_udp.then(|| connection.answer.heard_bytes()),
            client_heard_ns: connection.client_heard(),
            server_last_large_ns: connection.answer.last_large(),
            opening: connection.opening.map(word),
            client_first_sizes: first_sizes(from_client),
            server_first_sizes: first_sizes(from_server),
        }
    }
}

const fn word(opening: Opening) -> &'static str {
    match opening {
        Opening::Initial => "initial",
        Opening::ZeroRtt => "0-rtt",
        Opening::Handshake => "handshake",
        Opening::Short => "short",
        Opening::Other => "other",
    }
}
