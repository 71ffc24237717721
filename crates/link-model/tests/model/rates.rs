//! Rates: never exceeded, without drift, and equal to the kernel's `tbf` and mahimahi's link queue.

use std::collections::VecDeque;
use std::num::{NonZeroU32, NonZeroU64};
use std::sync::Arc;

use crate::driver::{
    self, Arrival, Caller, MS, NANOS_PER_S, any_bit_s, any_times_ms, arrivals, bit_s, delivered, run, trace,
};
use link_model::{
    Bottleneck, Cause, Departure, Discipline, Ecn, Fate, Nanos, Packet, Queue, QueueLimit, Rate, Stage, Trace,
};
use proptest::collection::vec;
use proptest::prelude::*;

const OPEN: Queue = Queue { discipline: Discipline::DropTail, limit: QueueLimit::Unlimited };

fn pass(rate: Rate, arrivals: &[Arrival]) -> Vec<Departure<()>> {
    run(&mut Bottleneck::new(rate, OPEN), arrivals, &Caller::Punctual)
}

fn bucket(rate: NonZeroU64, burst: u32) -> Rate {
    Rate::TokenBucket { rate, burst: NonZeroU32::new(burst).expect("not 0") }
}

fn of_size(bytes: u32, at: Nanos) -> Arrival {
    Arrival { at, bytes, flow: 0, ecn: Ecn::NotCapable }
}

fn at_once(sizes: &[u32]) -> Vec<Arrival> {
    sizes.iter().map(|bytes| of_size(*bytes, 0)).collect()
}

fn times(left: &[Departure<()>]) -> Vec<Nanos> {
    delivered(left).map(|left| left.at).collect()
}

/// Whether in every window that begins and ends with a delivery, with or without the first one, no more bits pass
/// than `allowed` for its begin and end.
fn no_window_exceeds(
    left: &[Departure<()>],
    with_first: bool,
    allowed: impl Fn(Nanos, Nanos) -> u128,
) -> Result<(), TestCaseError> {
    for (index, first) in left.iter().enumerate() {
        let mut bits = if with_first { u128::from(first.packet.bytes) * 8 } else { 0 };
        for last in &left[index + 1..] {
            bits += u128::from(last.packet.bytes) * 8;
            prop_assert!(bits * NANOS_PER_S <= allowed(first.at, last.at), "{} to {}", first.at, last.at);
        }
    }
    Ok(())
}

