//! What must hold for any link and any arrivals.
//!
//! Arrivals are pushed with their own stamps while the caller looks at the direction at times of its own
//! (`Looks`), as a scheduler would have it: early, late, or long after many packets are due.

use std::num::NonZeroU64;

use link_model::{Cause, Direction, Impairments, Nanos, Packet, QueueLimit, Stage};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

const NANOS_PER_S: u128 = 1_000_000_000;

/// Gap to the packet before (ns) and size (bytes).
type Arrivals = Vec<(Nanos, u32)>;

#[derive(Clone, Debug, Default, PartialEq)]
struct Trace {
    /// Due time, number and size of every delivered packet.
    delivered: Vec<(Nanos, u64, u32)>,
    dropped: Vec<(u64, Cause)>,
    arrived_at: Vec<Nanos>,
    /// Most packets in the queue at once.
    peak_packets: u64,
}

/// Pushes all arrivals; before the one with index `i` the direction is emptied of what is due, if
/// `looks[i % len]`. At the end everything is taken out if `empty`.
fn run(impairments: Impairments, arrivals: &Arrivals, looks: &[bool], empty: bool) -> (Trace, Direction<()>) {
    let mut direction = Direction::new(impairments);
    direction.start(0);
    let mut trace = Trace::default();
    let mut now = 0;
    for (index, &(gap, bytes)) in arrivals.iter().enumerate() {
        now += gap;
        trace.arrived_at.push(now);
        if looks[index % looks.len()] {
            take_due(&mut direction, now, &mut trace);
        }
        if let Err(dropped) = direction.push(now, Packet::new(bytes, ())) {
            trace.dropped.push((dropped.packet.number.expect("counted"), dropped.cause));
        }
    }
    if empty {
        take_due(&mut direction, Nanos::MAX, &mut trace);
    }
    trace.peak_packets = direction.queue_packets_max();
    (trace, direction)
}

fn take_due(direction: &mut Direction<()>, now: Nanos, trace: &mut Trace) {
    while let Some(due) = direction.next_due().filter(|due| *due <= now) {
        let packet = direction.pop(now).expect("it was due");
        trace.delivered.push((due, packet.number.expect("counted"), packet.bytes));
    }
}

fn arrivals() -> impl Strategy<Value = Arrivals> {
    // Bursts and pauses: most gaps are far below the serialisation time of a packet.
    let gap = prop_oneof![3 => Just(0), 5 => 0..200_000_u64, 1 => 0..50_000_000_u64];
    vec((gap, 1..=1500_u32), 0..400)
}

fn rate() -> impl Strategy<Value = NonZeroU64> {
    (10_000..10_000_000_000_u64).prop_map(|rate| NonZeroU64::new(rate).expect("not 0"))
}

fn limit() -> impl Strategy<Value = QueueLimit> {
    prop_oneof![
        (1..50_u64).prop_map(QueueLimit::Packets),
        (1_500..50_000_u64).prop_map(QueueLimit::Bytes),
        Just(QueueLimit::Unlimited),
    ]
}

prop_compose! {
    fn any_impairments()(
        loss in option::of((0.0..=1.0, any::<u64>())),
        bottleneck in option::of((rate(), limit())),
        delay in 0..100_000_000_u64,
    ) -> Impairments {
        Impairments { loss, bottleneck, delay }
    }
}

