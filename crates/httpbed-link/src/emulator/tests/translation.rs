//! A network address translator at the second host's end of a link.

use link_model::Change;
use proptest::prelude::*;
use serde_json::{Value, json};
use wire::{End, Frame};

use super::properties::conserved;
use super::{Shared, arrival, config, frame, happenings, leaving, link, run};
use crate::capture::Capture;
use crate::config::Target;
use crate::emulator::{Emulator, Happening};
use crate::log::PacketLog;
use crate::records::{Out, Records};

const PORT: u16 = 40_000;
const REBIND: Target = Target { direction: None, change: Change::Rebind };

/// A datagram of 86 bytes from the client's port to 443.
fn forth(port: u16) -> Vec<u8> {
    let mut sent = frame(100);
    sent[34..36].copy_from_slice(&port.to_be_bytes());
    sent[36..38].copy_from_slice(&443_u16.to_be_bytes());
    sent
}

/// Its answer.
fn back(port: u16) -> Vec<u8> {
    let mut sent = frame(100);
    sent[26..34].copy_from_slice(&[10, 0, 0, 2, 10, 0, 0, 1]);
    sent[34..36].copy_from_slice(&443_u16.to_be_bytes());
    sent[36..38].copy_from_slice(&port.to_be_bytes());
    sent
}

fn port(frame: &[u8], end: End) -> u16 {
    let Frame::Ip(packet) = Frame::parse(frame) else { panic!("{frame:02x?}") };
    packet.endpoint(end).expect("UDP").port
}

fn translated(direction: &Value, more: &Value) -> Emulator {
    let mut of_link = json!({"nat": true});
    more.as_object().expect("an object").iter().for_each(|(key, value)| of_link[key] = value.clone());
    let mut emulator = Emulator::new(&config(&link(direction, &of_link)), Records::default());
    emulator.start(0);
    emulator
}

/// The ports from which the second host hears what is delivered to it by `now`.
fn heard(emulator: &mut Emulator, now: u64) -> Vec<u16> {
    leaving(emulator, 0, now).1.iter().map(|frame| port(frame, End::Source)).collect()
}

/// Sends an answer at `at`; returns the client's port that gets it.
fn answered(emulator: &mut Emulator, at: u64, to: u16) -> Option<u16> {
    assert!(emulator.arrive(1, arrival(at, back(to))).is_none());
    leaving(emulator, 1, at).1.first().map(|frame| port(frame, End::Destination))
}

#[test]
fn before_a_rebinding_frames_are_unchanged() {
    let mut emulator = translated(&json!({}), &json!({}));
    emulator.arrive(0, arrival(5, forth(PORT)));
    assert_eq!(leaving(&mut emulator, 0, 5).1, [forth(PORT)]);
    emulator.arrive(1, arrival(6, back(PORT)));
    assert_eq!(leaving(&mut emulator, 1, 6).1, [back(PORT)]);
}

#[test]
fn after_a_rebinding_only_the_new_port_is_answered() {
    let mut emulator = translated(&json!({}), &json!({}));
    emulator.arrive(0, arrival(5, forth(PORT)));
    assert_eq!(heard(&mut emulator, 5), [PORT]);
    emulator.command(10, Some("a"), REBIND).expect("it has a NAT");
    assert_eq!(answered(&mut emulator, 11, PORT), None);
    emulator.arrive(0, arrival(12, forth(PORT)));
    let [new] = heard(&mut emulator, 12)[..] else { panic!("one packet") };
    assert_ne!(new, PORT);
    assert_eq!((answered(&mut emulator, 13, PORT), answered(&mut emulator, 14, new)), (None, Some(PORT)));
    let account = emulator.directions()[1].account();
    assert_eq!(
        (
            &account.dropped(link_model::Cause::Nat).numbers[..],
            account.dropped(link_model::Cause::Nat).tally.bytes
        ),
        (&[0, 1][..], 172)
    );
    conserved(&emulator);
    let summary: Vec<_> = emulator.changes().iter().map(|made| (made.at, made.side, made.change)).collect();
    assert_eq!(summary, [(10, 0, Change::Rebind), (10, 1, Change::Rebind)]);
}

