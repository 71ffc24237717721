//! A queue and the rate that drains it.
//!
//! # Theory of operation
//!
//! **One server** sends packets one after the other. It begins with a packet at `max(arrival, free)`, where `free`
//! is the departure of the one before, and the rate then fixes its departure. The server asks the queue discipline
//! at that same time, in virtual time: a delay that `CoDel` sees is the packet's own, however late the caller wakes
//! up. What is reserved for a packet in service is exact, so a change of the rate moves its departure by exactly
//! the rest.
//!
//! **Lazy evaluation.** A `push` first lets the server do everything that is due by the packet's stamp, a `pop`
//! everything that is due by its time. Departures, drops included, wait in the order of their times until the
//! caller pops them.
//!
//! **Occupancy.** A packet occupies the queue from its arrival until its last bit is sent, so the one in
//! service counts: a limit of 1000 packets means at most 1000 waiting or in service. A packet whose
//! service ends exactly when another arrives has left.
//!
//! **A late caller** reads its clock before its sockets, so it may pop at a time and then push a packet with an
//! earlier stamp. The server may then have gone too far: it has sent packets and asked the discipline without
//! knowing of that arrival. The consequences:
//!
//! * *The order of arrival changes nothing.* In drop-tail and PIE the packet comes after those already served, and
//!   `max(arrival, free)` is the same as for a punctual caller.
//! * *Limits use the past.* Packets that left are remembered with their times until the stamp of a later arrival
//!   has passed them, so the queue is as full as it was at the stamp. PIE also decides on arrival and remembers
//!   delays in the same way. With drop-tail and PIE the results are those of a punctual caller, to the last packet.
//! * *`CoDel` decides when the server begins with a packet*, and may have decided without the late packet. It can
//!   only have seen fewer bytes behind the packet than there were, so it drops later or not at all, never earlier.
//!   An empty queue ends its dropping, but it learns of an empty queue only from an arrival that proves it.
//!   FQ-CoDel may also have served another flow first, as if the packet had come as late as the caller. Delays,
//!   limits, rate and order within a flow always hold. A caller that looks late, but never pushes a stamp before
//!   the last `pop`, gets the punctual results with every discipline.

use std::collections::VecDeque;
use std::num::NonZeroU64;

use crate::queue::{Entry, Waiting};
use crate::rate::{Demand, Server};
use crate::{Cause, Departure, Fate, Nanos, Packet, Queue, QueueLimit, Rate, Stage};

/// A queue drained at a rate.
#[derive(Debug)]
pub struct Bottleneck<B> {
    server: Server,
    limit: QueueLimit,
    waiting: Waiting<B>,
    serving: Option<Serving<B>>,
    /// When the last packet left the server.
    free: Nanos,
    /// Whether the server found nothing to send at `free`, and the discipline does not know it yet.
    ran_empty: bool,
    departed: Departed,
    peak_packets: u64,
    departures: VecDeque<Departure<B>>,
}

/// A packet in service.
#[derive(Debug)]
struct Serving<B> {
    entry: Entry<B>,
    begins: Nanos,
    ends: Nanos,
}

impl<B> Bottleneck<B> {
    /// An empty queue in front of a rate.
    #[must_use]
    pub fn new(rate: Rate, queue: Queue) -> Self {
        Self {
            server: Server::new(rate),
            limit: queue.limit,
            waiting: Waiting::new(queue.discipline),
            serving: None,
            free: 0,
            ran_empty: false,
            departed: Departed::default(),
            peak_packets: 0,
            departures: VecDeque::new(),
        }
    }

    /// Starts a trace at `at`; otherwise it began at 0. A packet in service then is sent again, whole.
    pub fn start(&mut self, at: Nanos) {
        self.advance(at);
        if self.server.restart(at) {
            if let Some(serving) = &mut self.serving {
                let (begins, bytes) = (at.max(serving.begins), serving.entry.packet.bytes);
                serving.ends = self.server.serve(Demand { arrived: begins, begins, bytes });
            }
        }
    }

    /// Changes the rate (bit/s) at `at`, also for the rest of a packet in service. It does not change a trace. A
    /// time before the server began with its packet counts as that beginning.
    pub fn set_rate(&mut self, at: Nanos, rate: NonZeroU64) {
        self.advance(at);
        match &mut self.serving {
            None => self.server.set_rate(at, rate),
            Some(serving) => {
                let (at, bytes) = (at.max(serving.begins), serving.entry.packet.bytes);
                serving.ends = self.server.retime(at, rate, bytes, serving.ends);
            }
        }
    }

    /// Drops at `at` what waits or is in service.
    pub fn flush(&mut self, at: Nanos, cause: Cause) {
        self.advance(at);
        if let Some(serving) = self.serving.take() {
            self.free = at.max(serving.begins);
            self.server.cancel(self.free, serving.entry.packet.bytes);
            self.drop_waiting(at, cause, serving.entry);
        }
        for entry in self.waiting.drain() {
            self.drop_waiting(at, cause, entry);
        }
        self.ran_empty = true;
    }

