//! Ten simulated minutes of traffic, in the time of a blink.

use std::num::NonZeroU64;

use link_model::{Impairments, QueueLimit, Stream};
use link_sim::{Link, Nanos, Reflector, Seed, Simulation, Sink, Source, Window, constant, poisson};

const S: Nanos = 1_000_000_000;
const MS: Nanos = 1_000_000;
const END: Nanos = 600 * S;

fn at_10_mbit_s(limit: QueueLimit, loss: Option<(f64, u64)>) -> Link {
    let rate = NonZeroU64::new(10_000_000).expect("not 0");
    Link::new(Impairments { loss, bottleneck: Some((rate, limit)), delay: 25 * MS })
}

/// 600 s at 10 Mbit/s carry exactly 500,000 packets of 1500 bytes, however much is offered.
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
    // The worst case arrives when one of 1000 has just left: 999 before it, its own bits, and the delay.
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
        (sink.last, sink.bytes, account.lost_numbers.clone(), account.queue_dropped_numbers.clone())
    };
    assert_eq!(run(), run());
}

/// Loss of one direction switched on: the other direction's losses stay where they were.
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
        (account.lost_numbers.clone(), account.arrived.packets)
    };
    let (without, _) = losses_back(None);
    let (with, arrived) = losses_back(Some((0.3, seed.key(0))));
    let expected: Vec<u64> = without.into_iter().filter(|number| *number < arrived).collect();
    assert_eq!(with, expected);
}
