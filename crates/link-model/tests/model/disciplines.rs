//! Queue disciplines: every decision against a second, event-driven implementation of the RFCs' pseudo-code
//! (`reference/`), and the properties for which they are known.

use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use crate::driver::{Arrival, Caller, MS, any_limit, arrivals, bit_s, by_number, delivered, run};
use crate::reference;
use link_model::{
    Bottleneck, Cause, CoDel, Departure, Discipline, Ecn, Fate, FqCoDel, Nanos, Pie, Queue, QueueLimit, Rate,
};
use proptest::prelude::*;

fn count(n: u32) -> NonZeroU32 {
    NonZeroU32::new(n).expect("not 0")
}

prop_compose! {
    /// Short targets and intervals, so that a few hundred packets go through all states.
    fn codel()(target in 0..20 * MS, interval in MS..60 * MS, ecn in any::<bool>()) -> CoDel {
        CoDel { target, interval, ecn }
    }
}

prop_compose! {
    fn pie()(target in MS..20 * MS, update in MS..20 * MS, ecn in any::<bool>(), key in any::<u64>()) -> Pie {
        Pie { target, update, ecn, key }
    }
}

fn discipline() -> impl Strategy<Value = Discipline> {
    prop_oneof![
        Just(Discipline::DropTail),
        codel().prop_map(Discipline::CoDel),
        (codel(), 1..20_u32, 100..3000_u32).prop_map(|(codel, flows, quantum)| {
            Discipline::FqCoDel(FqCoDel { codel, flows: count(flows), quantum: count(quantum) })
        }),
        pie().prop_map(Discipline::Pie),
    ]
}

/// Rates at which arrivals of the strategy overload the link somewhat.
fn busy_rate() -> impl Strategy<Value = NonZeroU64> {
    (500_000..60_000_000_u64).prop_map(bit_s)
}

fn outcome(left: Vec<Departure<()>>) -> reference::Outcome {
    let each = |departure: Departure<()>| {
        let Departure { at, fate, packet } = departure;
        (packet.number.expect("numbered"), at, fate, packet.ecn)
    };
    by_number(left).into_iter().map(each).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_decision_matches_the_pseudo_code(
        rate in busy_rate(),
        discipline in discipline(),
        limit in any_limit(),
        arrivals in arrivals(),
        lazy in any::<bool>(),
    ) {
        let queue = Queue { discipline, limit };
        let caller = if lazy { Caller::Lazy } else { Caller::Punctual };
        let left = run(&mut Bottleneck::new(Rate::Constant(rate), queue), &arrivals, &caller);
        prop_assert_eq!(outcome(left), reference::simulate(rate.get(), queue, &arrivals));
    }
}

/// This many packets of 1500 bytes, one every `gap`, of one flow.
fn steady(packets: u64, gap: Nanos, flow: u64, ecn: Ecn) -> Vec<Arrival> {
    (0..packets).map(|n| Arrival { at: n * gap, bytes: 1500, flow, ecn }).collect()
}

/// 1500 bytes take 1 ms.
const RATE: u64 = 12_000_000;

fn pass(discipline: Discipline, arrivals: &[Arrival]) -> Vec<Departure<()>> {
    let queue = Queue { discipline, limit: QueueLimit::Unlimited };
    run(&mut Bottleneck::new(Rate::Constant(bit_s(RATE)), queue), arrivals, &Caller::Punctual)
}

const CODEL: CoDel = CoDel { target: 5 * MS, interval: 100 * MS, ecn: false };

fn aqm_drops(left: &[Departure<()>]) -> Vec<Nanos> {
    let drops = left.iter().filter(|departure| departure.fate == Fate::Dropped(Cause::Aqm));
    drops.map(|departure| departure.at).collect()
}

