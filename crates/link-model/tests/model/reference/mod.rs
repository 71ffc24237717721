//! A second implementation for comparison: event by event in the order of time, with the RFCs' pseudo-code as
//! literally as Rust allows, and without the model's lazy evaluation.

mod codel;
mod fq_codel;
mod pie;

use std::collections::VecDeque;

use link_model::{Cause, Discipline, Ecn, Fate, Nanos, Queue, QueueLimit};

use crate::driver::{Arrival, NANOS_PER_S};

/// A packet with its time stamp.
#[derive(Clone, Copy, Debug)]
pub struct Stamped {
    pub number: u64,
    pub tstamp: Nanos,
    pub bytes: u64,
    pub flow: u64,
    pub ecn: Ecn,
}

impl Stamped {
    pub fn mark(&mut self) -> bool {
        let can = self.ecn != Ecn::NotCapable;
        if can {
            self.ecn = Ecn::Ce;
        }
        can
    }
}

/// The interface between event loop and queue.
pub trait Aqm {
    /// False when the packet is dropped.
    fn enqueue(&mut self, now: Nanos, packet: Stamped) -> bool;
    /// The next packet, and the packets dropped before it.
    fn dequeue(&mut self, now: Nanos, dropped: &mut Vec<Stamped>) -> Option<Stamped>;
    /// Whether a full queue drops other packets for an arrival instead of the arrival.
    fn makes_room(&self) -> bool {
        false
    }
    fn make_room(&mut self) -> Vec<Stamped> {
        Vec::new()
    }
    fn waiting(&self) -> (u64, u64);
}

/// Drop-tail.
#[derive(Default)]
struct Tail(VecDeque<Stamped>);

impl Aqm for Tail {
    fn enqueue(&mut self, _: Nanos, packet: Stamped) -> bool {
        self.0.push_back(packet);
        true
    }

    fn dequeue(&mut self, _: Nanos, _: &mut Vec<Stamped>) -> Option<Stamped> {
        self.0.pop_front()
    }

    fn waiting(&self) -> (u64, u64) {
        (self.0.len() as u64, self.0.iter().map(|packet| packet.bytes).sum())
    }
}

/// Number, time, fate and ECN field of all packets, by number.
pub type Outcome = Vec<(u64, Nanos, Fate, Ecn)>;

pub fn simulate(rate: u64, queue: Queue, arrivals: &[Arrival]) -> Outcome {
    let aqm: Box<dyn Aqm> = match queue.discipline {
        Discipline::DropTail => Box::new(Tail::default()),
        Discipline::CoDel(settings) => Box::new(codel::Queue::new(settings)),
        Discipline::FqCoDel(settings) => Box::new(fq_codel::Queue::new(settings)),
        Discipline::Pie(settings) => Box::new(pie::Queue::new(settings)),
    };
    let mut link = Link {
        rate,
        limit: queue.limit,
        aqm,
        serving: None,
        busy_since: 0,
        bits: 0,
        free: 0,
        outcome: Vec::new(),
    };
    for (number, arrival) in arrivals.iter().enumerate() {
        link.serve_until(arrival.at);
        link.arrive(number as u64, *arrival);
    }
    link.serve_until(Nanos::MAX);
    link.outcome.sort_by_key(|(number, ..)| *number);
    link.outcome
}

struct Link {
    rate: u64,
    limit: QueueLimit,
    aqm: Box<dyn Aqm>,
    serving: Option<(Nanos, Stamped)>,
    /// The beginning of the present busy period, and the bits that it has sent.
    busy_since: Nanos,
    bits: u128,
    /// When the last packet left, rounded down. The exact time is within the following nanosecond, so an arrival at
    /// that time still finds the link busy.
    free: Nanos,
    outcome: Outcome,
}

impl Link {
    fn serve_until(&mut self, now: Nanos) {
        while let Some((ends, packet)) = self.serving.take_if(|(ends, _)| *ends <= now) {
            self.outcome.push((packet.number, ends, Fate::Delivered, packet.ecn));
            self.free = ends;
            self.begin(ends);
        }
    }

    fn begin(&mut self, now: Nanos) {
        let mut dropped = Vec::new();
        let next = self.aqm.dequeue(now, &mut dropped);
        self.lose(now, Cause::Aqm, &dropped);
        self.serving = next.map(|packet| {
            self.bits += u128::from(packet.bytes) * 8;
            let takes = self.bits * NANOS_PER_S / u128::from(self.rate);
            (self.busy_since + u64::try_from(takes).expect("small"), packet)
        });
    }

    fn arrive(&mut self, number: u64, arrival: Arrival) {
        let Arrival { at, bytes, flow, ecn } = arrival;
        let packet = Stamped { number, tstamp: at, bytes: bytes.into(), flow, ecn };
        if !self.fits(packet.bytes) && !self.aqm.makes_room() {
            return self.lose(at, Cause::Queue, &[packet]);
        }
        if !self.aqm.enqueue(at, packet) {
            return self.lose(at, Cause::Aqm, &[packet]);
        }
        while self.aqm.makes_room() && self.overflows(packet.bytes) && self.aqm.waiting().0 > 0 {
            let given_up = self.aqm.make_room();
            self.lose(at, Cause::Queue, &given_up);
        }
        if self.serving.is_none() {
            if at > self.free {
                (self.busy_since, self.bits) = (at, 0);
            }
            self.begin(at);
        }
    }

    fn occupied(&self) -> (u64, u64) {
        let (packets, bytes) = self.aqm.waiting();
        self.serving.map_or((packets, bytes), |(_, packet)| (packets + 1, bytes + packet.bytes))
    }

    fn fits(&self, arriving: u64) -> bool {
        let (packets, bytes) = self.occupied();
        match self.limit {
            QueueLimit::Packets(limit) => packets < limit,
            QueueLimit::Bytes(limit) => bytes + arriving <= limit,
            QueueLimit::Time(limit) => self.time_of(bytes) <= limit,
            QueueLimit::Unlimited => true,
        }
    }

    fn overflows(&self, arrived: u64) -> bool {
        let (packets, bytes) = self.occupied();
        match self.limit {
            QueueLimit::Packets(limit) => packets > limit,
            QueueLimit::Bytes(limit) => bytes > limit,
            QueueLimit::Time(limit) => self.time_of(bytes.saturating_sub(arrived)) > limit,
            QueueLimit::Unlimited => false,
        }
    }

    fn time_of(&self, bytes: u64) -> Nanos {
        let nanos = (u128::from(bytes) * 8 * NANOS_PER_S).div_ceil(u128::from(self.rate));
        u64::try_from(nanos).expect("small")
    }

    fn lose(&mut self, at: Nanos, cause: Cause, packets: &[Stamped]) {
        self.outcome
            .extend(packets.iter().map(|packet| (packet.number, at, Fate::Dropped(cause), packet.ecn)));
    }
}
