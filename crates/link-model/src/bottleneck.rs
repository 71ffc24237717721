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

use crate::{Cause, Dropped, Nanos, Packet, Stage};

/// How much may wait or be in service at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// Packets, whatever their size.
    Packets(u64),
    /// Bytes, as the rate counts them.
    Bytes(u64),
    /// No limit.
    Unlimited,
}

/// A drop-tail queue drained at a constant rate.
#[derive(Debug)]
pub struct Bottleneck<B> {
    serialiser: Serialiser,
    limit: QueueLimit,
    occupants: VecDeque<Occupant>,
    occupied_bytes: u64,
    peak_packets: u64,
    held: VecDeque<(Nanos, Packet<B>)>,
}

#[derive(Debug)]
struct Occupant {
    departs: Nanos,
    bytes: u32,
}

impl<B> Bottleneck<B> {
    /// An empty queue drained at `rate` bit/s.
    #[must_use]
    pub const fn new(rate: NonZeroU64, limit: QueueLimit) -> Self {
        Self {
            serialiser: Serialiser::new(rate),
            limit,
            occupants: VecDeque::new(),
            occupied_bytes: 0,
            peak_packets: 0,
            held: VecDeque::new(),
        }
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
        self.held.iter().map(|(_, packet)| packet)
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
    fn push(&mut self, now: Nanos, mut packet: Packet<B>) -> Result<(), Dropped<B>> {
        self.retire(now);
        if !self.has_room(packet.bytes) {
            return Err(Dropped { cause: Cause::Queue, packet });
        }
        let service = self.serialiser.serve(now, packet.bytes);
        packet.waited = service.begins - now;
        packet.serialised = service.ends - service.begins;
        self.occupy(service.ends, packet.bytes);
        self.held.push_back((service.ends, packet));
        Ok(())
    }

    fn pop(&mut self, now: Nanos) -> Option<Packet<B>> {
        if self.next_due()? > now {
            return None;
        }
        self.held.pop_front().map(|(_, packet)| packet)
    }

    fn next_due(&self) -> Option<Nanos> {
        self.held.front().map(|(due, _)| *due)
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
