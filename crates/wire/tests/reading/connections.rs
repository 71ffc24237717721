//! Connections seen in hand-made packets.

use crate::build::{
    ACK, FIN, RST, SYN, ipv6, ipv6_back, quic_long, quic_short, tcp, tcp_from_client, tcp_from_server,
    tls_record, udp, udp_from_client, udp_from_server,
};
use wire::{Connection, ConnectionTable, Frame, Protocol, Sighting};

const HANDSHAKE: u8 = 22;
const CHANGE_CIPHER_SPEC: u8 = 20;
const APPLICATION_DATA: u8 = 23;

/// Observes frames at times 0, 1, 2 ...
fn observe(frames: &[Vec<u8>]) -> (ConnectionTable, Vec<Option<Sighting>>) {
    let mut table = ConnectionTable::default();
    let mut sightings = Vec::new();
    for (now, frame) in frames.iter().enumerate() {
        let Frame::Ip(packet) = Frame::parse(frame) else { panic!("{frame:02x?}") };
        sightings.push(table.observe(3, now as u64, &packet).sighting);
    }
    (table, sightings)
}

fn only(frames: &[Vec<u8>]) -> Connection {
    let (table, _) = observe(frames);
    assert_eq!(table.connections().len(), 1);
    table.connections()[0].1.clone()
}

fn retransmitted(connection: &Connection) -> (Option<u64>, Option<u64>) {
    let again = |side| connection.retransmitted_bytes(side);
    (again(&connection.from_client), again(&connection.from_server))
}

#[test]
fn a_tcp_connection_is_followed_from_begin_to_end() {
    let (table, sightings) = observe(&[
        tcp_from_client(99, SYN, b""),
        tcp_from_server(499, SYN | ACK, b""),
        tcp_from_client(100, ACK, b"GET"),
        tcp_from_server(500, ACK, b"twelve bytes"),
        tcp_from_server(512, ACK, b"more"),
        tcp_from_client(103, FIN | ACK, b""),
        tcp_from_server(516, FIN | ACK, b""),
    ]);
    let (link, connection) = &table.connections()[0];
    assert_eq!((*link, connection.protocol), (3, Protocol::Tcp));
    assert_eq!(connection.client.to_string(), "10.0.0.1:4242");
    assert_eq!(connection.server.to_string(), "10.0.0.2:443");
    let (client, server) = (connection.from_client, connection.from_server);
    assert_eq!((client.first, client.last, client.packets, client.bytes), (Some(0), Some(5), 3, 123));
    assert_eq!((server.first, server.last, server.packets, server.bytes), (Some(1), Some(6), 4, 176));
    assert_eq!((server.first_payload, server.payload_bytes), (Some(3), 16));
    assert_eq!((connection.client_close, connection.server_reset), (Some(5), false));
    assert_eq!(retransmitted(connection), (Some(0), Some(0)));
    assert_eq!(connection.handshake, None);
    let spoke: Vec<usize> = (0..7).filter(|n| sightings[*n].is_some()).collect();
    assert_eq!((spoke, sightings[3]), (vec![3], Some(Sighting::ServerSpoke(0))));
}

#[test]
fn each_retransmission_of_payload_is_counted() {
    let connection = only(&[
        tcp_from_client(0, SYN, b""),
        tcp_from_server(1000, ACK, &[0; 100]),
        tcp_from_server(1200, ACK, &[0; 100]),
        tcp_from_server(1000, ACK, &[0; 100]),
        tcp_from_server(1250, ACK, &[0; 100]),
        tcp_from_server(1350, ACK, b""),
        tcp_from_server(1350, ACK, &[0; 1]),
    ]);
    assert_eq!(connection.from_server.payload_bytes, 401);
    assert_eq!(retransmitted(&connection), (Some(0), Some(150)));
}

#[test]
fn sequence_numbers_wrap() {
    let connection = only(&[
        tcp_from_client(u32::MAX - 50, SYN, b""),
        tcp_from_client(u32::MAX - 49, ACK, &[0; 100]),
        tcp_from_client(50, ACK, &[0; 10]),
        tcp_from_client(u32::MAX - 49, ACK, &[0; 120]),
    ]);
    assert_eq!(retransmitted(&connection), (Some(110), Some(0)));
}

#[test]
fn resets_are_distinguished_by_side() {
    let open = tcp_from_client(0, SYN, b"");
    let by_server = only(&[open.clone(), tcp_from_server(0, RST | ACK, b"")]);
    assert_eq!((by_server.client_close, by_server.server_reset), (None, true));
    let late = only(&[open.clone(), tcp_from_client(1, FIN | ACK, b""), tcp_from_server(1, RST, b"")]);
    assert_eq!((late.client_close, late.server_reset), (Some(1), false));
    let by_client = only(&[open, tcp_from_client(1, RST, b"")]);
    assert_eq!((by_client.client_close, by_client.server_reset), (Some(1), false));
}