proptest! {
    /// The first packet's bits were sent before it left; 1 ns for the clock's grain.
    #[test]
    fn no_window_is_above_a_constant_rate(rate in any_bit_s(), arrivals in arrivals()) {
        let left = pass(Rate::Constant(rate), &arrivals);
        no_window_exceeds(&left, false, |begin, end| {
            u128::from(rate.get()) * u128::from(end - begin + 1)
        })?;
    }

    #[test]
    fn no_window_exceeds_a_bucket_and_its_rate(
        rate in any_bit_s(), burst in 1500..50_000_u32, arrivals in arrivals(),
    ) {
        let left = pass(bucket(rate, burst), &arrivals);
        no_window_exceeds(&left, true, |begin, end| {
            u128::from(burst) * 8 * NANOS_PER_S + u128::from(rate.get()) * u128::from(end - begin + 1)
        })?;
    }

    /// Other packets may share the opportunities at the time of the first delivery.
    #[test]
    fn no_window_is_above_its_opportunities(times in any_times_ms(), arrivals in arrivals()) {
        let left = pass(Rate::Trace(Arc::new(trace(&times))), &arrivals);
        no_window_exceeds(&left, false, |begin, end| {
            let in_window = opportunities(&times).skip_while(|at| *at < begin).take_while(|at| *at <= end);
            u128::from(Trace::OPPORTUNITY_BYTES) * 8 * NANOS_PER_S * in_window.count() as u128
        })?;
    }

    /// While the queue is never empty, it delivers exactly at the rate, without drift.
    #[test]
    fn a_busy_link_uses_its_whole_rate(rate in any_bit_s(), sizes in vec(1..=1500_u32, 1..300)) {
        let bits: u128 = sizes.iter().map(|&bytes| u128::from(bytes) * 8).sum();
        let last = times(&pass(Rate::Constant(rate), &at_once(&sizes))).pop().expect("not empty");
        prop_assert_eq!(u128::from(last), bits * NANOS_PER_S / u128::from(rate.get()));
    }

    /// The same for a bucket, even one no larger than a packet: it sends its first content at once.
    #[test]
    fn a_busy_bucket_does_not_drift(
        rate in any_bit_s(), sizes in vec(1..=1500_u32, 1..300), burst in 1500..4000_u32,
    ) {
        let bits: u128 = sizes.iter().map(|&bytes| u128::from(bytes) * 8).sum();
        let missing = bits.saturating_sub(u128::from(burst) * 8) * NANOS_PER_S;
        let last = times(&pass(bucket(rate, burst), &at_once(&sizes))).pop().expect("not empty");
        prop_assert_eq!(u128::from(last), missing.div_ceil(u128::from(rate.get())));
    }

    #[test]
    fn a_token_bucket_behaves_like_the_kernels(
        rate in 10_000..1_000_000_000_u64, burst in 1500..50_000_u32, arrivals in arrivals(),
    ) {
        let rate = rate / 8 * 8;
        let left = pass(bucket(bit_s(rate), burst), &arrivals);
        let kernel = Tbf::new(rate / 8, burst).pass(&arrivals);
        for (index, (ours, kernels)) in times(&left).into_iter().zip(kernel).enumerate() {
            // Each packet's time is rounded down there to a nanosecond, and to 31 bits.
            let rounding = 2 * (index as u64 + 1) + (ours.max(kernels) >> 30);
            prop_assert!(ours.abs_diff(kernels) <= rounding, "packet {index}: {ours}, kernel {kernels}");
        }
    }

    #[test]
    fn a_trace_is_mahimahis(times_ms in any_times_ms(), arrivals in arrivals()) {
        let left = pass(Rate::Trace(Arc::new(trace(&times_ms))), &arrivals);
        prop_assert_eq!(times(&left), mahimahi(&times_ms, &arrivals));
    }

    /// Through all changes each packet leaves in the exact nanosecond in which the rates' work since the beginning
    /// of the busy period reaches its last bit.
    #[test]
    fn a_change_of_rate_conserves_bits(
        first in 10_000..1_000_000_000_u64,
        changes in vec((0..20 * MS, 10_000..1_000_000_000_u64), 0..20),
        sizes in vec(1..=1500_u32, 1..100),
        looks in any::<bool>(),
    ) {
        let mut bottleneck = Bottleneck::new(Rate::Constant(bit_s(first)), OPEN);
        let mut left = Vec::new();
        for (number, arrival) in at_once(&sizes).iter().enumerate() {
            bottleneck.push(0, arrival.packet(number));
        }
        let mut rates = vec![(0, first)];
        for (gap, rate) in changes {
            let at = rates.last().expect("not empty").0 + gap;
            rates.push((at, rate));
            if looks {
                driver::take_due(&mut bottleneck, at, &mut left);
            }
            bottleneck.set_rate(at, bit_s(rate));
        }
        driver::take_due(&mut bottleneck, Nanos::MAX, &mut left);
        let mut bits = 0;
        for departure in &left {
            bits += u128::from(departure.packet.bytes) * 8 * NANOS_PER_S;
            prop_assert!(carried(&rates, departure.at) <= bits && bits < carried(&rates, departure.at + 1));
        }
    }

    #[test]
    fn a_change_of_rate_conserves_a_buckets_bytes(
        first in 10_000..1_000_000_000_u64,
        changes in vec((0..20 * MS, 10_000..1_000_000_000_u64), 0..20),
        sizes in vec(1..=1500_u32, 1..100),
    ) {
        let mut bottleneck = Bottleneck::new(bucket(bit_s(first), 1500), OPEN);
        for (number, arrival) in at_once(&sizes).iter().enumerate() {
            bottleneck.push(0, arrival.packet(number));
        }
        let mut rates = vec![(0, first)];
        for (gap, rate) in changes {
            let at = rates.last().expect("not empty").0 + gap;
            rates.push((at, rate));
            bottleneck.set_rate(at, bit_s(rate));
        }
        let mut left = Vec::new();
        driver::take_due(&mut bottleneck, Nanos::MAX, &mut left);
        let mut missing = -1500 * 8 * i128::try_from(NANOS_PER_S).expect("small");
        for departure in &left {
            missing += i128::from(departure.packet.bytes) * 8 * i128::try_from(NANOS_PER_S).expect("small");
            let needed = u128::try_from(missing).unwrap_or(0);
            prop_assert!(needed <= carried(&rates, departure.at));
            prop_assert!(departure.at == 0 || carried(&rates, departure.at - 1) < needed);
        }
    }
}