/// At twice the rate drop n + 1 is due an interval divided by the root of n after drop n was due. It is made when
/// the server begins with the next packet, within a packet's 1 ms.
#[test]
fn codel_drops_by_its_control_law() {
    let drops = aqm_drops(&pass(Discipline::CoDel(CODEL), &steady(8000, MS / 2, 1, Ecn::NotCapable)));
    // The packet that waits 5 ms crosses the target; an interval later the first one is dropped.
    assert_eq!(drops[0], 10 * MS + 100 * MS);
    let mut due = Duration::from_nanos(drops[0]);
    for (n, drop) in (1_u32..).zip(&drops[1..40]) {
        due += Duration::from_millis(100).div_f64(f64::from(n).sqrt());
        // A nanosecond for what the model has rounded down by then.
        let late = Duration::from_nanos(*drop + u64::from(n)).checked_sub(due);
        assert!(
            late.is_some_and(|late| late <= Duration::from_millis(1)),
            "drop {n}: {drop}, due at {due:?}"
        );
    }
}

#[test]
fn codel_does_not_drop_from_a_good_queue() {
    // A burst every half interval, worth 30 ms, which is sent before the next one: no standing queue.
    let bursts: Vec<Arrival> = (0..200)
        .flat_map(|n| vec![Arrival { at: n * 50 * MS, bytes: 1500, flow: 1, ecn: Ecn::NotCapable }; 30])
        .collect();
    assert_eq!(aqm_drops(&pass(Discipline::CoDel(CODEL), &bursts)), []);
}

#[test]
fn codel_marks_ecn_capable_packets_instead_of_dropping() {
    let marking = Discipline::CoDel(CoDel { ecn: true, ..CODEL });
    let left = pass(marking, &steady(4000, MS / 2, 1, Ecn::Capable));
    assert_eq!(aqm_drops(&left), []);
    let marked = left.iter().filter(|departure| departure.packet.ecn == Ecn::Ce).count();
    assert!(marked > 20, "{marked}");
    assert!(aqm_drops(&pass(marking, &steady(4000, MS / 2, 1, Ecn::NotCapable))).len() > 20);
    let unmarked = pass(Discipline::CoDel(CODEL), &steady(4000, MS / 2, 1, Ecn::Capable));
    assert!(unmarked.iter().all(|departure| departure.packet.ecn == Ecn::Capable));
}

fn fq_codel() -> Discipline {
    Discipline::FqCoDel(FqCoDel { codel: CODEL, flows: count(1024), quantum: count(1514) })
}

fn merged(flows: &[Vec<Arrival>]) -> Vec<Arrival> {
    let mut all = flows.concat();
    all.sort_by_key(|arrival| arrival.at);
    all
}

/// Two flows, one at twice the rate and one at the rate, get half of it each.
#[test]
fn fq_codel_shares_the_rate_equally() {
    let flows = [steady(6000, MS / 2, 1, Ecn::NotCapable), steady(3000, MS, 2, Ecn::NotCapable)];
    let left = pass(fq_codel(), &merged(&flows));
    let first = delivered(&left).filter(|departure| (500 * MS..2500 * MS).contains(&departure.at));
    let (one, other): (Vec<_>, Vec<_>) = first.partition(|departure| departure.packet.flow == 1);
    assert!(one.len().abs_diff(other.len()) <= 2, "{} and {}", one.len(), other.len());
}

/// A flow with a packet every 20 ms is new each time, and waits only for the packet in service.
#[test]
fn fq_codel_isolates_a_sparse_flow() {
    let later = |arrival: &Arrival| Arrival { at: arrival.at + 100 * MS, ..*arrival };
    let sparse: Vec<Arrival> = steady(100, 20 * MS + 1, 3, Ecn::NotCapable).iter().map(later).collect();
    let flows = [steady(6000, MS / 2, 1, Ecn::NotCapable), steady(6000, MS / 2, 2, Ecn::NotCapable), sparse];
    let left = pass(fq_codel(), &merged(&flows));
    let sparse: Vec<Nanos> =
        delivered(&left).filter(|left| left.packet.flow == 3).map(|left| left.packet.waited).collect();
    assert_eq!(sparse.len(), 100);
    assert!(sparse.iter().all(|waited| *waited <= MS), "{sparse:?}");
}