/// One connection on this link, because its client has noticed nothing; two on the next.
#[test]
fn the_link_sees_the_clients_port_and_the_next_link_the_new_one() {
    let mut links = link(&json!({}), &json!({"nat": true}));
    let next =
        json!({"name": "b", "hosts": ["r", "s"], "interfaces": ["l1a", "l1b"], "directions": [{}, {}]});
    links.as_array_mut().expect("a list").push(next);
    let mut emulator = Emulator::new(&config(&links), Records::default());
    emulator.start(0);
    for at in [10, 30] {
        emulator.arrive(0, arrival(at, forth(PORT)));
        let routed = leaving(&mut emulator, 0, at).1.remove(0);
        let answer = back(port(&routed, End::Source));
        emulator.arrive(2, arrival(at + 1, routed));
        emulator.arrive(3, arrival(at + 2, answer));
        let routed = leaving(&mut emulator, 3, at + 2).1.remove(0);
        emulator.arrive(1, arrival(at + 3, routed));
        assert_eq!(leaving(&mut emulator, 1, at + 3).1, [back(PORT)]);
        emulator.command(at + 5, Some("a"), REBIND).expect("it has a NAT");
    }
    // No mapping has the port: the answer is no packet of the server and no new connection.
    emulator.arrive(1, arrival(40, back(PORT)));
    let seen = emulator.connections().connections();
    let summary: Vec<_> =
        seen.iter().map(|(link, of)| (*link, of.from_client.packets, of.from_server.packets)).collect();
    assert_eq!(summary, [(0, 2, 2), (1, 1, 1), (1, 1, 1)]);
    assert_eq!((seen[0].1.client.port(), seen[1].1.client.port()), (PORT, PORT));
    assert_ne!(seen[2].1.client.port(), PORT);
}

/// The packet is delivered at 100 and the translator forgets at 95: it was sent before but comes from the new port.
#[test]
fn packets_in_flight_meet_the_mappings_at_their_delivery() {
    let schedule = json!({"schedule": [{"at_ns": 195, "change": {"rebind": true}}]});
    let mut emulator = translated(&json!({"delay_ns": 100}), &schedule);
    for at in [94, 95, 96] {
        emulator.arrive(0, arrival(at, forth(PORT)));
    }
    let ports = heard(&mut emulator, 500);
    assert_eq!(ports[0], PORT);
    assert!(ports[1] != PORT && ports[1] == ports[2], "{ports:?}");
}

#[test]
fn a_trigger_rebinds_too() {
    let triggers = json!({"triggers": [
        {"name": "two", "when": {"delivered_bytes": 172, "direction": 0}, "after_ns": 5, "change": {"rebind": true}},
        {"name": "word", "when": {"first_packet": true, "direction": 1}},
    ]});
    let mut emulator = translated(&json!({}), &triggers);
    assert_eq!(answered(&mut emulator, 1, PORT), None);
    for at in [10, 20, 24] {
        emulator.arrive(0, arrival(at, forth(PORT)));
        assert_eq!(heard(&mut emulator, at), [PORT]);
    }
    emulator.arrive(0, arrival(25, forth(PORT)));
    assert_ne!(heard(&mut emulator, 25), [PORT]);
    let fired: Vec<_> = happenings(&mut emulator)
        .into_iter()
        .filter(|happening| matches!(happening, Happening::Triggered { .. }))
        .collect();
    assert_eq!(
        fired,
        [Happening::Triggered { link: 0, trigger: 0, at: 20 }],
        "no word of who was turned away"
    );
}