/// Bits times 10^9 that a link has carried by `until`.
fn carried(rates: &[(Nanos, u64)], until: Nanos) -> u128 {
    let ends = rates.iter().skip(1).map(|(at, _)| *at).chain([Nanos::MAX]);
    let spans = rates
        .iter()
        .zip(ends)
        .map(|((begin, rate), end)| u128::from(end.min(until).saturating_sub(*begin)) * u128::from(*rate));
    spans.sum()
}

/// The kernel's arithmetic (`net/sched/sch_tbf.c`, `psched_ratecfg_precompute` in `sch_generic.c`), with a watchdog
/// that is never late.
struct Tbf {
    mult: u64,
    shift: u32,
    buffer: i64,
    tokens: i64,
    t_c: i64,
}

impl Tbf {
    fn new(rate_bytes_ps: u64, burst: u32) -> Self {
        let (mut factor, mut shift) = (1_000_000_000_u64, 0);
        let mut mult = factor / rate_bytes_ps;
        while mult & (1 << 31) == 0 && factor & (1 << 63) == 0 {
            factor <<= 1;
            shift += 1;
            mult = factor / rate_bytes_ps;
        }
        let mut tbf = Self { mult, shift, buffer: 0, tokens: 0, t_c: 0 };
        tbf.buffer = tbf.l2t_ns(burst);
        tbf.tokens = tbf.buffer;
        tbf
    }

    fn l2t_ns(&self, len: u32) -> i64 {
        i64::try_from((u128::from(len) * u128::from(self.mult)) >> self.shift).expect("fits")
    }

    fn toks(&self, now: i64, len: u32) -> i64 {
        let toks = (now - self.t_c).min(self.buffer) + self.tokens;
        toks.min(self.buffer) - self.l2t_ns(len)
    }

    fn pass(mut self, arrivals: &[Arrival]) -> Vec<Nanos> {
        let mut free = 0;
        let mut times = Vec::new();
        for arrival in arrivals {
            let mut now = free.max(i64::try_from(arrival.at).expect("small"));
            let mut toks = self.toks(now, arrival.bytes);
            while toks < 0 {
                now += -toks;
                toks = self.toks(now, arrival.bytes);
            }
            (self.t_c, self.tokens, free) = (now, toks, now);
            times.push(u64::try_from(now).expect("positive"));
        }
        times
    }
}

/// Times (ns) of the opportunities of a looped trace.
fn opportunities(times_ms: &[u32]) -> impl Iterator<Item = Nanos> {
    let period = u64::from(*times_ms.last().expect("not empty"));
    (0..).flat_map(move |lap| times_ms.iter().map(move |&ms| (lap * period + u64::from(ms)) * MS))
}

