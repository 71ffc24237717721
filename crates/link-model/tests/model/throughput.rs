//! Rate, queue limit and delay of a whole direction, measured by times of arrival and delivery only.

use std::num::NonZeroU64;

use crate::scene::{Arrivals, Run, arrivals, bit_s, limit, run};
use link_model::{Cause, Change, Fate, Impairments, Nanos, Queue, QueueLimit, Rate};
use proptest::collection::vec;
use proptest::prelude::*;

const NANOS_PER_S: u128 = 1_000_000_000;

fn rated(rate: NonZeroU64, limit: QueueLimit) -> Impairments {
    let queue = Queue { limit, ..Queue::default() };
    Impairments { rate: Some(Rate::Constant(rate)), queue, ..Impairments::default() }
}

fn carried(impairments: &Impairments, arrivals: &Arrivals) -> Run {
    run(impairments, &Vec::new(), arrivals, &[true], true)
}

/// Packets and bytes inside just after each accepted arrival, that packet included.
fn inside(run: &Run) -> Vec<(u64, u64)> {
    let at_arrival = |number: usize, at: Nanos| {
        let inside = run.delivered().filter(move |seen| seen.at > at && seen.number <= number as u64);
        inside.fold((0, 0), |(packets, bytes), seen| (packets + 1, bytes + u64::from(seen.bytes)))
    };
    run.arrived_at.iter().enumerate().map(|(number, &at)| at_arrival(number, at)).collect()
}

proptest! {
    #[test]
    fn delay_is_exact_without_a_rate(delay in 0..10_000_000_000_u64, arrivals in arrivals()) {
        let run = carried(&Impairments { delay, ..Impairments::default() }, &arrivals);
        let dues: Vec<Nanos> = run.delivered().map(|seen| seen.at).collect();
        let expected: Vec<Nanos> = run.arrived_at.iter().map(|at| at + delay).collect();
        prop_assert_eq!(dues, expected);
    }

    /// Between the first and the last of any consecutive deliveries at most rate times time passes, the
    /// first packet not counted (its bits were sent before) and 1 ns for the clock's grain.
    #[test]
    fn no_window_delivers_above_the_rate(rate in bit_s(), limit in limit(), arrivals in arrivals()) {
        let run = carried(&rated(rate, limit), &arrivals);
        let delivered: Vec<_> = run.delivered().collect();
        for (index, begin) in delivered.iter().enumerate() {
            let mut bits = 0_u128;
            for end in &delivered[index + 1..] {
                bits += u128::from(end.bytes) * 8;
                prop_assert!(bits * NANOS_PER_S <= u128::from(rate.get()) * u128::from(end.at - begin.at + 1));
            }
        }
    }

    /// While the queue is never empty, it delivers exactly at the rate, without drift.
    #[test]
    fn a_busy_link_uses_its_whole_rate(rate in bit_s(), sizes in vec(1..=1500_u32, 1..300)) {
        let burst = sizes.iter().map(|&bytes| (0, bytes)).collect();
        let run = carried(&rated(rate, QueueLimit::Unlimited), &burst);
        let bits: u128 = sizes.iter().map(|&bytes| u128::from(bytes) * 8).sum();
        let last = run.delivered().last().expect("not empty").at;
        prop_assert_eq!(u128::from(last), bits * NANOS_PER_S / u128::from(rate.get()));
    }

    /// The same with a change of rate: the rest is sent at the new rate. Each change may round to a nanosecond.
    #[test]
    fn a_busy_link_uses_its_whole_rate_across_a_change(
        rates in (bit_s(), bit_s()),
        sizes in vec(1..=1500_u32, 1..300),
        share in 0.0..1.0,
    ) {
        let bits: u128 = sizes.iter().map(|&bytes| u128::from(bytes) * 8).sum();
        let alone = bits * NANOS_PER_S / u128::from(rates.0.get());
        let at = whole(share * approximately(alone));
        let burst = sizes.iter().map(|&bytes| (0, bytes)).collect();
        let changes = vec![(at, Change::Rate(rates.1))];
        let run = run(&rated(rates.0, QueueLimit::Unlimited), &changes, &burst, &[true], true);
        let left = (bits * NANOS_PER_S - u128::from(rates.0.get()) * u128::from(at)) / u128::from(rates.1.get());
        let last = u128::from(run.delivered().last().expect("not empty").at);
        // A nanosecond at the first rate is worth this many at the second.
        let grain = u128::from(rates.0.get() / rates.1.get()) + 2;
        prop_assert!(last.abs_diff(u128::from(at) + left) <= grain, "{last} instead of {at} + {left}");
    }

    #[test]
    fn the_queue_limit_is_never_exceeded(
        rate in bit_s(),
        limit in 1..50_u64,
        arrivals in arrivals(),
    ) {
        let run = carried(&rated(rate, QueueLimit::Packets(limit)), &arrivals);
        prop_assert!(run.direction.queue_packets_max() <= limit);
        prop_assert!(inside(&run).iter().all(|(packets, _)| *packets <= limit));
    }

    #[test]
    fn the_byte_limit_is_never_exceeded(
        rate in bit_s(),
        limit in 1_500..50_000_u64,
        arrivals in arrivals(),
    ) {
        let run = carried(&rated(rate, QueueLimit::Bytes(limit)), &arrivals);
        prop_assert!(inside(&run).iter().all(|(_, bytes)| *bytes <= limit));
    }

    /// Packets are dropped only without room: with the dropped packet the limit would be exceeded.
    #[test]
    fn a_packet_is_refused_only_for_want_of_room(
        rate in bit_s(),
        limit in 1..50_u64,
        arrivals in arrivals(),
    ) {
        let run = carried(&rated(rate, QueueLimit::Packets(limit)), &arrivals);
        let inside = inside(&run);
        for seen in run.dropped() {
            let packets = inside[usize::try_from(seen.number).expect("small")].0;
            prop_assert_eq!((seen.fate, packets), (Fate::Dropped(Cause::Queue), limit));
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "any time will do")]
const fn approximately(time: u128) -> f64 {
    time as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "times are positive and small")]
const fn whole(time: f64) -> Nanos {
    time as Nanos
}
