//! Address translation of a packet: another port, and a checksum that is as right or wrong as before.

use crate::build::{ACK, ethernet, ipv4, ipv6, quic_long, tcp, udp};
use proptest::collection::vec;
use proptest::prelude::*;
use wire::{End, Endpoint, Frame, Packet, Protocol, set_port};

const TCP: u8 = 6;
const UDP: u8 = 17;

fn packet(frame: &[u8]) -> Packet<'_> {
    match Frame::parse(frame) {
        Frame::Ip(packet) => packet,
        other => panic!("{other:?}"),
    }
}

/// Offset of a frame's transport checksum.
fn place(frame: &[u8]) -> usize {
    let packet = packet(frame);
    packet.payload + if packet.protocol == TCP { 16 } else { 6 }
}

fn checksum(frame: &[u8]) -> u16 {
    u16::from_be_bytes([frame[place(frame)], frame[place(frame) + 1]])
}

fn set_checksum(frame: &mut [u8], checksum: u16) {
    let place = place(frame);
    frame[place..place + 2].copy_from_slice(&checksum.to_be_bytes());
}

/// The sum over pseudo-header and payload as a receiver computes it (RFC 1071, RFC 8200 section 8.1): 0 when it is
/// right.
fn sum(frame: &[u8]) -> u16 {
    let packet = packet(frame);
    let addresses = if frame[12] == 8 { &frame[26..34] } else { &frame[22..54] };
    let payload = &frame[packet.payload..packet.end()];
    let mut covered = [addresses, payload].concat();
    covered.resize(covered.len().next_multiple_of(2), 0);
    let words = covered.chunks(2).map(|word| u64::from(word[0]) << 8 | u64::from(word[1]));
    let mut sum = words.sum::<u64>() + payload.len() as u64 + u64::from(packet.protocol);
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !u16::try_from(sum).expect("folded")
}

fn checksummed(mut frame: Vec<u8>) -> Vec<u8> {
    set_checksum(&mut frame, 0);
    let right = match sum(&frame) {
        0 if packet(&frame).protocol == UDP => 0xFFFF,
        right => right,
    };
    set_checksum(&mut frame, right);
    assert_eq!(sum(&frame), 0);
    frame
}

/// A packet of each kind, its checksum right.
fn packets(ports: (u16, u16), payload: &[u8]) -> [Vec<u8>; 4] {
    let (tcp, udp) = (tcp(ports, 7, ACK, payload), udp(ports, payload));
    [ipv4(1, 2, TCP, &tcp), ipv4(1, 2, UDP, &udp), ipv6(TCP, &tcp), ipv6(UDP, &udp)].map(checksummed)
}

#[test]
fn the_endpoints_of_a_packet_are_read() {
    for frame in packets((4242, 443), b"hello") {
        let protocol = if packet(&frame).protocol == TCP { Protocol::Tcp } else { Protocol::Udp };
        let (source, destination) = (packet(&frame).source, packet(&frame).destination);
        let expected = [(End::Source, source, 4242), (End::Destination, destination, 443)];
        for (end, address, port) in expected {
            assert_eq!(packet(&frame).endpoint(end), Some(Endpoint { protocol, address, port }));
        }
    }
}

#[test]
fn a_datagram_without_checksum_stays_without() {
    for mut frame in [ipv4(1, 2, UDP, &udp((1, 2), b"x")), ipv6(UDP, &udp((1, 2), b"x"))] {
        set_port(&mut frame, End::Source, 4711);
        assert_eq!(
            (checksum(&frame), packet(&frame).endpoint(End::Source).map(|end| end.port)),
            (0, Some(4711))
        );
    }
}

/// 0 would mean that there is no checksum.
#[test]
fn a_udp_checksum_never_becomes_0() {
    let [tcp, udp, ..] = packets((0, 443), b"hello");
    for (frame, zero) in [(tcp, 0), (udp, 0xFFFF)] {
        // This port makes the sum over all the rest 0xFFFF.
        let port = checksum(&frame);
        let mut frame = frame;
        set_port(&mut frame, End::Source, port);
        assert_eq!((checksum(&frame), sum(&frame)), (zero, 0));
    }
}

