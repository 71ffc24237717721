//! How a connection opens, and the sizes of its first datagrams.

use crate::build::{
    ACK, SERVER_PORT, SYN, ipv4, ipv6, quic_long, quic_short, tcp_from_client, tcp_from_server, udp,
    udp_from_client, udp_from_server,
};
use proptest::collection::vec;
use proptest::prelude::*;
use wire::{Connection, ConnectionTable, Frame, Opening};

const VERSION_2: u32 = 0x6B33_43CF;

fn only(frames: &[Vec<u8>]) -> Connection {
    let mut table = ConnectionTable::default();
    for (now, frame) in frames.iter().enumerate() {
        let Frame::Ip(packet) = Frame::parse(frame) else { panic!("{frame:02x?}") };
        table.observe(0, now as u64, &packet);
    }
    assert_eq!(table.connections().len(), 1);
    table.connections()[0].1.clone()
}

#[test]
fn the_first_packet_of_the_first_datagram_is_the_opening() {
    let expected = [
        (quic_long(0, 1, 5, 1150), Opening::Initial),
        ([quic_long(0, 1, 5, 300), quic_long(1, 1, 5, 700)].concat(), Opening::Initial),
        (quic_long(1, 1, 5, 700), Opening::ZeroRtt),
        (quic_long(2, 1, 5, 60), Opening::Handshake),
        (quic_long(1, VERSION_2, 5, 1150), Opening::Initial),
        (quic_long(2, VERSION_2, 5, 1150), Opening::ZeroRtt),
        (quic_long(3, VERSION_2, 5, 60), Opening::Handshake),
        (quic_short(5), Opening::Short),
        (quic_long(3, 1, 5, 60), Opening::Other),
        (quic_long(0, 0xBABA_BABA, 5, 60), Opening::Other),
        (quic_long(0, 1, 5, 60)[..40].to_vec(), Opening::Other),
        (quic_short(5)[..20].to_vec(), Opening::Other),
        (vec![0x3F; 60], Opening::Other),
        (vec![], Opening::Other),
    ];
    for (datagram, opening) in expected {
        assert_eq!(Opening::of(&datagram, false), opening, "{datagram:02x?}");
        let later = udp_from_client(&quic_long(0, 1, 5, 1150));
        assert_eq!(only(&[udp_from_client(&datagram), later]).opening, Some(opening));
    }
    assert_eq!(only(&[tcp_from_client(0, SYN, b""), tcp_from_server(0, SYN | ACK, b"")]).opening, None);
}

/// A connection that moved here: its client probes the path, the server answers and probes in turn (RFC 9000, 8.2).
#[test]
fn a_connection_that_moved_has_no_handshake() {
    let padded = [quic_short(7), vec![0xEE; 1200 - 29]].concat();
    let moved = only(&[
        udp_from_client(&padded),
        udp_from_server(&padded),
        udp_from_client(&quic_short(7)),
        udp_from_server(&[quic_short(3), vec![0xEE; 1171]].concat()),
        udp_from_server(&padded[..1000]),
        udp_from_server(&padded[..900]),
        udp_from_server(&padded[..800]),
    ]);
    assert_eq!((moved.opening, moved.handshake), (Some(Opening::Short), None));
    assert_eq!(moved.from_client.first_sizes.known(), [1200, 29]);
    assert_eq!(moved.from_server.first_sizes.known(), [1200, 1200, 1000, 900]);
    let over_ipv6 = only(&[ipv6(17, &udp((4242, 443), &padded))]);
    assert_eq!(
        (over_ipv6.opening, over_ipv6.from_client.first_sizes.known()),
        (Some(Opening::Short), &[1200][..])
    );
}

/// RFC 9287: a client may clear the second bit of its short headers if both sides support that.
#[test]
fn a_greased_bit_hides_no_migration() {
    let initial = quic_long(0, 1, 5, 1150);
    for first in 0..0x40 {
        let mut greased = quic_short(7);
        greased[0] = first;
        let moved = |opened: &[u8], link: usize, source: u8, port: u16| {
            let mut table = ConnectionTable::default();
            for (link, frame) in
                [(0, udp_from_client(opened)), (link, ipv4(source, 2, 17, &udp((5555, port), &greased)))]
            {
                let Frame::Ip(packet) = Frame::parse(&frame) else { panic!("{frame:02x?}") };
                table.observe(link, 0, &packet);
            }
            table.connections()[1].1.opening
        };
        // From another address over another link, as after a handover, or from another port, as behind a NAT.
        assert_eq!(moved(&initial, 1, 9, SERVER_PORT), Some(Opening::Short));
        assert_eq!(moved(&initial, 0, 1, SERVER_PORT), Some(Opening::Short));
        // Other servers are unknown, also one with which only another protocol was spoken.
        assert_eq!(moved(&initial, 1, 9, SERVER_PORT + 1), Some(Opening::Other));
        assert_eq!(moved(&greased, 1, 9, SERVER_PORT), Some(Opening::Other));
    }
}

#[test]
fn a_new_connection_to_a_known_server_is_a_connection() {
    let mut table = ConnectionTable::default();
    let initial = quic_long(0, 1, 5, 1150);
    let too_short = [0x3F; 20];
    for (port, datagram) in [(5001, &initial[..]), (5002, &initial[..]), (5003, &too_short[..])] {
        let frame = ipv4(1, 2, 17, &udp((port, SERVER_PORT), datagram));
        let Frame::Ip(packet) = Frame::parse(&frame) else { panic!("{frame:02x?}") };
        table.observe(0, 0, &packet);
    }
    let openings: Vec<_> = table.connections().iter().map(|(_, one)| one.opening).collect();
    assert_eq!(openings, [Opening::Initial, Opening::Initial, Opening::Other].map(Some));
}

#[test]
fn tcp_has_no_datagrams() {
    let connection = only(&[tcp_from_client(0, SYN, b""), tcp_from_client(1, ACK, b"GET")]);
    assert_eq!(connection.from_client.first_sizes.known(), []);
}

proptest! {
    #[test]
    fn every_datagram_opens_somehow(datagram in vec(any::<u8>(), 0..80)) {
        let connection = only(&[udp_from_client(&datagram)]);
        prop_assert_eq!(connection.opening, Some(Opening::of(&datagram, false)));
        prop_assert_eq!(connection.from_client.first_sizes.known(), [u16::try_from(datagram.len()).expect("small")]);
        let short = datagram.len() >= 21 && datagram[0] >> 6 == 1;
        prop_assert_eq!(connection.opening == Some(Opening::Short), short);
    }
}