/// An overflow drops half the bytes of the flow with the most bytes at once.
#[test]
fn fq_codel_drops_from_the_head_of_the_fattest_queue() {
    let queue = Queue { discipline: fq_codel(), limit: QueueLimit::Packets(101) };
    let fat = vec![Arrival { at: 0, bytes: 1500, flow: 1, ecn: Ecn::NotCapable }; 100];
    let thin = vec![Arrival { at: 1, bytes: 1500, flow: 2, ecn: Ecn::NotCapable }; 2];
    let arrivals = [fat, thin].concat();
    let left = run(&mut Bottleneck::new(Rate::Constant(bit_s(RATE)), queue), &arrivals, &Caller::Punctual);
    let dropped: Vec<u64> = left
        .iter()
        .filter(|departure| departure.fate == Fate::Dropped(Cause::Queue))
        .map(|departure| departure.packet.number.expect("numbered"))
        .collect();
    // Packet 0 is in service; of the 99 that wait, 49.5 packets' worth of bytes are dropped.
    assert_eq!(dropped, (1..=50).collect::<Vec<u64>>());
}

const PIE: Pie = Pie { target: 15 * MS, update: 15 * MS, ecn: false, key: 7 };

/// A load of 1.25 that does not react to drops: a fifth must be dropped, and the delay is the target.
#[test]
fn pie_converges_to_the_necessary_drop_share() {
    let packets = 100_000_u32;
    let left = pass(Discipline::Pie(PIE), &steady(packets.into(), MS * 4 / 5, 1, Ecn::NotCapable));
    let late =
        |departure: &&Departure<()>| departure.packet.number.expect("numbered") > u64::from(packets / 2);
    let dropped = left.iter().filter(late).filter(|left| left.fate == Fate::Dropped(Cause::Aqm)).count();
    let share = f64::from(u32::try_from(dropped).expect("small")) / f64::from(packets / 2);
    assert!((share - 0.2).abs() < 0.01, "{share}");
    let waits: Vec<Nanos> = delivered(&left).filter(late).map(|left| left.packet.waited).collect();
    let mean = waits.iter().sum::<Nanos>() / waits.len() as u64;
    assert!((12 * MS..18 * MS).contains(&mean), "{mean}");
}

#[test]
fn pie_lets_a_burst_pass() {
    // 140 ms of delay at once, from nothing.
    let burst = vec![Arrival { at: MS, bytes: 1500, flow: 1, ecn: Ecn::NotCapable }; 140];
    assert_eq!(aqm_drops(&pass(Discipline::Pie(PIE), &burst)), []);
}

/// After congestion the probability falls to 0, even if no caller looks for hours.
#[test]
fn pie_forgets() {
    let queue = Queue { discipline: Discipline::Pie(PIE), limit: QueueLimit::Packets(100) };
    let mut bottleneck = Bottleneck::new(Rate::Constant(bit_s(RATE)), queue);
    run(&mut bottleneck, &steady(10_000, MS / 2, 1, Ecn::NotCapable), &Caller::Punctual);
    assert!(bottleneck.drop_probability().expect("PIE") > 0.3);
    let hours_later = Arrival { at: 100_000_000 * MS, bytes: 1500, flow: 1, ecn: Ecn::NotCapable };
    run(&mut bottleneck, &[hours_later], &Caller::Punctual);
    assert_eq!(bottleneck.drop_probability(), Some(0.0));
}

#[test]
fn pie_marks_while_the_probability_is_small() {
    let marking = Discipline::Pie(Pie { ecn: true, ..PIE });
    let left = pass(marking, &steady(20_000, MS * 19 / 20, 1, Ecn::Capable));
    assert!(left.iter().filter(|departure| departure.packet.ecn == Ecn::Ce).count() > 100);
    // 5 % too much, and the sender ignores the marks: above 10 % the packets are dropped.
    assert!(aqm_drops(&left).len() > 100);
}