/// Mahimahi's `rationalize`, opportunity by opportunity; it is done before a packet is taken in.
fn mahimahi(times_ms: &[u32], arrivals: &[Arrival]) -> Vec<Nanos> {
    let mut arriving = arrivals.iter().peekable();
    let mut queue: VecDeque<u32> = VecDeque::new();
    let mut left = Vec::new();
    for now in opportunities(times_ms) {
        queue.extend(std::iter::from_fn(|| arriving.next_if(|arrival| arrival.at < now)).map(|a| a.bytes));
        let mut bytes = Trace::OPPORTUNITY_BYTES;
        while let Some(first) = queue.front_mut().filter(|_| bytes > 0) {
            let taken = bytes.min(*first);
            (bytes, *first) = (bytes - taken, *first - taken);
            if *first == 0 {
                queue.pop_front();
                left.push(now);
            }
        }
        if left.len() == arrivals.len() {
            break;
        }
    }
    left
}

/// At 12 Mbit/s the bucket of 3000 bytes lets two packets pass at once, then one each millisecond. When idle it
/// fills again, but not beyond its size.
#[test]
fn a_token_bucket_leaves_at_times_checked_by_hand() {
    let arrivals: Vec<Arrival> = [0, 0, 0, 10 * MS, 10 * MS, 10 * MS].map(|at| of_size(1500, at)).to_vec();
    let left = pass(bucket(bit_s(12_000_000), 3000), &arrivals);
    assert_eq!(times(&left), [0, 0, MS, 10 * MS, 10 * MS, 11 * MS]);
}

#[test]
fn a_packet_larger_than_the_bucket_is_refused() {
    let left = pass(bucket(bit_s(12_000_000), 1499), &at_once(&[1500, 1499]));
    assert_eq!(left[0].fate, Fate::Dropped(Cause::Queue));
    assert_eq!(left[1].fate, Fate::Delivered);
}

/// Opportunities at 1 and 3 ms, then from 3 ms on again: 4, 6, 7, 9.
#[test]
fn a_trace_leaves_at_times_checked_by_hand() {
    let rate = || Rate::Trace(Arc::new(trace(&[1, 3])));
    // Two small ones share an opportunity; the jumbo needs two.
    assert_eq!(times(&pass(rate(), &at_once(&[752, 752, 3008, 1500]))), [MS, MS, 4 * MS, 6 * MS]);
    // A packet that arrives at the time of an opportunity misses it; unused opportunities are lost.
    assert_eq!(times(&pass(rate(), &[of_size(1500, MS), of_size(1500, 6 * MS)])), [3 * MS, 7 * MS]);
}

#[test]
fn a_trace_begins_when_it_is_started() {
    let mut bottleneck = Bottleneck::new(Rate::Trace(Arc::new(trace(&[10]))), OPEN);
    bottleneck.push(2 * MS, Packet::new(1500, ()));
    assert_eq!(bottleneck.next_due(), Some(10 * MS));
    bottleneck.start(5 * MS);
    assert_eq!(bottleneck.next_due(), Some(15 * MS));
    bottleneck.push(26 * MS, Packet::new(1500, ()));
    assert_eq!(bottleneck.pop(26 * MS).expect("the first").at, 15 * MS);
    assert_eq!(bottleneck.next_due(), Some(35 * MS));
}

/// Half of the packet is sent when the rate is halved.
#[test]
fn a_change_of_rate_by_hand() {
    let mut bottleneck = Bottleneck::new(Rate::Constant(bit_s(12_000_000)), OPEN);
    bottleneck.push(0, Packet::new(1500, ()));
    bottleneck.push(0, Packet::new(1500, ()));
    bottleneck.set_rate(MS / 2, bit_s(6_000_000));
    let left = [bottleneck.pop(MS * 9).expect("first"), bottleneck.pop(MS * 9).expect("second")];
    assert_eq!(left.each_ref().map(|left| left.at), [MS * 3 / 2, MS * 7 / 2]);
    assert_eq!(left.map(|left| (left.packet.waited, left.packet.serialised))[1], (MS * 3 / 2, 2 * MS));
}
