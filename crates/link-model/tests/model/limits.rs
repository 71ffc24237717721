//! Limits that hold for every queue, rate and caller.

use crate::driver::{
    self, Arrival, Caller, MS, any_lateness, any_limit, any_rate, arrivals, bit_s, by_number, delivered, run,
};
use link_model::{
    Bottleneck, Cause, CoDel, Departure, Discipline, Ecn, Fate, FqCoDel, Packet, Pie, Queue, QueueLimit,
    Rate, Stage,
};
use proptest::prelude::*;

const CODEL: CoDel = CoDel { target: MS, interval: 10 * MS, ecn: true };

fn in_order_of_arrival() -> impl Strategy<Value = Discipline> {
    let pie = Pie { target: 2 * MS, update: 2 * MS, ecn: true, key: 1 };
    prop_oneof![Just(Discipline::DropTail), Just(Discipline::Pie(pie))]
}

fn discipline() -> impl Strategy<Value = Discipline> {
    let (flows, quantum) = (8.try_into().expect("not 0"), 1514.try_into().expect("not 0"));
    prop_oneof![
        in_order_of_arrival(),
        Just(Discipline::CoDel(CODEL)),
        Just(Discipline::FqCoDel(FqCoDel { codel: CODEL, flows, quantum })),
    ]
}

fn caller() -> impl Strategy<Value = Caller> {
    prop_oneof![Just(Caller::Punctual), Just(Caller::Lazy), any_lateness()]
}

fn time_inside(left: &Departure<()>, arrivals: &[Arrival]) -> std::ops::Range<u64> {
    let number = usize::try_from(left.packet.number.expect("numbered")).expect("small");
    arrivals[number].at..left.at
}

proptest! {
    #[test]
    fn every_packet_leaves_once(
        rate in any_rate(), discipline in discipline(), limit in any_limit(), arrivals in arrivals(), caller in caller(),
    ) {
        let mut bottleneck = Bottleneck::new(rate, Queue { discipline, limit });
        let left = by_number(run(&mut bottleneck, &arrivals, &caller));
        prop_assert!(left.iter().map(|left| left.packet.number).eq((0..arrivals.len() as u64).map(Some)));
        prop_assert!(left.iter().zip(&arrivals).all(|(left, arrival)| left.packet.bytes == arrival.bytes));
        prop_assert_eq!((bottleneck.next_due(), bottleneck.held().count()), (None, 0));
        for left in delivered(&left) {
            let inside = time_inside(left, &arrivals);
            prop_assert_eq!(left.packet.waited + left.packet.serialised, inside.end - inside.start);
        }
    }

    #[test]
    fn order_within_a_flow_is_kept(
        rate in any_rate(), discipline in discipline(), limit in any_limit(), arrivals in arrivals(), caller in caller(),
    ) {
        let left = run(&mut Bottleneck::new(rate, Queue { discipline, limit }), &arrivals, &caller);
        for flow in 0..6 {
            let of_flow = delivered(&left).filter(|left| left.packet.flow == flow);
            prop_assert!(of_flow.is_sorted_by(|a, b| a.at <= b.at && a.packet.number < b.packet.number));
        }
    }

    /// The occupancy at each arrival, including that packet if it was accepted.
    #[test]
    fn the_limit_is_never_exceeded(
        rate in any_rate(), discipline in discipline(), limit in 1..50_u64, by_bytes in any::<bool>(),
        arrivals in arrivals(), caller in caller(),
    ) {
        let limit = if by_bytes { QueueLimit::Bytes(limit * 1500) } else { QueueLimit::Packets(limit) };
        let mut bottleneck = Bottleneck::new(rate, Queue { discipline, limit });
        let left = run(&mut bottleneck, &arrivals, &caller);
        for (number, arrival) in arrivals.iter().enumerate() {
            let inside = left.iter().filter(|left| {
                left.at > arrival.at && left.packet.number.expect("numbered") <= number as u64
            });
            match limit {
                QueueLimit::Packets(limit) => prop_assert!(inside.count() as u64 <= limit),
                QueueLimit::Bytes(limit) => {
                    prop_assert!(inside.map(|left| u64::from(left.packet.bytes)).sum::<u64>() <= limit);
                }
                QueueLimit::Time(_) | QueueLimit::Unlimited => unreachable!("not asked for"),
            }
        }
        if let QueueLimit::Packets(limit) = limit {
            prop_assert!(bottleneck.peak_packets() <= limit);
        }
    }

    /// A caller that pops ahead of later stamps changes nothing.
    #[test]
    fn drop_tail_and_pie_do_not_depend_on_the_caller(
        rate in any_rate(), discipline in in_order_of_arrival(), limit in any_limit(), arrivals in arrivals(),
        late in any_lateness(),
    ) {
        let queue = Queue { discipline, limit };
        let punctual = run(&mut Bottleneck::new(rate.clone(), queue), &arrivals, &Caller::Punctual);
        let late = run(&mut Bottleneck::new(rate, queue), &arrivals, &late);
        prop_assert_eq!(by_number(punctual), by_number(late));
    }

    #[test]
    fn no_discipline_depends_on_how_rarely_the_caller_looks(
        rate in any_rate(), discipline in discipline(), limit in any_limit(), arrivals in arrivals(),
    ) {
        let queue = Queue { discipline, limit };
        let punctual = run(&mut Bottleneck::new(rate.clone(), queue), &arrivals, &Caller::Punctual);
        let lazy = run(&mut Bottleneck::new(rate, queue), &arrivals, &Caller::Lazy);
        prop_assert_eq!(punctual, lazy);
    }

    #[test]
    fn a_flush_empties_the_queue_at_once(
        rate in any_rate(), discipline in discipline(), limit in any_limit(), arrivals in arrivals(),
        later in 0..20 * MS,
    ) {
        let mut bottleneck = Bottleneck::new(rate, Queue { discipline, limit });
        for (number, arrival) in arrivals.iter().enumerate() {
            bottleneck.push(arrival.at, arrival.packet(number));
        }
        let at = arrivals.last().expect("not empty").at + later;
        bottleneck.flush(at, Cause::Down);
        let mut left = Vec::new();
        driver::take_due(&mut bottleneck, at, &mut left);
        prop_assert_eq!((left.len(), bottleneck.next_due()), (arrivals.len(), None));
        prop_assert!(left.iter().all(|left| left.at <= at));
        // It continues as if it had been idle.
        let probe = Arrival { at: at + MS, bytes: 100, flow: 0, ecn: Ecn::NotCapable };
        bottleneck.push(probe.at, probe.packet(0));
        let probe = bottleneck.pop(u64::MAX).expect("it leaves");
        prop_assert_eq!((probe.fate, probe.packet.waited), (Fate::Delivered, 0));
    }
}

