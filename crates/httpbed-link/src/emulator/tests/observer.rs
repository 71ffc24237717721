//! Packets that the kernel carries: arrivals and departures are counted, and nothing else is known.

use link_model::{Change, Nanos};
use serde_json::{Value, json};

use super::{MTU, Shared, arrival, frame};
use crate::capture::Capture;
use crate::config::{Config, Target};
use crate::emulator::{Emulator, Happening};
use crate::records::{Out, Records};

fn observing(triggers: &Value) -> Config {
    let link = json!({"name": "a", "hosts": ["c", "s"], "interfaces": ["l0a", "l0b"],
                      "directions": [{}, {}], "triggers": triggers});
    let whole = json!({"schema": 2, "mtu": MTU, "spin_us": 0, "backend": "observer", "links": [link]});
    Config::parse(&whole.to_string(), &|_| Err(String::new())).expect("valid")
}

fn comes(emulator: &mut Emulator, at: Nanos, length: usize) {
    let kept = emulator.arrive(0, arrival(at, frame(length)));
    assert!(kept.is_some(), "nothing is carried");
}

#[test]
fn arrivals_and_departures_count_since_the_start() {
    let mut emulator = Emulator::new(&observing(&json!([])), Records::default());
    comes(&mut emulator, 5, 100);
    emulator.leave(1, arrival(6, frame(100)));
    emulator.start(10);
    for at in [10, 11, 12] {
        comes(&mut emulator, at, 114);
    }
    emulator.leave(1, arrival(20, frame(114)));
    emulator.leave(1, arrival(21, frame(114)));
    let [up, down] = emulator.observed() else { panic!("two directions") };
    assert_eq!((up.arrived.packets, up.arrived.bytes), (3, 300));
    assert_eq!((up.delivered.packets, up.delivered.bytes), (2, 200));
    assert_eq!((up.first_arrival, up.last_delivery), (Some(10), Some(21)));
    assert_eq!(down.arrived.packets + down.delivered.packets, 0);
    assert_eq!(emulator.next_due(), None, "nothing is to be sent");
}

#[test]
fn packets_seen_leaving_start_no_second_connection() {
    let mut emulator = Emulator::new(&observing(&json!([])), Records::default());
    emulator.start(0);
    comes(&mut emulator, 1, 100);
    emulator.leave(1, arrival(2, frame(100)));
    let connections = emulator.connections().connections();
    assert_eq!(connections.len(), 1);
    assert_eq!((connections[0].1.from_client.packets, connections[0].1.from_server.packets), (1, 0));
}

#[test]
fn an_observers_events_come_from_packets_seen_leaving() {
    let half = json!([{"name": "half", "when": {"delivered_bytes": 150, "direction": 0}}]);
    let mut emulator = Emulator::new(&observing(&half), Records::default());
    emulator.start(0);
    for at in [1, 2, 3] {
        comes(&mut emulator, at, 114);
    }
    emulator.leave(1, arrival(7, frame(114)));
    assert_eq!(emulator.next_happening(), None);
    emulator.leave(1, arrival(9, frame(114)));
    assert_eq!(emulator.next_happening(), Some(Happening::Triggered { link: 0, trigger: 0, at: 9 }));
}

#[test]
fn unexpected_frames_are_counted_in_both_directions() {
    let mut emulator = Emulator::new(&observing(&json!([])), Records::default());
    emulator.start(0);
    emulator.arrive(0, arrival(1, frame(MTU + 15)));
    emulator.leave(1, arrival(2, frame(MTU + 15)));
    emulator.leave(1, arrival(3, vec![0; 60]));
    let oddities = emulator.oddities();
    assert_eq!((oddities.oversize, oddities.leaving), (2, 1));
    assert_eq!(emulator.observed()[0].delivered.packets, 0);
}

#[test]
fn an_observers_link_cannot_be_changed() {
    let mut emulator = Emulator::new(&observing(&json!([])), Records::default());
    let down = Target { direction: None, change: Change::Down };
    assert!(emulator.command(1, None, down).is_err_and(|reason| reason.contains("observer")));
}

#[test]
fn the_capture_contains_arriving_packets() {
    let file = Shared::default();
    let capture = Capture::begin(Box::new(file.clone()) as Out, ["c", "s"].into_iter()).expect("memory");
    let mut emulator = Emulator::new(&observing(&json!([])), Records::new(Some(capture), None));
    let before = file.0.borrow().len();
    emulator.start(0);
    comes(&mut emulator, 1, 100);
    emulator.leave(1, arrival(2, frame(100)));
    assert_eq!(file.0.borrow().len() - before, 32 + 100);
}
