//! The connections of all links.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;

use crate::acknowledged::Delivery;
use crate::answer::Nanos;
use crate::connection::{Connection, Protocol};
use crate::frame::Packet;
use crate::quic::Opening;
use crate::transport::Transport;

/// Follows every TCP and UDP connection, separately for each link: without translation the same addresses appear on
/// several links.
#[derive(Debug, Default)]
pub struct ConnectionTable {
    connections: Vec<(usize, Connection)>,
    index: HashMap<Key, usize>,
    /// Servers to which a client opened a QUIC connection, on any link.
    quic_servers: HashSet<SocketAddr>,
}

/// The most connections that are followed. A browser's load has some dozens. A program that opens more makes neither
/// the table nor the result larger, which then has 7 MB.
pub const MAX_CONNECTIONS: usize = 1 << 13;

/// What a packet shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// What it means for the table.
    pub place: Place,
    /// Its effect, if an observer may want to report it.
    pub sighting: Option<Sighting>,
    /// What its delivery will prove; pass it to [`ConnectionTable::deliver`] then.
    pub delivery: Option<Delivery>,
}

/// Where a packet belongs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// It is neither TCP nor UDP, or has no readable ports.
    #[default]
    None,
    /// To a known connection.
    Known(usize),
    /// To a connection that it opens.
    New(usize),
    /// To a connection beyond [`MAX_CONNECTIONS`], which is not followed.
    Beyond,
}

/// A packet's effect that an observer may want to report at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sighting {
    /// The server's first payload on this connection, by its place in the table.
    ServerSpoke(usize),
    /// The client's first packet under the keys that this connection's handshake agreed on.
    HandshakeOver(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    link: usize,
    protocol: Protocol,
    low: SocketAddr,
    high: SocketAddr,
}

impl Key {
    fn new(link: usize, protocol: Protocol, source: SocketAddr, destination: SocketAddr) -> Self {
        Self { link, protocol, low: source.min(destination), high: source.max(destination) }
    }
}

impl ConnectionTable {
    /// Records a packet that arrived at `now` on a link.
    pub fn observe(&mut self, link: usize, now: Nanos, packet: &Packet<'_>) -> Observed {
        let (protocol, source_port, destination_port) = match &packet.transport {
            Transport::Tcp(segment) => (Protocol::Tcp, segment.source_port, segment.destination_port),
            Transport::Udp(datagram) => (Protocol::Udp, datagram.source_port, datagram.destination_port),
            _ => return Observed::default(),
        };
        let source = SocketAddr::new(packet.source, source_port);
        let destination = SocketAddr::new(packet.destination, destination_port);
        let found = self.place(link, protocol, source, destination, opens(&packet.transport));
        let (Place::Known(place) | Place::New(place)) = found else {
            return Observed { place: found, ..Observed::default() };
        };
        let connection = &mut self.connections[place].1;
        let from_client = connection.client == source;
        let had_spoken = connection.from_server.first_payload.is_some();
        let was_over = connection.handshake.is_some();
        match &packet.transport {
            Transport::Tcp(segment) => connection.segment(now, packet.bytes, from_client, segment),
            Transport::Udp(datagram) => connection.datagram(now, packet.bytes, from_client, datagram),
            _ => {}
        }
        if from_client
            && connection.from_client.packets == 1
            && connection.opening.is_some_and(Opening::is_long)
        {
            self.quic_servers.insert(destination);
        }
        // A packet of the server cannot end the client's handshake, so at most one of the two is new.
        let sighting = if !had_spoken && connection.from_server.first_payload.is_some() {
            Some(Sighting::ServerSpoke(place))
        } else {
            (!was_over && connection.handshake.is_some()).then_some(Sighting::HandshakeOver(place))
        };
        let delivery = connection.load(from_client, &packet.transport);
        let delivery = delivery.map(|load| Delivery { place, from_client, load });
        Observed { place: found, sighting, delivery }
    }

    /// Records that a packet was delivered at `at`.
    pub fn deliver(&mut self, at: Nanos, delivery: Delivery) {
        let Delivery { place, from_client, load } = delivery;
        self.connections[place].1.deliver(at, from_client, load);
    }

    /// The connections with their links, in the order in which they began.
    #[must_use]
    pub fn connections(&self) -> &[(usize, Connection)] {
        &self.connections
    }

    /// Finds the connection of a packet, or adds a new one, also when the ports of an ended connection are used
    /// again.
    fn place(
        &mut self,
        link: usize,
        protocol: Protocol,
        source: SocketAddr,
        destination: SocketAddr,
        opens: bool,
    ) -> Place {
        let key = Key::new(link, protocol, source, destination);
        if let Some(&place) = self.index.get(&key) {
            if !(opens && self.connections[place].1.is_over()) {
                return Place::Known(place);
            }
        }
        if self.connections.len() >= MAX_CONNECTIONS {
            return Place::Beyond;
        }
        let place = self.connections.len();
        let to_quic = protocol == Protocol::Udp && self.quic_servers.contains(&destination);
        self.connections.push((link, Connection::new(protocol, source, destination, to_quic)));
        self.index.insert(key, place);
        Place::New(place)
    }
}

const fn opens(transport: &Transport<'_>) -> bool {
    matches!(transport, Transport::Tcp(segment) if segment.syn && !segment.ack)
}
