//! The ECN field, flows and damage, on hand-built frames and on noise.

use std::collections::HashSet;

use crate::build::{ACK, ethernet, ipv4, ipv6, tcp, tcp_from_client, udp};
use proptest::collection::vec;
use proptest::prelude::*;
use wire::{Codepoint, Frame, Packet, damage, mark};

const ETHERNET: usize = 14;

fn packet(frame: &[u8]) -> Packet<'_> {
    match Frame::parse(frame) {
        Frame::Ip(packet) => packet,
        other => panic!("{other:?}"),
    }
}

/// RFC 1071 over an IPv4 header: 0 when the checksum in it is right.
fn header_sum(frame: &[u8]) -> u16 {
    let words =
        frame[ETHERNET..ETHERNET + 20].chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
    let mut sum: u32 = words.sum();
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !u16::try_from(sum).expect("folded")
}

/// A frame with type of service `class`, identification `id` and the right checksum.
fn checksummed(class: u8, id: u16) -> Vec<u8> {
    let mut frame = tcp_from_client(1, ACK, b"hello");
    frame[ETHERNET + 1] = class;
    frame[ETHERNET + 4..ETHERNET + 6].copy_from_slice(&id.to_be_bytes());
    let sum = header_sum(&frame);
    frame[ETHERNET + 10..ETHERNET + 12].copy_from_slice(&sum.to_be_bytes());
    frame
}

#[test]
fn the_codepoints_of_both_versions() {
    let expected = [Codepoint::NotEct, Codepoint::Ect1, Codepoint::Ect0, Codepoint::Ce];
    for (bits, codepoint) in (0..4_u8).zip(expected) {
        assert_eq!(packet(&checksummed(0xB8 | bits, 0)).ecn, codepoint);
        let mut frame = ipv6(17, &udp((1, 2), b"hi"));
        frame[ETHERNET] = 0x6B;
        frame[ETHERNET + 1] = 0x8F | bits << 4;
        assert_eq!(packet(&frame).ecn, codepoint);
    }
}

#[test]
fn a_marked_ipv6_packet_keeps_the_rest_of_its_header() {
    let mut frame = ipv6(17, &udp((1, 2), b"hi"));
    frame[ETHERNET..ETHERNET + 2].copy_from_slice(&[0x6B, 0xAF]);
    let before = frame.clone();
    mark(&mut frame);
    assert_eq!(packet(&frame).ecn, Codepoint::Ce);
    assert_eq!(frame[ETHERNET..ETHERNET + 2], [0x6B, 0xBF]);
    assert_eq!(frame[ETHERNET + 2..], before[ETHERNET + 2..]);
}

#[test]
fn a_wrong_checksum_stays_wrong() {
    let mut frame = checksummed(2, 7);
    frame[ETHERNET + 10] ^= 0x40;
    mark(&mut frame);
    assert_ne!(header_sum(&frame), 0);
}

#[test]
fn only_ip_packets_are_marked() {
    for mut frame in [vec![], vec![0; 13], vec![8; 15], ethernet(0x0806, &[0; 28])] {
        let before = frame.clone();
        mark(&mut frame);
        assert_eq!(frame, before);
    }
}

