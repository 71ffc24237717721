//! Arrivals and callers: which packets enter a bottleneck, and when the caller looks at it.

use std::num::{NonZeroU32, NonZeroU64};
use std::sync::Arc;

use link_model::{Bottleneck, Departure, Ecn, Fate, Nanos, Packet, QueueLimit, Rate, Stage, Trace};
use proptest::collection::vec;
use proptest::prelude::*;

pub const MS: Nanos = 1_000_000;
pub const NANOS_PER_S: u128 = 1_000_000_000;

#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub at: Nanos,
    pub bytes: u32,
    pub flow: u64,
    pub ecn: Ecn,
}

impl Arrival {
    pub fn packet(&self, number: usize) -> Packet<()> {
        let packet = Packet::new(self.bytes, ());
        Packet { number: Some(number as u64), flow: self.flow, ecn: self.ecn, ..packet }
    }
}

/// How a caller looks before each push.
#[derive(Clone, Debug)]
pub enum Caller {
    /// At the stamp, always.
    Punctual,
    /// Only at the end.
    Lazy,
    /// Later than the stamp by this time, taking everything that has left by then.
    Late(Vec<Nanos>),
}

/// Everything that leaves, in the order in which it was popped.
pub fn run(bottleneck: &mut Bottleneck<()>, arrivals: &[Arrival], caller: &Caller) -> Vec<Departure<()>> {
    let mut left = Vec::new();
    let mut looked = 0;
    for (number, arrival) in arrivals.iter().enumerate() {
        looked = match caller {
            Caller::Punctual => arrival.at,
            Caller::Lazy => looked,
            Caller::Late(by) => looked.max(arrival.at + by[number % by.len()]),
        };
        take_due(bottleneck, looked, &mut left);
        bottleneck.push(arrival.at, arrival.packet(number));
    }
    take_due(bottleneck, Nanos::MAX, &mut left);
    left
}

pub fn take_due(bottleneck: &mut Bottleneck<()>, now: Nanos, left: &mut Vec<Departure<()>>) {
    while let Some(due) = bottleneck.next_due().filter(|due| *due <= now) {
        let departure = bottleneck.pop(now).expect("it was due");
        assert_eq!(departure.at, due, "nothing leaves at another time than was said");
        left.push(departure);
    }
    assert_eq!(bottleneck.pop(now), None);
}

pub fn by_number(mut left: Vec<Departure<()>>) -> Vec<Departure<()>> {
    left.sort_by_key(|departure| departure.packet.number);
    left
}

pub fn delivered(left: &[Departure<()>]) -> impl Iterator<Item = &Departure<()>> {
    left.iter().filter(|departure| departure.fate == Fate::Delivered)
}

pub fn bit_s(rate: u64) -> NonZeroU64 {
    NonZeroU64::new(rate).expect("not 0")
}

pub fn trace(times_ms: &[u32]) -> Trace {
    let lines: Vec<String> = times_ms.iter().map(|time| format!("{time}\n")).collect();
    Trace::parse(lines.concat().as_bytes()).expect("a trace")
}

/// Bursts and pauses: most gaps are far below the serialisation time of a packet.
pub fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let gap = prop_oneof![3 => Just(0), 5 => 0..200_000_u64, 1 => 0..50_000_000_u64];
    let ecn = prop_oneof![3 => Just(Ecn::NotCapable), 2 => Just(Ecn::Capable), 1 => Just(Ecn::Ce)];
    vec((gap, 1..=1500_u32, 0..6_u64, ecn), 1..400).prop_map(|packets| {
        let mut at = 0;
        let mut arrive = |(gap, bytes, flow, ecn)| {
            at += gap;
            Arrival { at, bytes, flow, ecn }
        };
        packets.into_iter().map(&mut arrive).collect()
    })
}

pub fn any_bit_s() -> impl Strategy<Value = NonZeroU64> {
    prop_oneof![10_000..10_000_000_000_u64, 100_000..100_000_000_u64].prop_map(bit_s)
}

pub fn any_times_ms() -> impl Strategy<Value = Vec<u32>> {
    vec(0..40_u32, 1..40).prop_map(|mut times| {
        times.sort_unstable();
        *times.last_mut().expect("not empty") += 1;
        times
    })
}

pub fn any_rate() -> impl Strategy<Value = Rate> {
    prop_oneof![
        any_bit_s().prop_map(Rate::Constant),
        (any_bit_s(), 1500..50_000_u32).prop_map(|(rate, burst)| {
            Rate::TokenBucket { rate, burst: NonZeroU32::new(burst).expect("not 0") }
        }),
        any_times_ms().prop_map(|times| Rate::Trace(Arc::new(trace(&times)))),
    ]
}

pub fn any_limit() -> impl Strategy<Value = QueueLimit> {
    prop_oneof![
        (1..50_u64).prop_map(QueueLimit::Packets),
        (1_500..50_000_u64).prop_map(QueueLimit::Bytes),
        (0..100 * MS).prop_map(QueueLimit::Time),
        Just(QueueLimit::Unlimited),
    ]
}

pub fn any_lateness() -> impl Strategy<Value = Caller> {
    vec(prop_oneof![Just(0), 0..10 * MS, 0..200 * MS], 1..20).prop_map(Caller::Late)
}
