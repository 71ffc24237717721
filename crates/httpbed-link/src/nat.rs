//! A network address translator at the second host's end of a link.
//!
//! # Theory of operation
//!
//! The translator keeps a port for each sender. A packet that leaves the link towards the second host gets this
//! port as its source port. A packet that the second host sends to this port gets the client's own port back before
//! it enters the link:
//!
//! ```text
//! first host --[ loss, damage, copies, queue, rate, delay ]--> source port replaced ------> second host
//! first host <--[ loss, damage, copies, queue, rate, delay ]-- destination port put back <-- second host
//! ```
//!
//! Everything inside the link therefore sees the client's own ports: the table of connections, the flows of a
//! queue, and the capture. The next link sees the new four-tuple. Nothing on the link itself changes. A packet that
//! cannot be translated back is refused before the link (`Direction::refuse`) with a number of its own, and every
//! other packet keeps its number and its draws.
//!
//! **Mappings** are endpoint-independent (RFC 4787, 4.1, REQ-1): address, port and protocol of a program have one
//! port for all destinations. So is filtering (section 5): any sender that knows the port can use it. Mappings do
//! not expire, as if every one were used within the two minutes of REQ-5. Only ports are translated, not the
//! address, so routes need no second address. At first ports are preserved (4.2.1), and two programs never share
//! one (REQ-3), because one host uses each port once.
//!
//! **A rebinding** makes the translator forget all mappings, as a restart does, or a timer shorter than a silence.
//! From then on every flow gets a port that no flow had before, and packets to an old port are refused. QUIC sees a
//! migration that the client does not know of: the server gets packets of a connection from a new four-tuple,
//! validates the path and continues (RFC 9000, 9.3). It may keep its congestion state, because only the port is new
//! (9.4). RFC 9308, 3.2 and 9, describes the consequences for applications. A TCP connection cannot follow: its
//! segments come from a port that the server does not know, and the server answers with a reset (RFC 9293,
//! 3.10.7.1), which is translated back. A translator that tracks TCP's states would drop such segments silently.
//! This one creates a mapping for any segment, as most Linux-based ones do (`nf_conntrack_tcp_loose`).
//!
//! **Time.** Each direction of the link makes a rebinding at its own time, like every change. A packet that is due
//! at the second end at that time or later meets the new mappings, even if it was sent before. A packet that had
//! arrived there before still goes back to the client through the link.
//!
//! **Not translated** are packets without readable ports: other protocols, all fragments but the first, and ICMP,
//! errors included. They pass unchanged. An error quotes a translated packet. While ports are preserved it is
//! right; after a rebinding the client finds no socket for it and ignores it.
//!
//! **Bounded.** Beyond [`MAX_MAPPINGS`] mappings, forgotten ones included, the oldest is removed: its flow gets
//! another port with its next packet.

use std::collections::{HashMap, VecDeque};

use link_model::Nanos;
use wire::{End, Endpoint, Frame, set_port};

/// More than a download, or a thousand one after the other, ever needs, and only half of [`PORTS`], so a free port
/// always exists.
const MAX_MAPPINGS: usize = 16_384;

/// Ports given after a rebinding. They are below those that Linux gives its own programs (32768 and up), so that a
/// reader of a capture can tell them apart.
const PORTS: std::ops::Range<u16> = 1024..32_768;

/// A translator.
#[derive(Debug)]
pub struct Nat {
    /// By the client's endpoint.
    outward: HashMap<Endpoint, Mapping>,
    /// By the endpoint that the second host sees. Forgotten mappings remain: their ports are not used again.
    inward: HashMap<Endpoint, Mapping>,
    /// The keys of `inward`, oldest first.
    order: VecDeque<Endpoint>,
    /// How many rebindings each direction has made: towards the second host, and back.
    made: [u64; 2],
    /// When what is delivered to the second host meets the next rebindings.
    ahead: VecDeque<Nanos>,
    next_port: u16,
}

/// The port on the other side, and until when it is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mapping {
    port: u16,
    /// The rebinding after which it was made.
    made: u64,
}

impl Nat {
    /// A translator without mappings.
    pub fn new() -> Self {
        Self {
            outward: HashMap::new(),
            inward: HashMap::new(),
            order: VecDeque::new(),
            made: [0; 2],
            ahead: VecDeque::new(),
            next_port: PORTS.start,
        }
    }

    /// Takes a rebinding that a direction (0 towards the second host, 1 back) made at `at`.
    pub fn forget(&mut self, side: usize, at: Nanos) {
        if side == 0 {
            // Deliveries of earlier times may still have to be taken out.
            self.ahead.push_back(at);
        } else {
            self.made[1] += 1;
        }
    }

    /// Writes the sender's port of the translator into a frame that is due at the second host at `at`. Call it in
    /// the order of these times.
    pub fn translate(&mut self, at: Nanos, frame: &mut [u8]) {
        while self.ahead.front().is_some_and(|rebinding| *rebinding <= at) {
            self.ahead.pop_front();
            self.made[0] += 1;
        }
        let Some(client) = endpoint(frame, End::Source) else { return };
        let port = self.port_of(client);
        if port != client.port {
            set_port(frame, End::Source, port);
        }
    }

    /// Puts the client's own port back into a frame that the second host sent; false if no mapping has that port.
    pub fn translate_back(&self, frame: &mut [u8]) -> bool {
        let Some(outside) = endpoint(frame, End::Destination) else { return true };
        let Some(mapping) = self.inward.get(&outside).filter(|mapping| mapping.made == self.made[1]) else {
            return false;
        };
        if mapping.port != outside.port {
            set_port(frame, End::Destination, mapping.port);
        }
        true
    }

    fn port_of(&mut self, client: Endpoint) -> u16 {
        let made = self.made[0];
        match self.outward.get(&client) {
            Some(mapping) if mapping.made == made => mapping.port,
            _ => self.map(client, made),
        }
    }

    fn map(&mut self, client: Endpoint, made: u64) -> u16 {
        let port = if made == 0 { client.port } else { self.free_port(client) };
        let outside = Endpoint { port, ..client };
        self.outward.insert(client, Mapping { port, made });
        self.inward.insert(outside, Mapping { port: client.port, made });
        self.order.push_back(outside);
        if self.order.len() > MAX_MAPPINGS {
            self.drop_oldest();
        }
        port
    }

    /// A port that no flow has or had, as far as known, and that is not the client's own.
    fn free_port(&mut self, client: Endpoint) -> u16 {
        loop {
            let port = self.next_port;
            self.next_port = if port + 1 == PORTS.end { PORTS.start } else { port + 1 };
            if port != client.port && !self.inward.contains_key(&Endpoint { port, ..client }) {
                return port;
            }
        }
    }

    fn drop_oldest(&mut self) {
        let Some(outside) = self.order.pop_front() else { return };
        let Some(Mapping { port, made }) = self.inward.remove(&outside) else { return };
        let client = Endpoint { port, ..outside };
        if self.outward.get(&client) == Some(&Mapping { port: outside.port, made }) {
            self.outward.remove(&client);
        }
    }
}

fn endpoint(frame: &[u8], end: End) -> Option<Endpoint> {
    match Frame::parse(frame) {
        Frame::Ip(packet) => packet.endpoint(end),
        Frame::Stray | Frame::Malformed => None,
    }
}

#[cfg(test)]
mod tests;
