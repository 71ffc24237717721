//! A drop-tail queue and the rate that drains it.
//!
//! # Theory of operation
//!
//! The departure of a packet is settled when it arrives: `max(arrival, free) + bits / rate`, where `free`
//! is the departure of the packet before it. The fraction of a nanosecond that a division leaves is
//! carried over to the next packet of the same busy period, so the rate has no drift.
//!
//! **Occupancy.** A packet occupies the queue from its arrival until its last bit is sent, so the one in
//! service counts: a limit of 1000 packets means at most 1000 waiting or in service. A packet whose
//! service ends exactly when another arrives has left.
//!
//! Occupants are kept apart from the packets themselves, and are retired by the stamps of later
//! arrivals only, never by `pop`. Else a caller that reads its clock before it reads its sockets could
//! pop a packet and then push one that arrived before that departure, and the queue would look
//! shorter than it was.

use std::collections::VecDeque;
use std::num::NonZeroU64;

use crate::{Cause, Departure, Fate, Nanos, Packet, Queue, QueueLimit, Rate, Stage};

/// A drop-tail queue drained at a constant rate.
#[derive(Debug)]
pub struct Bottleneck<B> {
    serialiser: Serialiser,
    limit: QueueLimit,
    occupants: VecDeque<Occupant>,
    occupied_bytes: u64,
    peak_packets: u64,
    held: VecDeque<Departure<B>>,
    dropped: VecDeque<Departure<B>>,
}

#[derive(Debug)]
struct Occupant {
    departs: Nanos,
    bytes: u32,
}

impl<B> Bottleneck<B> {
    /// An empty queue drained at `rate`.
    #[must_use]
    pub fn new(rate: Rate, queue: Queue) -> Self {
        let bit_s = match rate {
            Rate::Constant(rate) | Rate::TokenBucket { rate, .. } => rate,
            Rate::Trace(trace) => trace.mean_bit_s(),
        };
        Self {
            serialiser: Serialiser::new(bit_s),
            limit: queue.limit,
            occupants: VecDeque::new(),
            occupied_bytes: 0,
            peak_packets: 0,
            held: VecDeque::new(),
            dropped: VecDeque::new(),
        }
    }

    /// Changes the rate of what arrives from now on.
    pub const fn set_rate(&mut self, _at: Nanos, rate: NonZeroU64) {
        self.serialiser.rate = rate;
        self.serialiser.remainder = 0;
    }

    /// Drops what waits or is in service.
    pub fn flush(&mut self, at: Nanos, cause: Cause) {
        self.retire(at);
        self.occupants.clear();
        self.occupied_bytes = 0;
        self.serialiser.free = at;
        let dropped = self.held.drain(..);
        self.dropped.extend(dropped.map(|held| Departure { at, fate: Fate::Dropped(cause), ..held }));
    }

    /// The most packets that occupied the queue at once, since the start or [`Self::forget_peak`].
    #[must_use]
    pub const fn peak_packets(&self) -> u64 {
        self.peak_packets
    }

    /// Begins a new period for [`Self::peak_packets`].
    pub const fn forget_peak(&mut self) {
        self.peak_packets = 0;
    }

    /// Packets and bytes waiting or in service at the last arrival.
    #[must_use]
    pub fn occupancy(&self) -> (u64, u64) {
        (self.occupants.len() as u64, self.occupied_bytes)
    }

    /// The packets not yet popped, first due first.
    pub fn held(&self) -> impl Iterator<Item = &Packet<B>> {
        self.dropped.iter().chain(&self.held).map(|departure| &departure.packet)
    }

    fn retire(&mut self, now: Nanos) {
        while let Some(first) = self.occupants.front().filter(|occupant| occupant.departs <= now) {
            self.occupied_bytes -= u64::from(first.bytes);
            self.occupants.pop_front();
        }
    }

    fn has_room(&self, bytes: u32) -> bool {
        match self.limit {
            QueueLimit::Packets(limit) => (self.occupants.len() as u64) < limit,
            QueueLimit::Bytes(limit) => self.occupied_bytes + u64::from(bytes) <= limit,
            QueueLimit::Time(limit) => {
                u128::from(self.occupied_bytes) * 8_000_000_000
                    <= u128::from(limit) * u128::from(self.serialiser.rate.get())
            }
            QueueLimit::Unlimited => true,
        }
    }

    fn occupy(&mut self, departs: Nanos, bytes: u32) {
        self.occupants.push_back(Occupant { departs, bytes });
        self.occupied_bytes += u64::from(bytes);
        self.peak_packets = self.peak_packets.max(self.occupants.len() as u64);
    }
}

impl<B> Stage<B> for Bottleneck<B> {
    fn push(&mut self, now: Nanos, mut packet: Packet<B>) {
        self.retire(now);
        if !self.has_room(packet.bytes) {
            self.dropped.push_back(Departure { at: now, fate: Fate::Dropped(Cause::Queue), packet });
            return;
        }
        let service = self.serialiser.serve(now, packet.bytes);
        packet.waited = service.begins - now;
        packet.serialised = service.ends - service.begins;
        self.occupy(service.ends, packet.bytes);
        self.held.push_back(Departure { at: service.ends, fate: Fate::Delivered, packet });
    }

    fn pop(&mut self, now: Nanos) -> Option<Departure<B>> {
        if self.dropped.front().is_some_and(|first| first.at <= now) {
            return self.dropped.pop_front();
        }
        self.held.front().filter(|first| first.at <= now)?;
        self.held.pop_front()
    }

    fn next_due(&self) -> Option<Nanos> {
        let heads = self.dropped.front().into_iter().chain(self.held.front());
        heads.map(|departure| departure.at).min()
    }
}

#[derive(Debug)]
struct Serialiser {
    rate: NonZeroU64,
    free: Nanos,
    /// What the last division left, in units of `1 / rate` ns.
    remainder: u64,
}

struct Service {
    begins: Nanos,
    ends: Nanos,
}

impl Serialiser {
    const fn new(rate: NonZeroU64) -> Self {
        Self { rate, free: 0, remainder: 0 }
    }

    fn serve(&mut self, now: Nanos, bytes: u32) -> Service {
        if now > self.free {
            self.free = now;
            self.remainder = 0;
        }
        let begins = self.free;
        let rate = u128::from(self.rate.get());
        let work = u128::from(bytes) * 8 * 1_000_000_000 + u128::from(self.remainder);
        let takes = u64::try_from(work / rate).unwrap_or(u64::MAX);
        self.remainder = u64::try_from(work % rate).unwrap_or(0);
        self.free = begins.saturating_add(takes);
        Service { begins, ends: self.free }
    }
}