proptest! {
    #[test]
    fn every_packet_has_one_fate(
        impairments in any_impairments(),
        arrivals in arrivals(),
        looks in vec(any::<bool>(), 1..20),
        empty in any::<bool>(),
    ) {
        let (trace, direction) = run(impairments, &arrivals, &looks, empty);
        let account = direction.account();
        let inside = direction.in_flight();
        let outcomes = [account.delivered, account.lost, account.queue_dropped, inside];
        prop_assert_eq!(account.arrived.packets, outcomes.iter().map(|tally| tally.packets).sum::<u64>());
        prop_assert_eq!(account.arrived.bytes, outcomes.iter().map(|tally| tally.bytes).sum::<u64>());
        prop_assert_eq!(account.arrived.packets, arrivals.len() as u64);
        prop_assert_eq!(account.delivered.packets, trace.delivered.len() as u64);
        prop_assert_eq!(account.lost.packets, account.lost_numbers.len() as u64);
        prop_assert_eq!(account.queue_dropped.packets, account.queue_dropped_numbers.len() as u64);
        prop_assert!(!empty || inside.packets == 0);
    }

    #[test]
    fn order_is_kept(impairments in any_impairments(), arrivals in arrivals()) {
        let (trace, _) = run(impairments, &arrivals, &[true], true);
        prop_assert!(trace.delivered.is_sorted_by(|a, b| a.0 <= b.0 && a.1 < b.1));
    }

    #[test]
    fn nothing_depends_on_when_the_caller_looks(
        impairments in any_impairments(),
        arrivals in arrivals(),
        looks in vec(any::<bool>(), 1..20),
    ) {
        let (always, _) = run(impairments, &arrivals, &[true], true);
        let (sometimes, _) = run(impairments, &arrivals, &looks, true);
        prop_assert_eq!(always, sometimes);
    }

    #[test]
    fn delay_is_exact_without_a_rate(delay in 0..10_000_000_000_u64, arrivals in arrivals()) {
        let (trace, _) = run(Impairments { delay, ..Impairments::default() }, &arrivals, &[true], true);
        let dues: Vec<Nanos> = trace.delivered.iter().map(|(due, ..)| *due).collect();
        let expected: Vec<Nanos> = trace.arrived_at.iter().map(|at| at + delay).collect();
        prop_assert_eq!(dues, expected);
    }

    /// Between the first and the last of any consecutive deliveries at most rate times time passes, the
    /// first packet not counted (its bits were sent before) and 1 ns for the clock's grain.
    #[test]
    fn no_window_delivers_above_the_rate(rate in rate(), limit in limit(), arrivals in arrivals()) {
        let impairments = Impairments { bottleneck: Some((rate, limit)), ..Impairments::default() };
        let (trace, _) = run(impairments, &arrivals, &[true], true);
        for (index, &(begin, ..)) in trace.delivered.iter().enumerate() {
            let mut bits = 0_u128;
            for &(end, _, bytes) in &trace.delivered[index + 1..] {
                bits += u128::from(bytes) * 8;
                prop_assert!(bits * NANOS_PER_S <= u128::from(rate.get()) * u128::from(end - begin + 1));
            }
        }
    }

    /// While the queue is never empty, it delivers exactly at the rate, without drift.
    #[test]
    fn a_busy_link_uses_its_whole_rate(rate in rate(), sizes in vec(1..=1500_u32, 1..300)) {
        let impairments =
            Impairments { bottleneck: Some((rate, QueueLimit::Unlimited)), ..Impairments::default() };
        let burst = sizes.iter().map(|&bytes| (0, bytes)).collect();
        let (trace, _) = run(impairments, &burst, &[false], true);
        let bits: u128 = sizes.iter().map(|&bytes| u128::from(bytes) * 8).sum();
        let last = trace.delivered.last().expect("not empty").0;
        prop_assert_eq!(u128::from(last), bits * NANOS_PER_S / u128::from(rate.get()));
    }

    #[test]
    fn same_seed_same_fates(impairments in any_impairments(), arrivals in arrivals()) {
        let (one, _) = run(impairments, &arrivals, &[true], true);
        let (other, _) = run(impairments, &arrivals, &[true], true);
        prop_assert_eq!(one, other);
    }

    /// Whether packet n is lost is a matter of key and n alone, whatever else the link does.
    #[test]
    fn other_impairments_shift_no_loss(
        loss in (0.0..=1.0, any::<u64>()),
        other in any_impairments(),
        arrivals in arrivals(),
    ) {
        let alone = Impairments { loss: Some(loss), ..Impairments::default() };
        let (_, alone) = run(alone, &arrivals, &[true], true);
        let (_, among) = run(Impairments { loss: Some(loss), ..other }, &arrivals, &[true], true);
        prop_assert_eq!(&alone.account().lost_numbers, &among.account().lost_numbers);
    }

    #[test]
    fn the_queue_limit_is_never_exceeded(
        rate in rate(),
        limit in 1..50_u64,
        arrivals in arrivals(),
    ) {
        let bottleneck = Some((rate, QueueLimit::Packets(limit)));
        let (trace, _) = run(Impairments { bottleneck, ..Impairments::default() }, &arrivals, &[true], true);
        prop_assert!(trace.peak_packets <= limit);
        // The same from outside: packets in the link at each arrival, that one included.
        for (number, &at) in trace.arrived_at.iter().enumerate() {
            let inside = trace.delivered.iter().filter(|(due, n, _)| *due > at && *n <= number as u64).count();
            prop_assert!(inside as u64 <= limit);
        }
    }

    #[test]
    fn the_byte_limit_is_never_exceeded(
        rate in rate(),
        limit in 1_500..50_000_u64,
        arrivals in arrivals(),
    ) {
        let bottleneck = Some((rate, QueueLimit::Bytes(limit)));
        let (trace, _) = run(Impairments { bottleneck, ..Impairments::default() }, &arrivals, &[true], true);
        for (number, &at) in trace.arrived_at.iter().enumerate() {
            let inside = trace.delivered.iter().filter(|(due, n, _)| *due > at && *n <= number as u64);
            prop_assert!(inside.map(|(_, _, bytes)| u64::from(*bytes)).sum::<u64>() <= limit);
        }
    }

    /// Drops happen only when there is no room: with the refused packet the limit would be exceeded.
    #[test]
    fn a_packet_is_refused_only_for_want_of_room(
        rate in rate(),
        limit in 1..50_u64,
        arrivals in arrivals(),
    ) {
        let bottleneck = Some((rate, QueueLimit::Packets(limit)));
        let (trace, _) = run(Impairments { bottleneck, ..Impairments::default() }, &arrivals, &[true], true);
        for &(number, cause) in &trace.dropped {
            let at = trace.arrived_at[usize::try_from(number).expect("small")];
            let inside = trace.delivered.iter().filter(|(due, n, _)| *due > at && *n < number).count();
            prop_assert_eq!((cause, inside as u64), (Cause::Queue, limit));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Hoeffding: the share of losses among n draws is off by more than sqrt(ln(2 / a) / 2n) with a chance of
    /// at most a. With a = 1e-9 and 64 cases a run raises a false alarm once in 15 million.
    #[test]
    fn the_loss_share_is_the_probability(probability in 0.0..=1.0, key in any::<u64>()) {
        const PACKETS: u32 = 50_000;
        const FALSE_ALARM: f64 = 1e-9;
        let impairments = Impairments { loss: Some((probability, key)), ..Impairments::default() };
        let (trace, _) = run(impairments, &vec![(1, 1); PACKETS as usize], &[true], true);
        let lost = u32::try_from(trace.dropped.len()).expect("small");
        let share = f64::from(lost) / f64::from(PACKETS);
        let bound = ((2.0 / FALSE_ALARM).ln() / (2.0 * f64::from(PACKETS))).sqrt();
        prop_assert!((share - probability).abs() <= bound, "{share} instead of {probability}");
    }
}