/// 1500 bytes take 1 ms at 12 Mbit/s.
fn drop_tail(limit: QueueLimit) -> Bottleneck<()> {
    Bottleneck::new(Rate::Constant(bit_s(12_000_000)), Queue { discipline: Discipline::DropTail, limit })
}

fn fates(bottleneck: &mut Bottleneck<()>, arrivals: &[u64]) -> Vec<bool> {
    let full = |at: &u64| Arrival { at: *at, bytes: 1500, flow: 0, ecn: Ecn::NotCapable };
    let arrivals: Vec<Arrival> = arrivals.iter().map(full).collect();
    let left = by_number(run(bottleneck, &arrivals, &Caller::Punctual));
    left.iter().map(|left| left.fate == Fate::Delivered).collect()
}

/// The third finds 2 ms of work before it, the fourth 3 ms.
#[test]
fn a_limit_in_time_counts_what_is_before_a_packet() {
    let taken = fates(&mut drop_tail(QueueLimit::Time(2 * MS)), &[0, 0, 0, 0, MS]);
    assert_eq!(taken, [true, true, true, false, true]);
}

#[test]
fn a_queue_of_zero_time_accepts_packets_that_find_the_link_idle() {
    let taken = fates(&mut drop_tail(QueueLimit::Time(0)), &[0, 1, MS]);
    assert_eq!(taken, [true, false, true]);
}

/// A limit in time holds fewer bytes after the rate has fallen.
#[test]
fn a_limit_in_time_follows_the_rate() {
    let mut bottleneck = drop_tail(QueueLimit::Time(2 * MS));
    bottleneck.set_rate(0, bit_s(6_000_000));
    assert_eq!(fates(&mut bottleneck, &[0, 0, 0]), [true, true, false]);
}

/// Counts that a direction reports while packets are inside.
#[test]
fn occupancy_and_held_report_the_packets_inside() {
    let mut bottleneck = drop_tail(QueueLimit::Packets(2));
    for _ in 0..3 {
        bottleneck.push(0, Packet::new(1500, ()));
    }
    assert_eq!((bottleneck.occupancy(), bottleneck.peak_packets()), ((2, 3000), 2));
    // The dropped packet is held until it is popped.
    assert_eq!(bottleneck.held().count(), 3);
    assert_eq!(bottleneck.pop(0).expect("the drop").fate, Fate::Dropped(Cause::Queue));
    assert_eq!((bottleneck.held().count(), bottleneck.next_due()), (2, Some(MS)));
}
