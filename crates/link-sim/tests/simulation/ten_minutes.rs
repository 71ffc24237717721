//! Ten simulated minutes of traffic in a fraction of a second.

use std::num::NonZeroU64;

use link_model::{
    Chance, Impairments, Jitter, JitterShape, LossModel, Queue, QueueLimit, Rate, Reordering, Stream,
};
use link_sim::{Link, Nanos, Reflector, Schedule, Seed, Simulation, Sink, Source, Window, constant, poisson};

const S: Nanos = 1_000_000_000;
const MS: Nanos = 1_000_000;
const END: Nanos = 600 * S;

fn impairments(limit: QueueLimit, loss: Option<(f64, u64)>) -> Impairments {
    let loss = loss.map(|(probability, key)| LossModel::Bernoulli(Chance { probability, key }));
    let rate = Some(Rate::Constant(NonZeroU64::new(10_000_000).expect("not 0")));
    let queue = Queue { limit, ..Queue::default() };
    Impairments { loss, rate, queue, delay: 25 * MS, ..Impairments::default() }
}

fn at_10_mbit_s(limit: QueueLimit, loss: Option<(f64, u64)>) -> Link {
    Link::new(impairments(limit, loss))
}

/// 600 s at 10 Mbit/s carry exactly 500,000 packets of 1500 bytes, however many are offered.
#[test]
fn an_overloaded_link_delivers_its_rate() {
    let mut source = Source::new(constant(1500, MS, END));
    let mut link = at_10_mbit_s(QueueLimit::Packets(1000), None);
    let mut sink = Sink::default();
    Simulation::new(vec![&mut source, &mut link, &mut sink]).run(END + 25 * MS);
    let account = link.direction.account();
    assert_eq!(account.arrived.packets, 600_000);
    // The last of them is due exactly at the end of the run, which is exclusive.
    assert_eq!(sink.packets, 499_999);
    assert_eq!(link.direction.queue_packets_max(), 1000);
    // The worst case arrives when one of 1000 has just left: 999 packets before it, its own bits, and the delay.
    assert_eq!(sink.transit.max(), Some(1000 * 1_200_000 + 25 * MS));
}

/// A window over a round trip is the throughput, until the window fills the path (the bandwidth-delay product).
#[test]
fn a_window_gets_what_the_round_trip_allows() {
    for (window, expected_round_trip) in [(10, 51_241_600), (100, 120 * MS)] {
        let mut sender = Window::new(window, 1500);
        let mut there = at_10_mbit_s(QueueLimit::Packets(1000), None);
        let mut receiver = Reflector::new(52);
        let mut back = at_10_mbit_s(QueueLimit::Packets(1000), None);
        let nodes: Vec<&mut dyn link_sim::Node> = vec![&mut sender, &mut there, &mut receiver, &mut back];
        Simulation::new(nodes).run(END);
        // In the first round trip the window leaves as one burst; after it, packets come and go evenly.
        let steady = sender.round_trip.quantile(0.5).expect("packets returned");
        assert!(steady.abs_diff(expected_round_trip) * 1000 <= expected_round_trip * 2, "{steady}");
        let expected = window * END / expected_round_trip;
        assert!(
            sender.returned.abs_diff(expected) * 1000 <= expected * 2,
            "{} of {expected}",
            sender.returned
        );
    }
}

/// A queue with random arrivals at half load finds the link idle for half of the packets.
#[test]
fn random_arrivals_wait_as_queueing_theory_says() {
    let seed = Seed::choose();
    let gap = 2.0 * 1_200_000.0;
    let mut source = Source::new(poisson(1500, gap, END, Stream::new(seed.key(0))));
    let mut link = at_10_mbit_s(QueueLimit::Unlimited, None);
    let mut sink = Sink::default();
    Simulation::new(vec![&mut source, &mut link, &mut sink]).run(END + S);
    // 250,000 packets: the share that does not wait is known to well under 1 %.
    let waits = &link.direction.account().queue_delay;
    assert_eq!(waits.quantile(0.45), Some(0));
    assert!(waits.quantile(0.55) > Some(0));
    // 8 standard deviations of the Poisson count are 4,000: a false alarm once in 10^15 runs.
    assert!(sink.packets.abs_diff(250_000) < 4_000, "{}", sink.packets);
    assert_eq!(sink.packets, link.direction.account().arrived.packets);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let seed = Seed::choose();
    let run = || {
        let mut source = Source::new(poisson(1500, 1_100_000.0, 60 * S, Stream::new(seed.key(0))));
        let mut link = at_10_mbit_s(QueueLimit::Packets(50), Some((0.02, seed.key(1))));
        let mut sink = Sink::default();
        Simulation::new(vec![&mut source, &mut link, &mut sink]).run(61 * S);
        let account = link.direction.account();
        (
            sink.last,
            sink.bytes,
            account.dropped(link_model::Cause::Chance).numbers.clone(),
            account.dropped(link_model::Cause::Queue).numbers.clone(),
        )
    };
    assert_eq!(run(), run());
}

