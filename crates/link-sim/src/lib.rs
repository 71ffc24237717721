//! A ring of nodes in virtual time.
//!
//! # Theory of operation
//!
//! A [`Simulation`] is a list of [`Node`]s: each sends to the next one, and the last one to the first. A node is
//! called with the time and perhaps a packet, and returns what it does: send a packet, wait until some time, or
//! wait for a packet. When no node has anything to send, time jumps to the earliest time for which a node waits. So
//! ten minutes of a 10 Mbit/s link take a fraction of a second, and every run with the same [`Seed`] is the same.

#![forbid(unsafe_code)]

mod nodes;
mod schedule;
mod seed;

pub use link_model::Nanos;
pub use nodes::{Link, Reflector, Sink, Source, Window, constant, poisson};
pub use schedule::Schedule;
pub use seed::Seed;

/// A packet on its way round the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parcel {
    /// Size in bytes.
    pub bytes: u32,
    /// When its source sent it.
    pub sent: Nanos,
}

/// What a node does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Sends a packet to the next node, and is called again at once.
    Send(Parcel),
    /// Waits for a packet, but not beyond this time.
    Wait(Nanos),
    /// Waits for a packet.
    Idle,
}

/// A place in the ring.
pub trait Node {
    /// Takes a packet, if there is one, and returns what to do. It is called without a packet when time has
    /// advanced.
    fn process(&mut self, now: Nanos, input: Option<Parcel>) -> Output;
}

/// Nodes and their common time.
pub struct Simulation<'a> {
    nodes: Vec<&'a mut dyn Node>,
    now: Nanos,
}

impl<'a> Simulation<'a> {
    /// A ring of `nodes`, at time 0.
    #[must_use]
    pub fn new(nodes: Vec<&'a mut dyn Node>) -> Self {
        Self { nodes, now: 0 }
    }

    /// Runs until nothing is left to do before `end`; returns the time of the last event.
    ///
    /// # Panics
    /// When a node sends without end at one time: that would be a livelock.
    pub fn run(&mut self, end: Nanos) -> Nanos {
        while let Some(next) = self.settle().filter(|next| *next < end) {
            self.now = next.max(self.now);
        }
        self.now
    }

    /// Lets every node act until none has anything more to send; returns the earliest time for which one waits.
    fn settle(&mut self) -> Option<Nanos> {
        const MAX_ROUNDS: usize = 1_000_000;
        for _ in 0..MAX_ROUNDS {
            let mut sent = false;
            let mut earliest: Option<Nanos> = None;
            for place in 0..self.nodes.len() {
                let wait = self.drain(place, &mut sent);
                earliest = earliest.into_iter().chain(wait).min();
            }
            if !sent {
                return earliest;
            }
        }
        panic!("livelock at {} ns", self.now);
    }

    /// Calls one node until it waits, and passes everything that it sends to the next one.
    fn drain(&mut self, place: usize, sent: &mut bool) -> Option<Nanos> {
        let next = (place + 1) % self.nodes.len();
        loop {
            match self.nodes[place].process(self.now, None) {
                Output::Send(parcel) => {
                    *sent = true;
                    // The next node's immediate answer is handled in the following round.
                    self.deliver(next, parcel);
                }
                Output::Wait(until) => return Some(until),
                Output::Idle => return None,
            }
        }
    }

    /// Passes a packet to a node; packets that it sends in return are delivered first.
    fn deliver(&mut self, place: usize, parcel: Parcel) {
        if let Output::Send(parcel) = self.nodes[place].process(self.now, Some(parcel)) {
            self.deliver((place + 1) % self.nodes.len(), parcel);
        }
    }
}
