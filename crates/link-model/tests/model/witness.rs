//! The witness never accuses the model, and always accuses a link that differs from its description.

use std::num::{NonZeroU32, NonZeroU64};
use std::sync::Arc;

use crate::scene::{Arrivals, Changes, any_impairments, arrivals, changes, packet, started};
use link_model::{
    Change, Departure, Direction, Fate, Impairments, Nanos, Observation, Packet, Rate, Stage, Trace, Window,
    Witness,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

const MS: Nanos = 1_000_000;

/// Runs a direction, and shows its deliveries to a witness that knows the description.
struct Court {
    direction: Direction<()>,
    witness: Witness,
    /// How the evidence is changed before the witness sees it.
    forge: fn(Departure<()>) -> Departure<()>,
}

impl Court {
    fn new(does: &Impairments, says: &Impairments, changes: &Changes) -> Self {
        let mut witness = Witness::new(says);
        witness.start(0);
        Self { direction: started(does, changes), witness, forge: |departure| departure }
    }

    fn look(&mut self, now: Nanos) {
        loop {
            let departure = self.direction.pop(now);
            while let Some(applied) = self.direction.next_applied() {
                self.witness.change(applied.at, applied.change);
            }
            let Some(departure) = departure.map(self.forge) else { return };
            if departure.fate == Fate::Delivered {
                self.witness.see(departure.at, &departure.packet);
            }
        }
    }

    /// Before each arrival the caller may look, perhaps at a time after the arrival, because it reads its clock
    /// before its sockets.
    fn observe(mut self, arrivals: &Arrivals, looks: &[Option<Nanos>]) -> Observation {
        let (mut now, mut looked) = (0, 0);
        for (index, &(gap, bytes)) in arrivals.iter().enumerate() {
            now += gap;
            if let Some(late) = looks[index % looks.len()] {
                looked = looked.max(now + late);
                self.look(looked);
            }
            self.direction.push(now, packet(index, bytes));
        }
        self.look(Nanos::MAX);
        self.witness.observation()
    }
}

fn accuses(observation: &Observation) -> bool {
    observation.window.is_some_and(|window| window.slack_ns < 0)
        || observation.policed.is_some_and(|window| window.slack_ns < 0)
        || observation.delay_slack_ns.is_some_and(|slack| slack < 0)
}

fn of_rate(rate: Rate) -> Impairments {
    Impairments { rate: Some(rate), ..Impairments::default() }
}

fn constant(bit_s: u64) -> Rate {
    Rate::Constant(NonZeroU64::new(bit_s).expect("not 0"))
}

fn bucket(bit_s: u64, burst: u32) -> Rate {
    let burst = NonZeroU32::new(burst).expect("not 0");
    Rate::TokenBucket { rate: NonZeroU64::new(bit_s).expect("not 0"), burst }
}

/// An opportunity every so many ms.
fn every(ms: u32) -> Rate {
    let times: Vec<String> = (1..=20).map(|n| (n * ms).to_string()).collect();
    Rate::Trace(Arc::new(Trace::parse(times.join("\n").as_bytes()).expect("a trace")))
}

/// More packets at once than any queue here holds.
fn flood() -> impl Strategy<Value = Arrivals> {
    vec((0..1000_u64, 1000..=1500_u32), 50..200)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// For any rate, queue, jitter, order and changes, however late the caller looks.
    #[test]
    fn a_link_that_follows_its_description_is_never_accused(
        impairments in any_impairments(),
        changes in changes(),
        arrivals in arrivals(),
        looks in vec(option::of(prop_oneof![Just(0), 0..MS, 0..50 * MS]), 1..20),
    ) {
        let observation = Court::new(&impairments, &impairments, &changes).observe(&arrivals, &looks);
        prop_assert!(!accuses(&observation), "{observation:?}");
    }

    /// Every delivered packet is checked; only packets that reordering held back are skipped.
    #[test]
    fn no_packet_in_order_is_skipped(
        impairments in any_impairments(),
        changes in changes(),
        arrivals in arrivals(),
    ) {
        let impairments = Impairments { reordering: None, ..impairments };
        let observation = Court::new(&impairments, &impairments, &changes).observe(&arrivals, &[Some(0)]);
        prop_assert_eq!(observation.skipped, 0);
    }
}

proptest! {
    #[test]
    fn a_rate_5_percent_too_high_is_always_detected(
        bit_s in 10_000..1_000_000_000_u64,
        burst in 1500..20_000_u32,
        arrivals in flood(),
    ) {
        let faster = bit_s + bit_s / 20;
        for (does, says) in [(constant(faster), constant(bit_s)), (bucket(faster, burst), bucket(bit_s, burst))] {
            let observation = Court::new(&of_rate(does), &of_rate(says), &vec![]).observe(&arrivals, &[Some(0)]);
            prop_assert!(accuses(&observation), "{observation:?}");
        }
    }

    #[test]
    fn a_trace_that_is_5_percent_too_fast_is_always_noticed(ms in 1..50_u32, arrivals in flood()) {
        let (does, says) = (of_rate(every(20 * ms)), of_rate(every(21 * ms)));
        prop_assert!(accuses(&Court::new(&does, &says, &vec![]).observe(&arrivals, &[Some(0)])));
    }

    #[test]
    fn a_bucket_deeper_by_two_packets_is_always_detected(
        bit_s in 10_000..1_000_000_000_u64,
        burst in 1500..20_000_u32,
        arrivals in flood(),
    ) {
        let (does, says) = (of_rate(bucket(bit_s, burst + 3000)), of_rate(bucket(bit_s, burst)));
        prop_assert!(accuses(&Court::new(&does, &says, &vec![]).observe(&arrivals, &[Some(0)])));
    }

    #[test]
    fn a_rate_that_is_not_applied_is_always_noticed(bit_s in 10_000..1_000_000_000_u64, arrivals in flood()) {
        let says = of_rate(constant(bit_s));
        prop_assert!(accuses(&Court::new(&Impairments::default(), &says, &vec![]).observe(&arrivals, &[Some(0)])));
    }

    /// Also for a single packet.
    #[test]
    fn departures_ten_times_too_early_are_always_detected(
        bit_s in 10_000..100_000_000_u64,
        delay in 0..100 * MS,
        arrivals in vec((0..200_000_u64, 100..=1500_u32), 1..100),
    ) {
        let says = Impairments { delay, ..of_rate(constant(bit_s)) };
        let mut court = Court::new(&says, &says, &vec![]);
        court.forge = |departure| {
            let Departure { at, fate, packet } = departure;
            let (arrived, waited, serialised) = (packet.arrived / 10, packet.waited / 10, packet.serialised / 10);
            Departure { at: at / 10, fate, packet: Packet { arrived, waited, serialised, ..packet } }
        };
        prop_assert!(accuses(&court.observe(&arrivals, &[Some(0)])));
    }

    #[test]
    fn a_delay_that_is_10_percent_short_is_always_noticed(delay in 10..1000 * MS, arrivals in flood()) {
        let (does, says) = (
            Impairments { delay: delay - delay / 10, ..Impairments::default() },
            Impairments { delay, ..Impairments::default() },
        );
        prop_assert!(accuses(&Court::new(&does, &says, &vec![]).observe(&arrivals, &[Some(0)])));
    }

    /// The witness is told of a lower rate, which the link does not use.
    #[test]
    fn a_change_that_is_not_made_is_always_noticed(at in 0..5 * MS, arrivals in flood()) {
        let (does, says) = (of_rate(constant(20_000_000)), of_rate(constant(20_000_000)));
        let mut court = Court::new(&does, &says, &vec![]);
        court.witness.change(at, Change::Rate(NonZeroU64::new(19_000_000).expect("not 0")));
        prop_assert!(accuses(&court.observe(&arrivals, &[Some(0)])));
    }
}

/// 1250 bytes at 10 Mbit/s take 1 ms, and then 25 ms.
#[test]
fn the_tightest_window_is_the_longest_busy_period() {
    let link = Impairments { delay: 25 * MS, ..of_rate(constant(10_000_000)) };
    let arrivals = vec![(7 * MS, 1250), (5 * MS, 1250), (0, 1250), (0, 1250), (9 * MS, 100)];
    let observation = Court::new(&link, &link, &vec![]).observe(&arrivals, &[Some(0)]);
    assert_eq!(observation.window, Some(Window { slack_ns: 0, from: 12 * MS, to: 15 * MS, bytes: 3750 }));
    assert_eq!((observation.packets, observation.skipped, observation.delay_slack_ns), (5, 0, Some(0)));
    let quickest = observation.quickest.expect("packets");
    assert_eq!((quickest.took, quickest.bytes), (25 * MS + 80_000, 100));
}

/// The bucket is full at first: 3000 bytes leave at once, and the next 1000 after 1 ms.
#[test]
fn the_window_of_a_bucket_begins_when_the_bucket_was_full() {
    let link = of_rate(bucket(8_000_000, 3000));
    let observation =
        Court::new(&link, &link, &vec![]).observe(&vec![(MS, 1500), (0, 1500), (0, 1000)], &[Some(0)]);
    assert_eq!(observation.window, Some(Window { slack_ns: 0, from: MS, to: 2 * MS, bytes: 4000 }));
}

#[test]
fn without_a_rate_only_the_delay_is_checked() {
    let link = Impairments { delay: MS, ..Impairments::default() };
    let observation = Court::new(&link, &link, &vec![]).observe(&vec![(0, 1500)], &[Some(0)]);
    assert_eq!((observation.window, observation.delay_slack_ns), (None, Some(0)));
}