/// Loss in one direction does not change the other direction's losses.
#[test]
fn loss_in_one_direction_shifts_none_in_the_other() {
    let seed = Seed::choose();
    let losses_back = |loss_there: Option<(f64, u64)>| {
        let mut source = Source::new(constant(1500, 2 * MS, 60 * S));
        let mut there = at_10_mbit_s(QueueLimit::Packets(1000), loss_there);
        let mut receiver = Reflector::new(1500);
        let mut back = at_10_mbit_s(QueueLimit::Packets(1000), Some((0.02, seed.key(1))));
        let nodes: Vec<&mut dyn link_sim::Node> = vec![&mut source, &mut there, &mut receiver, &mut back];
        Simulation::new(nodes).run(61 * S);
        let account = back.direction.account();
        (account.dropped(link_model::Cause::Chance).numbers.clone(), account.arrived.packets)
    };
    let (without, _) = losses_back(None);
    let (with, arrived) = losses_back(Some((0.3, seed.key(0))));
    let expected: Vec<u64> = without.into_iter().filter(|number| *number < arrived).collect();
    assert_eq!(with, expected);
}

/// 300 s at 10 Mbit/s and 300 s at 2 Mbit/s carry exactly 250,000 and 50,000 packets, whenever the change comes:
/// the packet in service then continues at the new rate.
#[test]
fn a_step_down_in_the_rate_is_exact() {
    let mut source = Source::new(constant(1500, MS, END));
    let schedule = Schedule::default().rate(300 * S, 2_000_000);
    let mut link = Link::scheduled(impairments(QueueLimit::Packets(1000), None), &schedule);
    let mut sink = Sink::default();
    Simulation::new(vec![&mut source, &mut link, &mut sink]).run(END + 25 * MS);
    // The last of them is due exactly at the end of the run, which is exclusive.
    assert_eq!(sink.packets, 299_999);
}

/// Once a minute the link is down for a second, in which 500 packets arrive.
#[test]
fn a_link_that_flaps_drops_what_arrives_meanwhile() {
    let mut source = Source::new(constant(1500, 2 * MS, END));
    let schedule = Schedule::default().outage(30 * S, S).repeated(10, 60 * S);
    let mut link = Link::scheduled(impairments(QueueLimit::Unlimited, None), &schedule);
    let mut sink = Sink::default();
    Simulation::new(vec![&mut source, &mut link, &mut sink]).run(END + S);
    let account = link.direction.account();
    // A packet every 2 ms needs 1.2 ms, so none is in service when the link goes down.
    assert_eq!(account.dropped(link_model::Cause::Down).tally.packets, 10 * 500);
    assert_eq!(sink.packets, 300_000 - 10 * 500);
}

/// Every impairment at once, on an overloaded link, for ten minutes.
#[test]
fn all_packets_are_accounted_for_over_ten_minutes() {
    let seed = Seed::choose();
    let chance = |probability, purpose| Chance { probability, key: seed.key(purpose) };
    let mut source = Source::new(poisson(1500, 1_100_000.0, END, Stream::new(seed.key(0))));
    let mut link = Link::scheduled(
        Impairments {
            corruption: Some(chance(0.001, 2)),
            duplication: Some(chance(0.01, 3)),
            jitter: Some(Jitter { shape: JitterShape::Normal(2 * MS), key: seed.key(4) }),
            reordering: Some(Reordering { probability: 0.01, key: seed.key(5), hold: 10 * MS }),
            ..impairments(QueueLimit::Packets(100), Some((0.02, seed.key(1))))
        },
        &Schedule::default()
            .rate(20 * S, 5_000_000)
            .outage(40 * S, S)
            .rate(50 * S, 10_000_000)
            .repeated(10, 60 * S),
    );
    let mut sink = Sink::default();
    Simulation::new(vec![&mut source, &mut link, &mut sink]).run(END);
    let account = link.direction.account();
    let dropped = account.dropped(link_model::Cause::Chance).tally.packets
        + account.dropped(link_model::Cause::Queue).tally.packets
        + account.dropped(link_model::Cause::Down).tally.packets;
    let out = account.delivered.packets + dropped + link.direction.in_flight().packets;
    assert_eq!(account.arrived.packets + account.duplicated.packets, out);
    assert_eq!(sink.packets, account.delivered.packets);
    assert!(account.reordered.packets > 0);
}
