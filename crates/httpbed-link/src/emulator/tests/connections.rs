use serde_json::json;

use super::{arrival, config, run};
use crate::emulator::Emulator;
use crate::records::Records;

const SYN: u8 = 0x02;
const ACK: u8 = 0x10;

/// A TCP segment between 10.0.0.1 and 10.0.0.2, from the client or back.
fn segment(from_client: bool, numbers: (u32, u32), flags: u8, payload: usize) -> Vec<u8> {
    let mut frame = vec![0; 14 + 20 + 20 + payload];
    let total = u16::try_from(40 + payload).expect("small").to_be_bytes();
    frame[12..18].copy_from_slice(&[8, 0, 0x45, 0, total[0], total[1]]);
    frame[23] = 6;
    let (source, destination) = if from_client { (1, 2) } else { (2, 1) };
    frame[26..34].copy_from_slice(&[10, 0, 0, source, 10, 0, 0, destination]);
    frame[35] = source;
    frame[37] = destination;
    frame[38..42].copy_from_slice(&numbers.0.to_be_bytes());
    frame[42..46].copy_from_slice(&numbers.1.to_be_bytes());
    frame[46..48].copy_from_slice(&[0x50, flags]);
    frame
}

/// A connection on which the client acknowledges 1000 bytes.
fn acknowledged(lost: &[u64]) -> Option<u32> {
    let links = json!([{"name": "a", "hosts": ["c", "s"], "interfaces": ["l0a", "l0b"], "directions": [
        {"delay_ns": 100},
        {"delay_ns": 100, "loss": {"model": "listed", "numbers": lost}},
    ]}]);
    let mut emulator = Emulator::new(&config(&links), Records::default());
    emulator.start(0);
    for (now, interface, frame) in [
        (0, 0, segment(true, (0, 0), SYN, 0)),
        (200, 1, segment(false, (0, 1), SYN | ACK, 0)),
        (400, 0, segment(true, (1, 1), ACK, 0)),
        (600, 1, segment(false, (1, 1), ACK, 1000)),
        (800, 0, segment(true, (1, 1001), ACK, 0)),
    ] {
        run(&mut emulator, now);
        assert!(emulator.arrive(interface, arrival(now, frame)).is_none());
    }
    emulator.connections().connections()[0].1.acknowledged_ahead()
}

#[test]
fn acknowledgements_of_delivered_data_are_accepted() {
    assert_eq!(acknowledged(&[]), Some(0));
}

#[test]
fn an_acknowledgement_of_a_lost_packet_is_detected() {
    assert_eq!(acknowledged(&[1]), Some(1000));
}
