//! No input makes the parser panic.

use crate::build::{
    self, ACK, ipv6, quic_long, quic_short, tcp, tcp_from_client, tls_record, udp, udp_from_client,
    udp_from_server,
};
use proptest::collection::vec;
use proptest::prelude::*;
use wire::{ConnectionTable, Frame};

/// Frames that reach every branch of the parser.
fn seeds() -> Vec<Vec<u8>> {
    let coalesced = [quic_long(0, 1, 5, 30), quic_long(2, 1, 5, 30), quic_short(5)].concat();
    vec![
        tcp_from_client(u32::MAX - 3, ACK, &tls_record(23, 40)),
        udp_from_client(&coalesced),
        udp_from_server(&quic_short(9)),
        ipv6(0, &[&[6, 0, 0, 0, 0, 0, 0, 0][..], &tcp((4242, 443), 1, ACK, &tls_record(22, 9))].concat()),
        ipv6(17, &udp((4242, 443), &quic_long(1, 0x6B33_43CF, 5, 30))),
    ]
}

fn observe(frames: &[Vec<u8>]) {
    let mut table = ConnectionTable::default();
    for (now, frame) in frames.iter().enumerate() {
        if let Frame::Ip(packet) = Frame::parse(frame) {
            assert!(34 <= packet.payload && packet.payload <= packet.end() && packet.end() <= frame.len());
            assert_eq!(packet.flow(), { packet }.flow());
            table.observe(0, now as u64, &packet);
        }
    }
}

#[test]
fn every_truncation_is_survived() {
    for frame in seeds() {
        let cut: Vec<Vec<u8>> = (0..=frame.len()).map(|length| frame[..length].to_vec()).collect();
        observe(&cut);
    }
}

/// A chain of IPv6 extension headers of any kind and length, truncated anywhere.
fn extension_headers() -> impl Strategy<Value = Vec<u8>> {
    let kind = prop::sample::select(vec![0_u8, 43, 44, 51, 58, 59, 60, 6, 17]);
    let header = (kind, 0..3_u8, vec(any::<u8>(), 30));
    vec(header, 0..8).prop_flat_map(|headers| {
        let mut chain = Vec::new();
        for (next, units, bytes) in headers {
            chain.extend([next, units]);
            chain.extend(&bytes[..usize::from(units) * 8 + 6]);
        }
        (0..=chain.len()).prop_map(move |length| chain[..length].to_vec())
    })
}

proptest! {
    #[test]
    fn extension_headers_are_survived(first in 0..64_u8, chains in vec(extension_headers(), 1..8)) {
        observe(&chains.iter().map(|chain| ipv6(first, chain)).collect::<Vec<_>>());
    }

    #[test]
    fn fragments_are_survived(frames in vec((any::<u16>(), vec(any::<u8>(), 0..60)), 1..8)) {
        let frame = |(place, noise): &(u16, Vec<u8>)| {
            let mut frame = build::ipv4(1, 2, 6, noise);
            frame[20..22].copy_from_slice(&place.to_be_bytes());
            frame
        };
        observe(&frames.iter().map(frame).collect::<Vec<_>>());
    }

    #[test]
    fn jumbo_frames_are_survived(length in 60_000..65_516_usize, byte: u8) {
        observe(&[build::ipv4(1, 2, 17, &vec![byte; length]), ipv6(17, &vec![byte; length])]);
    }

    #[test]
    fn noise_is_survived(frames in vec(vec(any::<u8>(), 0..200), 1..8)) {
        observe(&frames);
    }

    #[test]
    fn noise_behind_an_ip_header_is_survived(
        frames in vec((any::<bool>(), vec(any::<u8>(), 0..200)), 1..8),
    ) {
        let frame = |(tcp, noise): (bool, Vec<u8>)| build::ipv4(1, 2, if tcp { 6 } else { 17 }, &noise);
        observe(&frames.into_iter().map(frame).collect::<Vec<_>>());
    }

    #[test]
    fn bent_frames_are_survived(bends in vec((0..5_usize, any::<prop::sample::Index>(), any::<u8>()), 1..30)) {
        let mut frames = seeds();
        for (frame, place, byte) in bends {
            let place = place.index(frames[frame].len());
            frames[frame][place] = byte;
            observe(&frames);
        }
    }
}