    /// Packets and bytes waiting or in service at the last arrival, less what was flushed since.
    #[must_use]
    pub fn occupancy(&self) -> (u64, u64) {
        let serving = self.serving.as_ref().map(|serving| u64::from(serving.entry.packet.bytes));
        let packets = self.waiting.packets() + u64::from(serving.is_some());
        let bytes = self.waiting.bytes() + serving.unwrap_or(0);
        (packets + self.departed.packets(), bytes + self.departed.bytes)
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

    /// The packets not yet popped, dropped ones included.
    pub fn held(&self) -> impl Iterator<Item = &Packet<B>> {
        let settled = self.departures.iter().map(|departure| &departure.packet);
        let serving = self.serving.iter().map(|serving| &serving.entry.packet);
        settled.chain(serving).chain(self.waiting.iter().map(|entry| &entry.packet))
    }

    /// The probability with which PIE drops an arrival; `None` with another discipline.
    #[must_use]
    pub const fn drop_probability(&self) -> Option<f64> {
        self.waiting.drop_probability()
    }

    /// Lets the server do everything that is due at `now` or before.
    fn advance(&mut self, now: Nanos) {
        while let Some(serving) = self.serving.take_if(|serving| serving.ends <= now) {
            self.complete(serving);
            if self.waiting.packets() > 0 {
                self.serve_next(self.free);
            } else {
                self.ran_empty = true;
            }
        }
    }

    fn complete(&mut self, serving: Serving<B>) {
        let Serving { entry: Entry { arrived, mut packet }, begins, ends } = serving;
        packet.waited = begins - arrived;
        packet.serialised = ends - begins;
        self.free = ends;
        self.departed.note(ends, packet.bytes);
        self.depart(Departure { at: ends, fate: Fate::Delivered, packet });
    }

    fn serve_next(&mut self, now: Nanos) {
        let begins = now.max(self.free);
        let mut dropped = Vec::new();
        let next = self.waiting.dequeue(begins, &mut dropped);
        for entry in dropped {
            self.departed.note(begins, entry.packet.bytes);
            self.drop_waiting(begins, Cause::Aqm, entry);
        }
        self.serving = next.map(|entry| {
            let demand = Demand { arrived: entry.arrived, begins, bytes: entry.packet.bytes };
            Serving { ends: self.server.serve(demand), begins, entry }
        });
        self.ran_empty = false;
    }

    /// Tells the discipline that the queue ran empty, once an arrival shows that no packet came before that.
    fn settle_emptiness(&mut self, now: Nanos) {
        if self.ran_empty && self.free <= now {
            let nothing = self.waiting.dequeue(self.free, &mut Vec::new());
            debug_assert!(nothing.is_none(), "the queue ran empty");
            self.ran_empty = false;
        }
    }

    fn admit(&mut self, now: Nanos, packet: Packet<B>) {
        let bytes = packet.bytes;
        let entry = Entry { arrived: now, packet };
        let room = self.has_room(bytes) || self.waiting.makes_room();
        if !room || !self.server.carries(bytes) {
            return self.drop_waiting(now, Cause::Queue, entry);
        }
        if let Some(refused) = self.waiting.enqueue(entry) {
            return self.drop_waiting(now, Cause::Aqm, refused);
        }
        while self.is_over_limit(bytes) && self.waiting.packets() > 0 {
            for entry in self.waiting.shed() {
                self.drop_waiting(now, Cause::Queue, entry);
            }
        }
        self.peak_packets = self.peak_packets.max(self.occupancy().0);
    }

    fn has_room(&self, bytes: u32) -> bool {
        let (packets, occupied) = self.occupancy();
        match self.limit {
            QueueLimit::Packets(limit) => packets < limit,
            QueueLimit::Bytes(limit) => occupied + u64::from(bytes) <= limit,
            QueueLimit::Time(limit) => !self.server.takes_longer(occupied, limit),
            QueueLimit::Unlimited => true,
        }
    }

    /// The same test after a packet of so many bytes was taken.
    fn is_over_limit(&self, bytes: u32) -> bool {
        let (packets, occupied) = self.occupancy();
        match self.limit {
            QueueLimit::Packets(limit) => packets > limit,
            QueueLimit::Bytes(limit) => occupied > limit,
            QueueLimit::Time(limit) => self.server.takes_longer(occupied.saturating_sub(bytes.into()), limit),
            QueueLimit::Unlimited => false,
        }
    }

    fn drop_waiting(&mut self, at: Nanos, cause: Cause, entry: Entry<B>) {
        let Entry { arrived, mut packet } = entry;
        packet.waited = at.saturating_sub(arrived);
        self.depart(Departure { at, fate: Fate::Dropped(cause), packet });
    }

    /// Keeps departures in order of time: only those of a late caller come before existing ones.
    fn depart(&mut self, departure: Departure<B>) {
        let later = self.departures.iter().rev().take_while(|other| other.at > departure.at).count();
        self.departures.insert(self.departures.len() - later, departure);
    }
}

impl<B> Stage<B> for Bottleneck<B> {
    fn push(&mut self, now: Nanos, packet: Packet<B>) {
        self.advance(now);
        self.settle_emptiness(now);
        self.departed.forget(now);
        self.admit(now, packet);
        if self.serving.is_none() && self.waiting.packets() > 0 {
            self.serve_next(now);
        }
    }

    fn pop(&mut self, now: Nanos) -> Option<Departure<B>> {
        self.advance(now);
        self.departures.front().filter(|first| first.at <= now)?;
        self.departures.pop_front()
    }

    fn next_due(&self) -> Option<Nanos> {
        let settled = self.departures.front().map(|departure| departure.at);
        let serving = self.serving.as_ref().map(|serving| serving.ends);
        settled.into_iter().chain(serving).min()
    }
}

/// Packets that left since the stamp of the last arrival.
#[derive(Debug, Default)]
struct Departed {
    /// When, and bytes.
    packets: VecDeque<(Nanos, u32)>,
    bytes: u64,
}

impl Departed {
    fn packets(&self) -> u64 {
        self.packets.len() as u64
    }

    fn note(&mut self, at: Nanos, bytes: u32) {
        self.packets.push_back((at, bytes));
        self.bytes += u64::from(bytes);
    }

    fn forget(&mut self, now: Nanos) {
        while let Some(&(_, bytes)) = self.packets.front().filter(|(at, _)| *at <= now) {
            self.packets.pop_front();
            self.bytes -= u64::from(bytes);
        }
    }
}
