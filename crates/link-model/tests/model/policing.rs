//! A policer against its definition: what passes fits the bucket in every window, and what is dropped would not.

use std::num::{NonZeroU32, NonZeroU64};

use crate::scene::policing;
use link_model::{
    Cause, Direction, Fate, Impairments, Nanos, Packet, Policing, Queue, QueueLimit, Rate, Stage, Window,
    Witness,
};
use proptest::collection::vec;
use proptest::prelude::*;

const MS: Nanos = 1_000_000;
/// Work of one byte in bit/s times ns.
const BYTE: i128 = 8_000_000_000;

fn policing_of(rate: u64, burst: u32) -> Policing {
    let (rate, burst) = (NonZeroU64::new(rate), NonZeroU32::new(burst));
    Policing { rate: rate.expect("not 0"), burst: burst.expect("not 0") }
}

fn policed(policing: Policing) -> Impairments {
    Impairments { policing: Some(policing), ..Impairments::default() }
}

/// The fate of each packet, and what the witness of a link that is to police as `says` has seen.
fn fates(does: &Impairments, says: &Impairments, arrivals: &[(Nanos, u32)]) -> (Vec<Fate>, Option<Window>) {
    let (mut link, mut witness) = (Direction::new(does.clone()), Witness::new(says));
    link.start(0);
    let mut now = 0;
    for (number, (gap, bytes)) in arrivals.iter().enumerate() {
        now += gap;
        link.push(now, Packet::new(*bytes, number));
    }
    let mut left: Vec<_> = std::iter::from_fn(|| link.pop(Nanos::MAX)).collect();
    for departure in left.iter().filter(|departure| departure.fate == Fate::Delivered) {
        witness.see(departure.at, &departure.packet);
    }
    left.sort_by_key(|departure| departure.packet.body);
    (left.into_iter().map(|departure| departure.fate).collect(), witness.observation().policed)
}

/// The most work by which a window that ends at packet `last` exceeds the rate, if this packet is added to those that
/// passed. By the definition, over all windows.
fn most(arrivals: &[(Nanos, u32)], passed: &[bool], last: usize, rate: i128) -> i128 {
    let mut excess = i128::MIN;
    let (mut bytes, mut lasted) = (0_i128, 0_i128);
    for first in (0..=last).rev() {
        if first == last || passed[first] {
            bytes += i128::from(arrivals[first].1);
            let window = bytes * BYTE - lasted * rate;
            excess = excess.max(window);
        }
        lasted += i128::from(arrivals[first].0);
    }
    excess
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_packet_is_dropped_exactly_when_it_exceeds_the_bucket_in_some_window(
        policing in policing(),
        arrivals in vec((prop_oneof![Just(0), 0..MS, 0..200 * MS], 1..=1500_u32), 1..100),
    ) {
        let (fates, seen) = fates(&policed(policing), &policed(policing), &arrivals);
        let passed: Vec<bool> = fates.iter().map(|fate| *fate == Fate::Delivered).collect();
        let capacity = i128::from(policing.burst.get()) * BYTE;
        for last in 0..arrivals.len() {
            let fits = most(&arrivals, &passed, last, policing.rate.get().into()) <= capacity;
            prop_assert_eq!(fits, passed[last], "packet {}", last);
        }
        prop_assert!(fates.iter().all(|fate| [Fate::Delivered, Fate::Dropped(Cause::Policed)].contains(fate)));
        prop_assert!(seen.is_none_or(|window| window.slack_ns >= 0));
    }

    #[test]
    fn the_witness_notices_a_policer_that_is_5_percent_too_fast(
        rate in 10_000..1_000_000_000_u64,
        burst in 1500..20_000_u32,
        pace in 1..1000_u64,
    ) {
        let faster = policing_of(rate + rate / 20, burst);
        // Twice the rate, until far more than the bucket has passed.
        let gap = 1000 * 8 * 500_000_000 / rate;
        let arrivals = vec![(gap + pace % 2, 1000); 60 + 3 * burst as usize / 50];
        let (_, seen) = fates(&policed(faster), &policed(policing_of(rate, burst)), &arrivals);
        prop_assert!(seen.expect("packets passed").slack_ns < 0);
    }

    #[test]
    fn the_witness_notices_a_policer_that_is_not_applied(rate in 10_000..1_000_000_000_u64) {
        let says = policed(policing_of(rate, 1500));
        let (_, seen) = fates(&Impairments::default(), &says, &[(0, 1000), (0, 1000)]);
        prop_assert!(seen.expect("packets passed").slack_ns < 0);
    }
}

/// 8 Mbit/s fill 1000 bytes in 1 ms.
#[test]
fn a_full_bucket_passes_its_burst_and_then_the_rate() {
    let arrivals =
        [(MS, 1000), (0, 1000), (0, 1000), (MS - 1, 1000), (1, 1000), (10 * MS, 1500), (0, 600), (0, 500)];
    let link = policed(policing_of(8_000_000, 2000));
    let (fates, seen) = fates(&link, &link, &arrivals);
    let passed = [true, true, false, false, true, true, false, true];
    assert_eq!(fates.iter().map(|fate| *fate == Fate::Delivered).collect::<Vec<_>>(), passed);
    // The bucket was last full when the sixth packet came; before that, five packets emptied it twice.
    assert_eq!(seen, Some(Window { slack_ns: 0, from: MS, to: 2 * MS, bytes: 3000 }));
}

#[test]
fn policed_packets_are_counted_take_no_room_and_no_tokens() {
    let rate = Some(Rate::Constant(NonZeroU64::new(8_000_000).expect("not 0")));
    let queue = Queue { limit: QueueLimit::Packets(2), ..Queue::default() };
    let policing = Some(policing_of(8_000, 2500));
    let mut link = Direction::new(Impairments { rate, queue, policing, ..Impairments::default() });
    for _ in 0..2 {
        link.push(0, Packet::new(1000, 'p')); // the idle phase's take no tokens
    }
    link.start(5 * MS);
    for body in ['a', 'b', 'c', 'd'] {
        link.push(5 * MS, Packet::new(1000, body));
    }
    link.push(5 * MS, Packet::new(500, 'e'));
    let left: Vec<_> = std::iter::from_fn(|| link.pop(Nanos::MAX)).collect();
    let account = link.account();
    let dropped = |cause| &account.dropped(cause).numbers;
    assert_eq!((dropped(Cause::Policed), account.dropped(Cause::Policed).tally.bytes), (&vec![2, 3], 2000));
    assert_eq!(*dropped(Cause::Queue), [4], "the policed ones take no room in the queue");
    assert_eq!(account.delivered.packets, 2);
    assert_eq!(left.len(), 7);
}
