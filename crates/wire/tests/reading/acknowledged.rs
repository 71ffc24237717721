//! An acknowledgement of undelivered data is detected, without false alarms.

use crate::build::{ACK, FIN, RST, SYN, tcp_from_client, tcp_from_server, udp_from_client};
use proptest::prelude::*;
use wire::{ConnectionTable, Delivery, Frame};

/// A table, and the delivered packets.
#[derive(Default)]
struct Line {
    table: ConnectionTable,
}

impl Line {
    fn arrive(&mut self, frame: &[u8]) -> Option<Delivery> {
        let Frame::Ip(packet) = Frame::parse(frame) else { panic!("{frame:02x?}") };
        self.table.observe(0, 0, &packet).delivery
    }

    fn pass(&mut self, frame: &[u8]) {
        if let Some(delivery) = self.arrive(frame) {
            self.table.deliver(0, delivery);
        }
    }

    fn ahead(&self) -> Option<u32> {
        self.table.connections()[0].1.acknowledged_ahead()
    }
}

fn acknowledging(mut frame: Vec<u8>, number: u32) -> Vec<u8> {
    frame[14 + 20 + 8..14 + 20 + 12].copy_from_slice(&number.to_be_bytes());
    frame
}

fn opened(isn: u32) -> Line {
    let mut line = Line::default();
    line.pass(&tcp_from_client(isn, SYN, b""));
    line.pass(&acknowledging(tcp_from_server(isn, SYN | ACK, b""), isn.wrapping_add(1)));
    line.pass(&acknowledging(tcp_from_client(isn.wrapping_add(1), ACK, b""), isn.wrapping_add(1)));
    line
}

proptest! {
    /// Also where sequence numbers wrap.
    #[test]
    fn what_was_delivered_may_be_acknowledged_and_no_byte_more(isn in any::<u32>(), more in 1..1000_u32) {
        let mut line = opened(isn);
        line.pass(&acknowledging(tcp_from_server(isn.wrapping_add(1), ACK, b"hello"), isn.wrapping_add(1)));
        line.pass(&acknowledging(tcp_from_client(isn.wrapping_add(1), ACK, b""), isn.wrapping_add(6)));
        prop_assert_eq!(line.ahead(), Some(0));
        line.pass(&acknowledging(tcp_from_client(isn.wrapping_add(1), ACK, b""), isn.wrapping_add(6 + more)));
        prop_assert_eq!(line.ahead(), Some(more));
    }
}

#[test]
fn arrival_at_the_link_is_not_delivery() {
    let mut line = opened(0);
    line.arrive(&tcp_from_server(1, ACK, b"lost"));
    line.pass(&acknowledging(tcp_from_client(1, ACK, b""), 5));
    assert_eq!(line.ahead(), Some(4));
}

#[test]
fn a_fin_takes_a_number_and_a_bare_acknowledgement_none() {
    let mut line = opened(0);
    assert_eq!(line.arrive(&tcp_from_server(9, ACK, b"")), None);
    line.pass(&tcp_from_server(1, FIN | ACK, b"bye"));
    line.pass(&acknowledging(tcp_from_client(1, ACK, b""), 5));
    assert_eq!(line.ahead(), Some(0));
}

#[test]
fn a_reset_may_acknowledge_anything() {
    let mut line = opened(0);
    line.pass(&acknowledging(tcp_from_client(1, RST | ACK, b""), 99));
    assert_eq!(line.ahead(), Some(0));
}

#[test]
fn connections_without_their_beginning_are_not_judged() {
    let mut line = Line::default();
    line.pass(&acknowledging(tcp_from_client(1, ACK, b""), 99));
    assert_eq!(line.ahead(), None);
    let mut datagrams = Line::default();
    datagrams.pass(&udp_from_client(b"x"));
    assert_eq!(datagrams.ahead(), None);
}