#[test]
fn reused_ports_are_a_new_connection() {
    let (table, _) = observe(&[
        tcp_from_client(0, SYN, b""),
        tcp_from_client(0, SYN, b""),
        tcp_from_client(1, FIN | ACK, b""),
        tcp_from_client(2, ACK, b""),
        tcp_from_client(9000, SYN, b""),
    ]);
    let packets: Vec<u64> = table.connections().iter().map(|(_, c)| c.from_client.packets).collect();
    assert_eq!(packets, [4, 1]);
}

#[test]
fn the_same_addresses_on_two_links_are_two_connections() {
    let frame = tcp_from_client(0, SYN, b"");
    let Frame::Ip(packet) = Frame::parse(&frame) else { panic!() };
    let mut table = ConnectionTable::default();
    table.observe(0, 0, &packet);
    table.observe(1, 1, &packet);
    assert_eq!(table.connections().len(), 2);
}

/// A TLS 1.3 handshake whose client sends `flight` after the server's, from sequence number 301 on.
fn tls_client(flight: &[Vec<u8>]) -> Connection {
    let mut frames = vec![
        tcp_from_client(0, SYN, b""),
        tcp_from_client(1, ACK, &tls_record(HANDSHAKE, 295)),
        tcp_from_server(0, ACK, &tls_record(HANDSHAKE, 90)),
        tcp_from_client(1, ACK, &tls_record(HANDSHAKE, 295)),
    ];
    frames.extend_from_slice(flight);
    only(&frames)
}

#[test]
fn a_tls_handshake_ends_with_the_first_application_data_record() {
    let flight = [tls_record(CHANGE_CIPHER_SPEC, 1), tls_record(APPLICATION_DATA, 53)].concat();
    assert_eq!(tls_client(&[tcp_from_client(301, ACK, &flight)]).handshake, Some(4));
    assert_eq!(tls_client(&[tcp_from_client(301, ACK, &flight[..6])]).handshake, None);
}

#[test]
fn the_end_of_a_handshake_is_reported_once() {
    let (_, sightings) = observe(&[
        tcp_from_client(0, SYN, b""),
        tcp_from_client(1, ACK, &tls_record(HANDSHAKE, 295)),
        tcp_from_server(0, ACK, &tls_record(HANDSHAKE, 90)),
        tcp_from_client(301, ACK, &tls_record(APPLICATION_DATA, 53)),
        tcp_from_client(359, ACK, &tls_record(APPLICATION_DATA, 53)),
        udp_from_client(&quic_long(0, 1, 5, 30)),
        udp_from_server(&quic_long(0, 1, 5, 30)),
        udp_from_client(&quic_short(5)),
        udp_from_client(&quic_short(5)),
    ]);
    let sightings: Vec<(usize, Sighting)> =
        (0..9).filter_map(|n| sightings[n].map(|sighting| (n, sighting))).collect();
    let expected = [
        (2, Sighting::ServerSpoke(0)),
        (3, Sighting::HandshakeOver(0)),
        (6, Sighting::ServerSpoke(1)),
        (7, Sighting::HandshakeOver(1)),
    ];
    assert_eq!(sightings, expected);
}

#[test]
fn record_headers_may_be_split_and_retransmitted() {
    let flight = [tls_record(CHANGE_CIPHER_SPEC, 1), tls_record(APPLICATION_DATA, 53)].concat();
    let connection = tls_client(&[
        tcp_from_client(301, ACK, &flight[..8]),
        tcp_from_client(301, ACK, &flight[..9]),
        tcp_from_client(310, ACK, &flight[9..]),
    ]);
    assert_eq!(connection.handshake, Some(6));
}

#[test]
fn early_data_is_not_the_end_of_the_handshake() {
    let connection = only(&[
        tcp_from_client(0, SYN, b""),
        tcp_from_client(1, ACK, &tls_record(HANDSHAKE, 295)),
        tcp_from_client(301, ACK, &tls_record(APPLICATION_DATA, 95)),
        tcp_from_server(0, ACK, &tls_record(HANDSHAKE, 90)),
        tcp_from_client(401, ACK, &tls_record(APPLICATION_DATA, 53)),
    ]);
    assert_eq!(connection.handshake, Some(4));
}