#[test]
fn frames_without_ports_are_not_changed() {
    let ports = udp((1, 2), &[0; 40]);
    let mut later = ipv4(1, 2, UDP, &ports);
    later[21] = 5;
    let ping = ipv4(1, 2, 1, &ports);
    let later_v6 = ipv6(44, &[&[17, 0, 0, 32, 0, 0, 0, 1][..], &ports].concat());
    let cut = ipv4(1, 2, UDP, &ports[..7]);
    let cut_tcp = ipv4(1, 2, TCP, &tcp((1, 2), 0, ACK, b"")[..19]);
    for mut frame in [later, ping, later_v6, cut, cut_tcp, ethernet(0x0806, &ports), vec![]] {
        let before = frame.clone();
        set_port(&mut frame, End::Destination, 4711);
        assert_eq!(frame, before);
    }
}

#[test]
fn a_first_fragment_has_the_ports_of_its_datagram() {
    let whole = udp((1, 2), &[0; 64]);
    let mut first = ipv4(1, 2, UDP, &whole[..32]);
    first[20] = 0x20;
    set_checksum(&mut first, 0x1234);
    set_port(&mut first, End::Source, 3);
    assert_eq!(packet(&first).endpoint(End::Source).map(|end| end.port), Some(3));
    assert_eq!(checksum(&first), 0x1232);
}

#[test]
fn extension_headers_are_skipped() {
    let options = [17, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let mut frame = checksummed(ipv6(60, &[&options[..], &udp((1, 2), &quic_long(0, 1, 5, 30))].concat()));
    set_port(&mut frame, End::Destination, 443);
    assert_eq!((sum(&frame), packet(&frame).endpoint(End::Destination).map(|end| end.port)), (0, Some(443)));
}

proptest! {
    #[test]
    fn checksums_stay_right(ports: (u16, u16), port: u16, source: bool, payload in vec(any::<u8>(), 0..60)) {
        let end = if source { End::Source } else { End::Destination };
        for before in packets(ports, &payload) {
            let mut frame = before.clone();
            set_port(&mut frame, end, port);
            prop_assert_eq!(packet(&frame).endpoint(end).map(|end| end.port), Some(port));
            prop_assert_eq!(sum(&frame), 0);
            prop_assert!(packet(&frame).protocol == TCP || checksum(&frame) != 0);
            let own = if source { ports.0 } else { ports.1 };
            set_port(&mut frame, end, own);
            prop_assert_eq!(frame, before);
        }
    }

    #[test]
    fn wrong_checksums_stay_wrong_by_as_much(ports: (u16, u16), port: u16, error in 1..0xFFFE_u16) {
        for mut frame in packets(ports, b"hello") {
            let wrong = checksum(&frame).wrapping_add(error);
            prop_assume!(wrong != 0 && wrong != 0xFFFF);
            set_checksum(&mut frame, wrong);
            let before = sum(&frame);
            prop_assume!(before != 0 && before != 0xFFFF);
            set_port(&mut frame, End::Source, port);
            prop_assert_eq!(sum(&frame), before);
        }
    }

    #[test]
    fn noise_is_survived(ethertype in prop::sample::select(vec![0x0800_u16, 0x86DD, 0x0806]),
                         noise in vec(any::<u8>(), 0..120), protocol in prop::sample::select(vec![TCP, UDP, 1]),
                         sound: bool, cut in 0..140_usize, port: u16) {
        let mut frame = if sound { ipv4(1, 2, protocol, &noise) } else { ethernet(ethertype, &noise) };
        frame.truncate(cut);
        let before = frame.clone();
        set_port(&mut frame, End::Source, port);
        set_port(&mut frame, End::Destination, port);
        prop_assert_eq!(frame.len(), before.len());
    }
}
