//! A queue and the rate that drains it.
//!
//! # Theory of operation
//!
//! **One server.** Packets are sent one after the other. The server turns to a packet at
//! `max(arrival, free)`, where `free` is the departure of the one before, and the rate settles then when it
//! leaves. The queue discipline is asked at that same moment, in virtual time: a delay that `CoDel` sees is
//! the packet's own, however late the caller wakes up. What is set aside for a packet in service is exact,
//! so a change of the rate moves its departure by just what is left of it.
//!
//! **Laziness.** Nothing happens by itself. A `push` first lets the server do all that is due by the
//! packet's stamp, a `pop` all that is due by its time. Departures, drops among them, are kept in the order
//! of their times until they are asked for.
//!
//! **Occupancy.** A packet occupies the queue from its arrival until its last bit is sent, so the one in
//! service counts: a limit of 1000 packets means at most 1000 waiting or in service. A packet whose
//! service ends exactly when another arrives has left.
//!
//! **A late caller**, one that reads its clock before it reads its sockets, may pop at a time and then push
//! a packet whose stamp is before it. Between two pushes, then, the server may have gone too far: it has
//! sent packets, and asked the discipline, without knowing of that arrival. What follows from it:
//!
//! * *In order of arrival nothing changes.* In drop-tail and PIE the packet comes after those already
//!   served, and `max(arrival, free)` is what it would have been.
//! * *Limits see the past.* Those who have left are remembered, with the time, until a later arrival's stamp
//!   has passed it; so the queue is as full as it was at the stamp. PIE, which decides on arrival too,
//!   remembers in the same way what it knows of delays. With drop-tail and PIE the results are those of a
//!   caller who is always punctual, to the last packet.
//! * *`CoDel` decides when the server turns to a packet*, and may have decided without the late one. It can
//!   only have seen fewer bytes behind the packet than there were, which makes it drop later or not at all,
//!   never more eagerly. That a queue ran empty, which ends its dropping, is told to it only by an arrival
//!   that proves it. FQ-CoDel may besides have turned to another flow first, as if the packet had come as
//!   late as the caller. Delays, limits, rate and order within a flow hold all the same. Who looks late but
//!   never pushes a stamp before the last `pop` gets the punctual results with every discipline.

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
    /// Whether the server found nothing to send at `free`, and the discipline has not been told yet.
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
    /// An empty queue and the rate before which it waits.
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

    /// Lets a trace begin at `at`; otherwise it began at 0. What is in service then is sent anew, whole.
    pub fn start(&mut self, at: Nanos) {
        self.advance(at);
        if self.server.restart(at) {
            if let Some(serving) = &mut self.serving {
                let (begins, bytes) = (at.max(serving.begins), serving.entry.packet.bytes);
                serving.ends = self.server.serve(Demand { arrived: begins, begins, bytes });
            }
        }
    }

    /// Changes the rate (bit/s) at `at`, also for what is left then of a packet in service. A trace stays
    /// as it is. A time before that at which the server turned to its packet counts as that time.
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

    /// The packets not yet popped, those that are dropped already among them.
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

    /// Lets the server do what is due at `now` or before.
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

    /// Tells the discipline that the queue ran empty, once an arrival shows that nothing came before that.
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

    /// The same question after a packet of so many bytes was taken.
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

    /// In order of time: only what a late caller brings comes before what is there.
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

/// Those who have left since the stamp of the last arrival.
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
