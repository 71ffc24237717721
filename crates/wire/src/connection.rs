//! The facts known about one connection.

use std::net::SocketAddr;

use crate::acknowledged::{self, Deliveries, Load};
use crate::answer::{Answer, Nanos};
use crate::quic::{self, Opening, ShortHeaderWatch};
use crate::stream::SequenceTracker;
use crate::tls::FinishedWatch;
use crate::transport::{Datagram, Segment, Transport};

/// The transport of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP; a connection is then all traffic between two ports.
    Udp,
}

/// What one side of a connection sent, as it arrived at the observer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Side {
    /// First packet.
    pub first: Option<Nanos>,
    /// Last packet.
    pub last: Option<Nanos>,
    /// First packet with payload.
    pub first_payload: Option<Nanos>,
    /// Packets.
    pub packets: u64,
    /// Bytes of the IP packets.
    pub bytes: u64,
    /// Bytes of TCP or UDP payload, retransmissions included.
    pub payload_bytes: u64,
    /// UDP payload bytes of its first datagrams; empty for TCP.
    pub first_sizes: FirstSizes,
    sequence: SequenceTracker,
}

/// The sizes of the first datagrams, which include those of path validation (RFC 9000, 8.2).
#[derive(Clone, Copy, Debug, Default)]
pub struct FirstSizes {
    sizes: [u16; Self::MAX],
    count: usize,
}

impl FirstSizes {
    /// How many sizes are kept.
    pub const MAX: usize = 4;

    /// The known sizes, in the order of arrival.
    #[must_use]
    pub fn known(&self) -> &[u16] {
        self.sizes.get(..self.count).unwrap_or_default()
    }

    fn note(&mut self, payload: &[u8]) {
        if let Some(place) = self.sizes.get_mut(self.count) {
            *place = u16::try_from(payload.len()).unwrap_or(u16::MAX);
            self.count += 1;
        }
    }
}

/// One connection. The client is the sender of the first packet seen.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Transport.
    pub protocol: Protocol,
    /// Address and port of the client.
    pub client: SocketAddr,
    /// Address and port of the server.
    pub server: SocketAddr,
    /// What the client sent.
    pub from_client: Side,
    /// What the server sent.
    pub from_server: Side,
    /// First FIN or RST of the client; `None` for UDP.
    pub client_close: Option<Nanos>,
    /// Whether the server sent a RST before the client closed. Later ones only answer data for a closed socket.
    pub server_reset: bool,
    /// Type of the client's first datagram; `None` for TCP.
    pub opening: Option<Opening>,
    /// The client's first packet under the keys that the handshake agreed on. `None` also if there was no handshake
    /// because the connection came from another four-tuple ([`Opening::Short`]).
    pub handshake: Option<Nanos>,
    /// What was delivered to the client.
    pub answer: Answer,
    deliveries: Deliveries,
    /// The last datagram of the client that was delivered: its number and when.
    heard: Option<(u64, Nanos)>,
    /// Whether any client spoke QUIC with this server before.
    to_quic: bool,
    tls: FinishedWatch,
    quic: ShortHeaderWatch,
}

impl Connection {
    pub(crate) fn new(protocol: Protocol, client: SocketAddr, server: SocketAddr, to_quic: bool) -> Self {
        Self {
            protocol,
            client,
            server,
            from_client: Side::default(),
            from_server: Side::default(),
            client_close: None,
            server_reset: false,
            opening: None,
            handshake: None,
            answer: Answer::default(),
            deliveries: Deliveries::default(),
            heard: None,
            to_quic,
            tls: FinishedWatch::default(),
            quic: ShortHeaderWatch::default(),
        }
    }

    /// Whether either side ended it.
    pub(crate) const fn is_over(&self) -> bool {
        self.client_close.is_some() || self.server_reset
    }

