//! Headers of hand-made frames.

use crate::build::{ACK, SYN, ethernet, ipv4, ipv6, tcp, tcp_from_client, udp};
use wire::{Frame, Packet, Transport};

fn packet(frame: &[u8]) -> Packet<'_> {
    match Frame::parse(frame) {
        Frame::Ip(packet) => packet,
        other => panic!("{other:?}"),
    }
}

#[test]
fn tcp_over_ipv4_is_read() {
    let frame = tcp_from_client(7, SYN | ACK, b"hello");
    let packet = packet(&frame);
    assert_eq!(packet.bytes, 20 + 20 + 5);
    assert_eq!(packet.source.to_string(), "10.0.0.1");
    assert_eq!(packet.destination.to_string(), "10.0.0.2");
    let Transport::Tcp(segment) = packet.transport else { panic!("{packet:?}") };
    assert_eq!((segment.source_port, segment.destination_port, segment.sequence), (4242, 443, 7));
    assert_eq!((segment.syn, segment.ack, segment.fin, segment.rst), (true, true, false, false));
    assert_eq!(segment.payload, b"hello");
}

#[test]
fn ethernet_padding_is_not_counted() {
    let mut frame = tcp_from_client(0, ACK, b"");
    frame.resize(60, 0);
    let packet = packet(&frame);
    assert_eq!(packet.bytes, 40);
    assert!(matches!(packet.transport, Transport::Tcp(segment) if segment.payload.is_empty()));
}

#[test]
fn udp_over_ipv6_after_extension_headers_is_read() {
    let datagram = udp((1, 2), b"hi");
    let hop_by_hop = [60, 0, 0, 0, 0, 0, 0, 0];
    let destination_options = [17, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let frame = ipv6(0, &[&hop_by_hop[..], &destination_options, &datagram].concat());
    let packet = packet(&frame);
    assert_eq!(packet.bytes, 40 + 8 + 16 + 10);
    assert_eq!(packet.source.to_string(), "fd00::1");
    assert!(matches!(packet.transport, Transport::Udp(datagram) if datagram.payload == b"hi"));
}

#[test]
fn later_fragments_have_no_ports() {
    let mut frame = tcp_from_client(0, ACK, &[0; 64]);
    frame[14 + 7] = 8;
    assert_eq!(packet(&frame).transport, Transport::Other);

    let fragment_header = [17, 0, 0, 8, 0, 0, 0, 1];
    let frame = ipv6(44, &[&fragment_header[..], &[0; 32]].concat());
    assert_eq!(packet(&frame).transport, Transport::Other);
}

#[test]
fn control_traffic_is_stray() {
    let arp = ethernet(0x0806, &[0; 28]);
    let lldp = ethernet(0x88CC, &[0; 40]);
    let neighbour_solicitation = ipv6(58, &[135, 0, 0, 0]);
    let router_solicitation = ipv6(58, &[133, 0, 0, 0]);
    let hop_by_hop = [58, 0, 5, 2, 0, 0, 1, 0];
    let listener_report = ipv6(0, &[&hop_by_hop[..], &[143, 0, 0, 0]].concat());
    for frame in
        [arp, lldp, neighbour_solicitation, router_solicitation, listener_report, vec![], vec![0; 13]]
    {
        assert_eq!(Frame::parse(&frame), Frame::Stray, "{frame:02x?}");
    }
}

#[test]
fn pings_are_traffic() {
    assert_eq!(packet(&ipv4(1, 2, 1, &[8, 0, 0, 0])).transport, Transport::Other);
    assert_eq!(packet(&ipv6(58, &[128, 0, 0, 0])).transport, Transport::Other);
}

#[test]
fn a_broken_ip_header_is_malformed() {
    let good = tcp_from_client(0, ACK, b"hello");
    let with = |offset: usize, byte: u8| {
        let mut frame = good.clone();
        frame[14 + offset] = byte;
        frame
    };
    let broken = [with(0, 0x44), with(0, 0x65), with(2, 0xFF), with(3, 10), ethernet(0x86DD, &[0x60; 20])];
    for frame in broken {
        assert_eq!(Frame::parse(&frame), Frame::Malformed, "{frame:02x?}");
    }
}

#[test]
fn a_broken_transport_header_leaves_a_packet() {
    let mut short_offset = tcp((1, 2), 0, ACK, b"");
    short_offset[12] = 0x40;
    let mut long_offset = tcp((1, 2), 0, ACK, b"");
    long_offset[12] = 0xF0;
    let mut short_udp = udp((1, 2), b"");
    short_udp[5] = 7;
    let frames = [
        ipv4(1, 2, 6, &short_offset),
        ipv4(1, 2, 6, &long_offset),
        ipv4(1, 2, 17, &short_udp),
        ipv4(1, 2, 17, &[0; 7]),
        ipv6(0, &[6, 9, 0, 0]),
    ];
    for frame in frames {
        assert_eq!(packet(&frame).transport, Transport::Malformed, "{frame:02x?}");
    }
}
