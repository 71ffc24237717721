use std::collections::HashMap;

use proptest::prelude::*;
use wire::{Endpoint, Frame, Packet};

use super::{End, MAX_MAPPINGS, Nat, PORTS};

const CLIENT: [u8; 4] = [10, 0, 0, 1];
const SERVER: [u8; 4] = [10, 0, 0, 2];

/// A datagram without payload.
fn datagram(source: ([u8; 4], u16), destination: ([u8; 4], u16)) -> Vec<u8> {
    let mut frame = vec![0; 42];
    frame[12..18].copy_from_slice(&[8, 0, 0x45, 0, 0, 28]);
    frame[23] = 17;
    frame[26..30].copy_from_slice(&source.0);
    frame[30..34].copy_from_slice(&destination.0);
    frame[34..36].copy_from_slice(&source.1.to_be_bytes());
    frame[36..38].copy_from_slice(&destination.1.to_be_bytes());
    frame[39] = 8;
    frame
}

fn packet(frame: &[u8]) -> Packet<'_> {
    let Frame::Ip(packet) = Frame::parse(frame) else { panic!("{frame:02x?}") };
    packet
}

fn end(frame: &[u8], end: End) -> Endpoint {
    packet(frame).endpoint(end).expect("ports")
}

/// The port from which the second host hears a client's `port` at `at`.
fn outside(nat: &mut Nat, at: u64, port: u16) -> u16 {
    let mut frame = datagram((CLIENT, port), (SERVER, 443));
    nat.translate(at, &mut frame);
    assert_eq!(end(&frame, End::Destination).port, 443);
    end(&frame, End::Source).port
}

/// The client's port that gets an answer sent to `port`, if any.
fn inside(nat: &Nat, port: u16) -> Option<u16> {
    let mut frame = datagram((SERVER, 443), (CLIENT, port));
    let wanted = nat.translate_back(&mut frame);
    assert_eq!(end(&frame, End::Source).port, 443);
    wanted.then(|| end(&frame, End::Destination).port)
}

fn rebind(nat: &mut Nat, at: u64) {
    (0..2).for_each(|side| nat.forget(side, at));
}

#[test]
fn ports_are_preserved_at_first_and_other_ports_are_refused() {
    let mut nat = Nat::new();
    assert_eq!(inside(&nat, 40_000), None);
    assert_eq!(outside(&mut nat, 5, 40_000), 40_000);
    assert_eq!((inside(&nat, 40_000), inside(&nat, 40_001)), (Some(40_000), None));
}

#[test]
fn after_a_rebinding_a_flow_has_a_new_port_and_the_old_port_reaches_no_flow() {
    let mut nat = Nat::new();
    outside(&mut nat, 5, 40_000);
    rebind(&mut nat, 10);
    assert_eq!(inside(&nat, 40_000), None, "nothing was sent since");
    assert_eq!(outside(&mut nat, 9, 40_000), 40_000, "it was there before");
    let second = outside(&mut nat, 10, 40_000);
    assert!(PORTS.contains(&second));
    assert_eq!(outside(&mut nat, 11, 40_000), second);
    assert_eq!((inside(&nat, second), inside(&nat, 40_000)), (Some(40_000), None));
    rebind(&mut nat, 20);
    let third = outside(&mut nat, 20, 40_000);
    assert!(third != second && third != 40_000);
    assert_eq!((inside(&nat, third), inside(&nat, second)), (Some(40_000), None));
}

#[test]
fn a_mapping_belongs_to_an_address_a_port_and_a_protocol() {
    let mut nat = Nat::new();
    rebind(&mut nat, 0);
    let first = outside(&mut nat, 1, 40_000);
    let mut elsewhere = datagram((CLIENT, 40_000), ([10, 0, 9, 9], 53));
    nat.translate(2, &mut elsewhere);
    assert_eq!(end(&elsewhere, End::Source).port, first, "whomever it talks to");
    assert_ne!(outside(&mut nat, 3, 40_001), first);
    let mut neighbour = datagram(([10, 0, 0, 7], 40_000), (SERVER, 443));
    nat.translate(4, &mut neighbour);
    let known = end(&neighbour, End::Source);
    let mut answer = datagram((SERVER, 443), ([10, 0, 0, 7], known.port));
    assert!(nat.translate_back(&mut answer));
    assert_eq!(end(&answer, End::Destination).port, 40_000);
    let mut stranger = datagram((SERVER, 443), ([10, 0, 0, 8], known.port));
    assert!(!nat.translate_back(&mut stranger));
}

#[test]
fn frames_without_ports_pass_unchanged() {
    let mut nat = Nat::new();
    rebind(&mut nat, 0);
    let mut ping = datagram((CLIENT, 0x0800), (SERVER, 0));
    ping[23] = 1;
    let mut fragment = datagram((CLIENT, 40_000), (SERVER, 443));
    fragment[21] = 9;
    for mut frame in [ping, fragment, vec![], vec![0; 60]] {
        let before = frame.clone();
        nat.translate(5, &mut frame);
        assert!(nat.translate_back(&mut frame));
        assert_eq!(frame, before);
    }
}

#[test]
fn beyond_the_limit_the_oldest_mapping_is_removed() {
    let mut nat = Nat::new();
    rebind(&mut nat, 0);
    let most = u16::try_from(MAX_MAPPINGS).expect("16 bits");
    let first = outside(&mut nat, 1, 40_000);
    for port in 0..most - 1 {
        outside(&mut nat, 1, port);
    }
    assert_eq!(inside(&nat, first), Some(40_000));
    outside(&mut nat, 1, most);
    assert_eq!(inside(&nat, first), None);
    assert_eq!(
        (nat.inward.len(), nat.outward.len(), nat.order.len()),
        (MAX_MAPPINGS, MAX_MAPPINGS, MAX_MAPPINGS)
    );
    let again = outside(&mut nat, 1, 40_000);
    assert_eq!(inside(&nat, again), Some(40_000));
}

proptest! {
    /// For any senders and rebindings: an answer reaches the flow that sent since the last rebinding, at a port
    /// that no other flow ever had.
    #[test]
    fn answers_find_their_way(steps in prop::collection::vec((0..12_u16, prop::bool::weighted(0.2)), 1..200)) {
        let mut nat = Nat::new();
        let mut heard = HashMap::new();
        let mut gone = Vec::new();
        for (at, (client, rebinds)) in steps.into_iter().enumerate() {
            if rebinds {
                rebind(&mut nat, at as u64);
                gone.extend(heard.drain().map(|(_, port)| port));
            }
            // Some from the range of the translator's own ports.
            let client = PORTS.start + client * 3_000;
            let port = outside(&mut nat, at as u64, client);
            prop_assert_eq!(*heard.entry(client).or_insert(port), port);
            prop_assert!(!gone.contains(&port));
            for (client, port) in &heard {
                prop_assert_eq!(inside(&nat, *port), Some(*client));
            }
            for port in &gone {
                prop_assert!(heard.values().any(|known| known == port) || inside(&nat, *port).is_none());
            }
        }
    }
}