    pub(crate) fn segment(&mut self, now: Nanos, bytes: u32, from_client: bool, segment: &Segment<'_>) {
        let side = self.side(from_client);
        side.heard(now, bytes, segment.payload);
        side.sent(segment);
        self.deliveries.observe(from_client, segment);
        let closes = segment.fin || segment.rst;
        if !from_client {
            self.answer.arrived(segment.first_byte(), segment);
            self.server_reset |= segment.rst && self.client_close.is_none();
            return;
        }
        if closes && self.client_close.is_none() {
            self.client_close = Some(now);
            self.answer.close(now);
        }
        let server_has_spoken = self.from_server.first_payload.is_some();
        if self.tls.observe(segment.first_byte(), segment.payload, server_has_spoken) {
            self.handshake = Some(now);
        }
    }

    pub(crate) fn datagram(&mut self, now: Nanos, bytes: u32, from_client: bool, datagram: &Datagram<'_>) {
        let side = self.side(from_client);
        side.heard(now, bytes, datagram.payload);
        side.first_sizes.note(datagram.payload);
        if !from_client {
            self.answer.arrived_datagram(now, datagram.payload.len());
        }
        if from_client {
            self.answer.hear_client(datagram.payload);
            self.opening.get_or_insert_with(|| Opening::of(datagram.payload, self.to_quic));
        }
        if from_client && self.quic.observe(datagram.payload) {
            self.handshake = Some(now);
        }
    }

    /// Payload bytes that a side retransmitted; `None` for UDP, where headers do not show it.
    #[must_use]
    pub fn retransmitted_bytes(&self, side: &Side) -> Option<u64> {
        (self.protocol == Protocol::Tcp).then(|| side.sequence.retransmitted_bytes())
    }

    /// Records that a packet of a side was delivered to the other.
    pub(crate) fn deliver(&mut self, at: Nanos, from_client: bool, load: Load) {
        match load {
            Load::Stream { first, bytes, end } => {
                self.deliveries.deliver(from_client, end);
                if !from_client {
                    self.answer.deliver_stream(at, first, bytes, self.client_close);
                }
            }
            Load::Datagram { number, .. } if from_client => self.heard = Some((number, at)),
            Load::Datagram { bytes, is_long, .. } => self.answer.deliver_datagram(at, bytes, is_long),
        }
    }

    /// What a packet that a side sent carries.
    pub(crate) fn load(&self, from_client: bool, transport: &Transport<'_>) -> Option<Load> {
        let side = if from_client { &self.from_client } else { &self.from_server };
        match transport {
            Transport::Tcp(segment) => acknowledged::load(segment),
            Transport::Udp(datagram) => {
                let bytes = u32::try_from(datagram.payload.len()).ok()?;
                let is_long = quic::begins_long(datagram.payload);
                Some(Load::Datagram { bytes, is_long, number: side.packets })
            }
            _ => None,
        }
    }

    /// When the client's last datagram was delivered to the server; `None` if it was not, and for TCP.
    #[must_use]
    pub fn client_heard(&self) -> Option<Nanos> {
        self.heard.filter(|(number, _)| *number == self.from_client.packets).map(|(_, at)| at)
    }

    /// The most sequence numbers that a side acknowledged beyond what was delivered to it; `None` for UDP, and if
    /// the beginning of the connection was not seen.
    #[must_use]
    pub fn acknowledged_ahead(&self) -> Option<u32> {
        self.deliveries.ahead()
    }

    const fn side(&mut self, client: bool) -> &mut Side {
        if client { &mut self.from_client } else { &mut self.from_server }
    }
}

impl Side {
    fn heard(&mut self, now: Nanos, bytes: u32, payload: &[u8]) {
        self.first.get_or_insert(now);
        self.last = Some(now);
        self.packets += 1;
        self.bytes += u64::from(bytes);
        self.payload_bytes += payload.len() as u64;
        if !payload.is_empty() {
            self.first_payload.get_or_insert(now);
        }
    }

    fn sent(&mut self, segment: &Segment<'_>) {
        // A RST may carry any number and a reason as payload: it belongs to no stream.
        let Ok(length) = u32::try_from(segment.payload.len()) else { return };
        if !segment.rst {
            self.sequence.observe(segment.first_byte(), length);
        }
    }
}
