//! A network address translator at the second host's end of a link.
//!
//! # Theory of operation
//!
//! What comes out of the link towards the second host has its source port replaced by the one that the translator keeps
//! for it; what the second host sends to that port has the client's own put back before it enters the link:
//!
//! ```text
//! first host --[ loss, damage, copies, queue, rate, delay ]--> source port replaced ------> second host
//! first host <--[ loss, damage, copies, queue, rate, delay ]-- destination port put back <-- second host
//! ```
//!
//! Everything that looks at the link's inside therefore sees the client's own ports: the record of connections, the
//! flows that a queue keeps apart, and the capture; the next link sees the new four-tuple. Nothing on the link itself is
//! changed: what cannot be translated back is turned away before it (`Direction::refuse`), with a number of its own, and
//! every other packet keeps its number and its draws.
//!
//! **Mappings** are endpoint-independent (RFC 4787, 4.1, REQ-1): a program's address, port and protocol have one port,
//! whomever it talks to. So is filtering (section 5): whoever knows the port may send to it. They do not
//! expire by themselves, as if every one were used within the two minutes of REQ-5. The address stays as it is; only
//! ports are translated, so that routes need no second address. At first ports are preserved (4.2.1), and two programs
//! never share one (REQ-3), since one host has each port once.
//!
//! **A rebinding** is that the translator forgets all mappings, as one does that is restarted, or whose timers were
//! shorter than a silence. From then on every flow is given a port that none had before, and what comes to an old one is
//! turned away. QUIC takes that for a migration that the client knows nothing of: the server sees packets of a connection
//! from a new four-tuple, validates the path and goes on (RFC 9000, 9.3), and may keep what it knows of congestion, since
//! only the port is new (9.4). RFC 9308, 3.2 and 9, has what that means for applications. A TCP connection cannot
//! follow: its segments come from a port of which the server knows nothing, which answers with a reset (RFC 9293,
//! 3.10.7.1), and that is translated back as everything is. A translator that follows TCP's states would drop such segments
//! silently instead; this one, as most with Linux inside (`nf_conntrack_tcp_loose`), begins a mapping with any segment.
//!
//! **Time.** Each direction of the link makes a rebinding at its own time, as every change. What is due at the second
//! end at that time or later meets the new mappings, also where it was sent before; what had arrived there before then
//! goes back to the client through the link.
//!
//! **Not translated** is what has no ports that can be read: other protocols, all fragments of a packet but the first, and
//! ICMP, errors too. They pass as they are. An error quotes a translated packet; while ports are preserved it is right, and
//! after a rebinding the client finds no socket for it and ignores it.
//!
//! **Bounded.** Of more than [`MOST_MAPPINGS`] mappings, forgotten ones included, the oldest goes: the flow gets another
//! port with its next packet.

use std::collections::{HashMap, VecDeque};

use link_model::Nanos;
use wire::{End, Endpoint, Frame, set_port};

/// More than a download, or a thousand one after the other, ever need; and only half of [`PORTS`], so that a free one is
/// always found.
const MOST_MAPPINGS: usize = 16_384;

/// Ports that are given after a rebinding: below those that Linux gives its own programs (32768 and up), so that who
/// reads a capture sees whose they are.
const PORTS: std::ops::Range<u16> = 1024..32_768;

/// A translator.
#[derive(Debug)]
pub struct Nat {
    /// By the client's own endpoint.
    outward: HashMap<Endpoint, Mapping>,
    /// By the endpoint that the second host sees. Forgotten ones remain: their ports are not given again.
    inward: HashMap<Endpoint, Mapping>,
    /// The keys of `inward`, oldest first.
    order: VecDeque<Endpoint>,
    /// How many rebindings each direction has made: towards the second host, and back.
    made: [u64; 2],
    /// When what is delivered to the second host meets the next rebindings.
    ahead: VecDeque<Nanos>,
    next_port: u16,
}

/// The other side's port, and for how long it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mapping {
    port: u16,
    /// After which rebinding it was made.
    made: u64,
}

impl Nat {
    /// One that knows nobody.
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

    /// A direction (0 towards the second host, 1 back) has made a rebinding at `at`.
    pub fn forget(&mut self, side: usize, at: Nanos) {
        if side == 0 {
            // Deliveries of before that may still have to be taken out.
            self.ahead.push_back(at);
        } else {
            self.made[1] += 1;
        }
    }

    /// Gives a frame that is due at the second host at `at` the port that is kept for its sender. To be called in the
    /// order of these times.
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

    /// Puts the client's own port back into a frame that the second host has sent; false if there is nobody for it.
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
        if self.order.len() > MOST_MAPPINGS {
            self.drop_oldest();
        }
        port
    }

    /// One that nobody has or had, as far as is known, and that is not the client's own.
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