#[test]
fn payloads_begin_after_all_headers() {
    let plain = tcp_from_client(0, ACK, b"");
    assert_eq!((packet(&plain).payload, packet(&plain).end()), (34, 54));
    let hop_by_hop = [60, 0, 0, 0, 0, 0, 0, 0];
    let options = [17, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let extended = ipv6(0, &[&hop_by_hop[..], &options, &udp((1, 2), b"hi")].concat());
    assert_eq!((packet(&extended).payload, packet(&extended).protocol), (54 + 8 + 16, 17));
    let cut = ipv6(0, &[6, 9, 0, 0]);
    assert_eq!(packet(&cut).payload, 54);
}

#[test]
fn flows_differ_by_each_part_of_the_five_tuple() {
    let frames = [
        ipv4(1, 2, 17, &udp((1, 2), b"x")),
        ipv4(1, 3, 17, &udp((1, 2), b"x")),
        ipv4(3, 2, 17, &udp((1, 2), b"x")),
        ipv4(2, 1, 17, &udp((1, 2), b"x")),
        ipv4(1, 2, 17, &udp((2, 1), b"x")),
        ipv4(1, 2, 17, &udp((1, 3), b"x")),
        ipv4(1, 2, 6, &tcp((1, 2), 0, ACK, b"x")),
        ipv4(1, 2, 1, &[8, 0, 0, 0]),
        ipv6(17, &udp((1, 2), b"x")),
    ];
    let flows: HashSet<u64> = frames.iter().map(|frame| packet(frame).flow()).collect();
    assert_eq!(flows.len(), frames.len());
    let another = ipv4(1, 2, 17, &udp((1, 2), b"something else"));
    assert_eq!(packet(&frames[0]).flow(), packet(&another).flow());
}

/// 1024 queues, 1024 flows: as many queues stay empty as chance leaves, 376.7 with deviation 9.8 (balls in
/// bins). The bounds are five deviations.
#[test]
fn flows_of_neighbouring_ports_spread_over_the_queues() {
    let queue = |port| packet(&ipv4(1, 2, 17, &udp((port, 443), b""))).flow() % 1024;
    let used: HashSet<u64> = (40_000..41_024).map(queue).collect();
    let empty = 1024 - used.len();
    assert!((327..=426).contains(&empty), "{empty}");
}

#[test]
fn all_fragments_of_a_packet_are_one_flow() {
    let whole = udp((1, 2), &[0; 64]);
    let fragment = |flags: u8, offset: u8, payload: &[u8]| {
        let mut frame = ipv4(1, 2, 17, payload);
        frame[ETHERNET + 6..ETHERNET + 8].copy_from_slice(&[flags, offset]);
        frame
    };
    let [first, last] = [fragment(0x20, 0, &whole[..32]), fragment(0, 4, &whole[32..])];
    assert!(packet(&first).fragment && packet(&last).fragment);
    assert_eq!(packet(&first).flow(), packet(&last).flow());

    let v6 = |offset_and_flags: u8, payload: &[u8]| {
        ipv6(44, &[&[17, 0, 0, offset_and_flags, 0, 0, 0, 1][..], payload].concat())
    };
    let [first, last] = [v6(1, &whole[..32]), v6(32, &whole[32..])];
    assert!(packet(&first).fragment && packet(&last).fragment);
    assert_eq!((packet(&first).flow(), packet(&first).protocol), (packet(&last).flow(), 17));
}

fn differing_bits(one: &[u8], other: &[u8]) -> u32 {
    one.iter().zip(other).map(|(one, other)| (one ^ other).count_ones()).sum()
}

#[test]
fn packets_without_payload_are_not_damaged() {
    for mut frame in
        [ipv4(1, 2, 17, &[]), ethernet(0x0806, &[0; 28]), vec![], ipv4(1, 2, 17, &[])[..30].to_vec()]
    {
        let before = frame.clone();
        assert!(!damage(&mut frame, 99));
        assert_eq!(frame, before);
    }
}

proptest! {
    #[test]
    fn marking_keeps_the_checksum_right(class: u8, id: u16) {
        let mut frame = checksummed(class, id);
        prop_assert_eq!(header_sum(&frame), 0);
        mark(&mut frame);
        prop_assert_eq!(header_sum(&frame), 0);
        prop_assert_eq!(packet(&frame).ecn, Codepoint::Ce);
        prop_assert_eq!(frame[ETHERNET + 1], class | 3);
    }

    #[test]
    fn damage_is_one_bit_of_the_payload(payload in vec(any::<u8>(), 1..100), padding in 0..20_usize, word: u64) {
        let mut frame = ipv4(1, 2, 17, &payload);
        let length = frame.len();
        frame.resize(length + padding, 0);
        let mut damaged = frame.clone();
        prop_assert!(damage(&mut damaged, word));
        prop_assert_eq!(differing_bits(&frame, &damaged), 1);
        prop_assert_eq!(differing_bits(&frame[34..length], &damaged[34..length]), 1);
    }

    /// Any frame: noise, or a packet with some bytes of noise, truncated anywhere.
    #[test]
    fn noise_is_survived(ethertype in prop::sample::select(vec![0x0800_u16, 0x86DD, 0x8100, 0x0806]),
                         noise in vec(any::<u8>(), 0..120), sound: bool,
                         wrong in vec((0..120_usize, any::<u8>()), 0..4), length in 0..140_usize, word: u64) {
        let mut frame = if sound { ipv4(1, 2, 17, &noise) } else { ethernet(ethertype, &noise) };
        for (place, byte) in wrong {
            if let Some(place) = frame.get_mut(place) {
                *place = byte;
            }
        }
        frame.truncate(length);
        let before = frame.clone();
        let damaged = damage(&mut frame, word);
        prop_assert_eq!(differing_bits(&before, &frame), u32::from(damaged));
        let before = frame.clone();
        mark(&mut frame);
        prop_assert!(differing_bits(&before, &frame) <= 2 + 16);
        prop_assert_eq!(before.len(), frame.len());
    }
}