#[test]
fn damage_is_done_before_the_port_is_read() {
    let mut emulator = translated(&json!({"corruption": {"probability": 1, "key": "5"}}), &json!({}));
    emulator.command(0, None, REBIND).expect("it has a NAT");
    emulator.arrive(0, arrival(1, forth(PORT)));
    let frames = leaving(&mut emulator, 0, 1).1;
    let differing: u32 = (36..100).map(|place| (frames[0][place] ^ forth(PORT)[place]).count_ones()).sum();
    // A flipped bit in the port itself makes it another port.
    assert!(differing <= 1 && port(&frames[0], End::Source) != PORT);
}

#[test]
fn a_rebinding_without_a_nat_is_refused() {
    let mut plain = super::delayed();
    let message = plain.command(0, None, REBIND).expect_err("there is none");
    assert_eq!(message, "link \"a\": the link has no NAT to rebind: give it \"nat\": true");
    let one = Target { direction: Some(1), ..REBIND };
    let message = translated(&json!({}), &json!({})).command(0, None, one).expect_err("it is of both");
    assert!(message.contains("leave the direction out"), "{message}");
}

#[test]
fn capture_and_log_name_refused_packets() {
    let [captured, logged] = [Shared::default(), Shared::default()];
    let capture = Capture::begin(Box::new(captured.clone()) as Out, ["c", "s"].into_iter()).expect("memory");
    let log = PacketLog::begin(Box::new(logged.clone()) as Out).expect("memory");
    let whole = config(&link(&json!({}), &json!({"nat": true})));
    let mut emulator = Emulator::new(&whole, Records::new(Some(capture), Some(log)));
    assert_eq!(answered(&mut emulator, 0, PORT), None, "and the idle phase is not recorded");
    emulator.start(1);
    assert_eq!(answered(&mut emulator, 5, PORT), None);
    emulator.finish().expect("memory");
    let text = String::from_utf8(logged.0.borrow().clone()).expect("text");
    assert_eq!(text.lines().skip(1).collect::<Vec<_>>(), ["4\t-\t86\t1\t0\tnat"]);
    let comment = b"dropped: no mapping";
    let written = captured.0.borrow().clone();
    assert_eq!(written.windows(comment.len()).filter(|window| window == comment).count(), 1);
}

proptest! {
    /// The same packets have the same ports and fates however late the loop looks, and all are accounted for.
    #[test]
    fn lateness_changes_no_mapping(
        packets in prop::collection::vec((0..400_000_u64, 0..3_u16, any::<bool>()), 1..80), every in 1..20_usize,
        rebindings in prop::collection::btree_set(0..15_000_000_u64, 0..4),
    ) {
        let impaired = json!({
            "loss": {"model": "bernoulli", "probability": 0.2, "key": "9"},
            "duplication": {"probability": 0.2, "key": "4"}, "delay_ns": 300_000,
            "rate": {"model": "constant", "bit_s": 10_000_000},
        });
        let schedule: Value =
            rebindings.iter().map(|at| json!({"at_ns": at, "change": {"rebind": true}})).collect();
        let config = config(&link(&impaired, &json!({"nat": true, "schedule": schedule})));
        let take = |every: usize| {
            let mut emulator = Emulator::new(&config, Records::default());
            emulator.start(0);
            let (mut now, mut left) = (0, Vec::new());
            for (n, (gap, port, answers)) in packets.iter().enumerate() {
                now += gap;
                if n % every == 0 {
                    left.extend(leaving(&mut emulator, 0, now.saturating_sub(1)).1);
                }
                // The port after a rebinding is unknown here, so some of these are refused and some are not.
                let (interface, frame) = if *answers { (1, back(PORT + port)) } else { (0, forth(PORT + port)) };
                emulator.arrive(interface, arrival(now, frame));
            }
            left.extend(leaving(&mut emulator, 0, u64::MAX / 2).1);
            run(&mut emulator, u64::MAX / 2);
            conserved(&emulator);
            left
        };
        prop_assert_eq!(take(1), take(every));
    }
}
