//! Several links in one emulator: each records only its own packets.

use serde_json::{Value, json};

use super::{Arrival, Emulator, Happening, Shared, arrival, config, frame, happenings, run};
use crate::log::PacketLog;
use crate::records::{Out, Records};

/// A chain of two links, each with a trigger for 50 bytes delivered towards its second host.
fn chain() -> Value {
    let when = json!([{"name": "half", "when": {"delivered_bytes": 50, "direction": 0},
                       "change": {"delay_ns": 7}}]);
    let link = |name: &str, hosts: [&str; 2], number: usize| {
        let interfaces = [format!("l{number}a"), format!("l{number}b")];
        json!({"name": name, "hosts": hosts, "interfaces": interfaces,
               "directions": [{"delay_ns": 100}, {}], "triggers": when})
    };
    json!([link("near", ["c", "r"], 0), link("far", ["r", "s"], 1)])
}

/// A packet on the router's second interface: the first link's output continues.
fn forwarded(at: u64) -> Arrival {
    arrival(at, frame(100))
}

#[test]
fn a_connection_is_seen_on_each_link_that_it_crosses() {
    let mut emulator = Emulator::new(&config(&chain()), Records::default());
    emulator.start(0);
    emulator.arrive(0, arrival(10, frame(100)));
    assert_eq!(run(&mut emulator, 200), [(110, 0)]);
    emulator.arrive(2, forwarded(115));
    assert_eq!(run(&mut emulator, 300), [(215, 2)]);
    let seen: Vec<_> = emulator.connections().connections().iter().collect();
    let firsts: Vec<_> = seen.iter().map(|(link, one)| (*link, one.from_client.first)).collect();
    assert_eq!(firsts, [(0, Some(10)), (1, Some(115))]);
    assert_eq!(seen[0].1.client, seen[1].1.client);
}

#[test]
fn a_delivery_fires_only_triggers_of_its_own_link() {
    let mut emulator = Emulator::new(&config(&chain()), Records::default());
    emulator.start(0);
    emulator.arrive(0, arrival(10, frame(100)));
    run(&mut emulator, 200);
    let fired: Vec<_> = happenings(&mut emulator)
        .into_iter()
        .filter_map(|happening| match happening {
            Happening::Triggered { link, .. } => Some(link),
            _ => None,
        })
        .collect();
    assert_eq!(fired, [0]);
    assert!(emulator.changes().iter().all(|change| change.link == 0));
    emulator.arrive(2, forwarded(300));
    assert_eq!(run(&mut emulator, 1000), [(400, 2)]);
}

#[test]
fn each_direction_counts_and_logs_its_own_packets() {
    let file = Shared::default();
    let log = PacketLog::begin(Box::new(file.clone()) as Out).expect("memory");
    let mut emulator = Emulator::new(&config(&chain()), Records::new(None, Some(log)));
    emulator.start(0);
    for (interface, at) in [(0, 10), (2, 20), (2, 30), (3, 40)] {
        emulator.arrive(interface, arrival(at, frame(100)));
    }
    run(&mut emulator, 1000);
    emulator.finish().expect("memory");
    let arrived: Vec<_> =
        emulator.directions().iter().map(|direction| direction.account().arrived.packets).collect();
    assert_eq!(arrived, [1, 0, 2, 1]);
    let text = String::from_utf8(file.0.borrow().clone()).expect("text");
    let mut places: Vec<_> = text
        .lines()
        .skip(1)
        .map(|line| line.split('\t').skip(3).take(2).collect::<Vec<_>>().join(" "))
        .collect();
    places.sort_unstable();
    assert_eq!(places, ["0 0", "2 0", "2 1", "3 0"]);
}