#[test]
fn gaps_and_other_protocols_give_no_handshake() {
    let record = tls_record(APPLICATION_DATA, 53);
    assert_eq!(tls_client(&[tcp_from_client(302, ACK, &record)]).handshake, None);
    let plain = only(&[
        tcp_from_client(0, ACK, b"GET / HTTP/1.1\r\n\r\n"),
        tcp_from_server(0, ACK, b"HTTP/1.1 200 OK\r\n\r\n"),
        tcp_from_client(18, ACK, &record),
    ]);
    assert_eq!(plain.handshake, None);
}

const INITIAL: u8 = 0;
const HANDSHAKE_PACKET: u8 = 2;

#[test]
fn a_quic_handshake_ends_with_the_first_short_header() {
    let connection = only(&[
        udp_from_client(&quic_long(INITIAL, 1, 1, 1150)),
        udp_from_server(&[quic_long(INITIAL, 1, 4, 90), quic_short(4)].concat()),
        udp_from_client(&quic_long(HANDSHAKE_PACKET, 1, 2, 50)),
        udp_from_client(&quic_short(2)),
        udp_from_client(&quic_short(2)),
    ]);
    assert_eq!(connection.handshake, Some(3));
    assert_eq!(connection.from_server.payload_bytes, 115 + 29);
    assert_eq!(retransmitted(&connection), (None, None));
}

#[test]
fn the_short_header_may_share_a_datagram() {
    let coalesced =
        [quic_long(INITIAL, 1, 2, 40), quic_long(HANDSHAKE_PACKET, 1, 2, 50), quic_short(2)].concat();
    let connection = only(&[udp_from_client(&quic_long(INITIAL, 1, 1, 1150)), udp_from_client(&coalesced)]);
    assert_eq!(connection.handshake, Some(1));
}

#[test]
fn version_2_has_other_packet_types() {
    const VERSION_2: u32 = 0x6B33_43CF;
    let coalesced = [quic_long(1, VERSION_2, 2, 40), quic_long(3, VERSION_2, 2, 50), quic_short(2)].concat();
    assert_eq!(only(&[udp_from_client(&coalesced)]).handshake, Some(0));
}

#[test]
fn padding_and_foreign_connection_ids_are_no_short_header() {
    for tail in [vec![0; 40], quic_short(3)] {
        let datagram = [quic_long(INITIAL, 1, 2, 40), tail].concat();
        assert_eq!(only(&[udp_from_client(&datagram)]).handshake, None);
    }
}

#[test]
fn a_short_header_without_earlier_quic_does_not_count() {
    let dns = udp_from_client(&quic_short(2));
    assert_eq!(only(&[dns.clone(), dns]).handshake, None);
    let unknown_version = udp_from_client(&quic_long(INITIAL, 0xBABA_BABA, 2, 40));
    assert_eq!(only(&[unknown_version, udp_from_client(&quic_short(2))]).handshake, None);
}

#[test]
fn a_connection_over_ipv6_is_followed_like_any() {
    let (out, back) = ((4242, 443), (443, 4242));
    let request = [tls_record(CHANGE_CIPHER_SPEC, 1), tls_record(APPLICATION_DATA, 40)].concat();
    let over_tcp = only(&[
        ipv6(6, &tcp(out, 99, SYN, b"")),
        ipv6_back(6, &tcp(back, 499, SYN | ACK, b"")),
        ipv6(6, &tcp(out, 100, ACK, &tls_record(HANDSHAKE, 200))),
        ipv6_back(6, &tcp(back, 500, ACK, &tls_record(HANDSHAKE, 90))),
        ipv6(6, &tcp(out, 305, ACK, &request)),
        ipv6(6, &tcp(out, 305, FIN | ACK, &request)),
    ]);
    assert_eq!(over_tcp.client.to_string(), "[fd00::1]:4242");
    assert_eq!(over_tcp.server.to_string(), "[fd00::2]:443");
    assert_eq!((over_tcp.handshake, over_tcp.client_close), (Some(4), Some(5)));
    assert_eq!(retransmitted(&over_tcp), (Some(51), Some(0)));
    let over_quic = only(&[
        ipv6(17, &udp(out, &quic_long(INITIAL, 1, 1, 1150))),
        ipv6_back(17, &udp(back, &[quic_long(INITIAL, 1, 4, 90), quic_short(4)].concat())),
        ipv6(17, &udp(out, &quic_short(2))),
    ]);
    assert_eq!((over_quic.protocol, over_quic.handshake), (Protocol::Udp, Some(2)));
    assert_eq!((over_quic.from_client.packets, over_quic.from_server.packets), (2, 1));
}
