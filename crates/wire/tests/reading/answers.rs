//! An answer ends with the last delivery of bytes that the client did not have, and not with the client's close.

use std::collections::HashSet;

use crate::build::{ACK, FIN, RST, SYN, quic_long, quic_short, tcp_from_client, tcp_from_server, tls_record};
use crate::build::{udp_from_client, udp_from_server};
use proptest::collection::vec;
use proptest::prelude::*;
use wire::{Answer, Connection, ConnectionTable, Delivery, Frame, MAX_CONNECTIONS, Place};

#[derive(Default)]
struct Line {
    table: ConnectionTable,
}

impl Line {
    fn arrive(&mut self, now: u64, frame: &[u8]) -> Option<Delivery> {
        let Frame::Ip(packet) = Frame::parse(frame) else { panic!("{frame:02x?}") };
        self.table.observe(0, now, &packet).delivery
    }

    /// Carries a frame that arrives at `now` to the other side, without delay.
    fn pass(&mut self, now: u64, frame: &[u8]) {
        if let Some(delivery) = self.arrive(now, frame) {
            self.table.deliver(now, delivery);
        }
    }

    fn connection(&self) -> &Connection {
        &self.table.connections()[0].1
    }

    fn answer(&self) -> &Answer {
        &self.connection().answer
    }

    fn told(&self) -> (Option<u64>, u64) {
        (self.answer().last(), self.answer().bytes())
    }
}

/// A connection whose handshake ends at 0; the first payload byte of the server has number 1.
fn opened() -> Line {
    let mut line = Line::default();
    line.pass(0, &tcp_from_client(0, SYN, b""));
    line.pass(0, &tcp_from_server(0, SYN | ACK, b""));
    line
}

#[test]
fn an_answer_goes_on_after_the_client_has_closed() {
    let mut line = opened();
    line.pass(1, &tcp_from_client(1, FIN | ACK, b""));
    let record = tls_record(23, 2000);
    line.pass(2, &tcp_from_server(1, ACK, &record[..1000]));
    line.pass(3, &tcp_from_server(1001, ACK, &record[1000..]));
    assert_eq!(line.told(), (Some(3), 2005));
}

#[test]
fn the_last_bytes_of_a_long_record_are_part_of_the_answer() {
    let mut line = opened();
    let record = tls_record(23, 1000);
    line.pass(2, &tcp_from_server(1, ACK, &record[..1000]));
    line.pass(3, &tcp_from_client(1, FIN | ACK, b""));
    line.pass(4, &tcp_from_server(1001, ACK, &record[1000..]));
    assert_eq!(line.told(), (Some(4), 1005));
}

#[test]
fn an_alert_after_the_clients_close_is_not() {
    let mut line = opened();
    line.pass(2, &tcp_from_server(1, ACK, &tls_record(23, 1000)));
    line.pass(3, &tcp_from_client(1, FIN | ACK, b""));
    line.pass(4, &tcp_from_server(1006, FIN | ACK, &tls_record(23, 19)));
    assert_eq!(line.told(), (Some(2), 1005));
}

#[test]
fn nor_if_its_delivery_was_noticed_before_the_close() {
    let mut line = opened();
    line.pass(2, &tcp_from_server(1, ACK, &tls_record(23, 1000)));
    line.pass(4, &tcp_from_server(1006, FIN | ACK, &tls_record(23, 19)));
    line.arrive(3, &tcp_from_client(1, FIN | ACK, b""));
    assert_eq!(line.told(), (Some(2), 1005));
}

#[test]
fn many_short_records_after_the_close_are_an_answer() {
    let mut line = opened();
    line.pass(1, &tcp_from_client(1, FIN | ACK, b""));
    for number in 0..20 {
        line.pass(2 + u64::from(number), &tcp_from_server(1 + 24 * number, ACK, &tls_record(23, 19)));
    }
    assert_eq!(line.told(), (Some(21), 480));
}

#[test]
fn a_retransmission_counts_where_it_fills_a_gap() {
    let mut line = opened();
    line.arrive(1, &tcp_from_server(1, ACK, &tls_record(23, 1000)));
    line.pass(2, &tcp_from_server(1006, ACK, &tls_record(23, 1000)));
    line.pass(3, &tcp_from_server(1, ACK, &tls_record(23, 1000)));
    line.pass(4, &tcp_from_server(1006, ACK, &tls_record(23, 1000)));
    line.pass(5, &tcp_from_server(77, RST | ACK, b"a reason"));
    assert_eq!(line.told(), (Some(3), 2010));
}

#[test]
fn datagrams_tell_what_was_delivered_before_the_client_fell_silent() {
    let mut line = Line::default();
    line.pass(0, &udp_from_client(&quic_long(0, 1, 5, 1200)));
    line.pass(1, &udp_from_server(&[0x40; 1024]));
    line.pass(2, &udp_from_client(&quic_short(5)));
    line.pass(3, &udp_from_server(&[0x40; 1024]));
    line.pass(4, &udp_from_server(&[0x40; 100]));
    // The client's identifier has 4 bytes.
    assert_eq!(line.told(), (Some(3), 2000));
    assert_eq!(line.answer().heard_bytes(), 1000);
    assert_eq!((line.connection().client_heard(), line.answer().last_large()), (Some(2), Some(3)));
}

#[test]
fn datagrams_of_the_handshake_are_no_part_of_a_body() {
    let mut line = Line::default();
    line.pass(0, &udp_from_client(&quic_long(0, 1, 5, 1200)));
    line.pass(1, &udp_from_server(&quic_long(2, 1, 5, 1100)));
    line.pass(2, &udp_from_server(&[0x40; 524]));
    line.pass(3, &udp_from_client(&quic_short(5)));
    assert_eq!(line.answer().heard_bytes(), 500);
}

#[test]
fn a_last_datagram_that_was_lost_was_not_heard() {
    let mut line = Line::default();
    line.pass(0, &udp_from_client(&quic_long(0, 1, 5, 1200)));
    line.arrive(1, &udp_from_client(&quic_short(5)));
    assert_eq!(line.connection().client_heard(), None);
}

#[test]
fn the_table_is_bounded() {
    let mut line = Line::default();
    let place = |line: &mut Line, number: usize| {
        let mut frame = udp_from_client(b"x");
        frame[34..36].copy_from_slice(&u16::try_from(number).expect("a port").to_be_bytes());
        let Frame::Ip(packet) = Frame::parse(&frame) else { panic!("a packet") };
        line.table.observe(0, 0, &packet).place
    };
    for number in 0..MAX_CONNECTIONS {
        assert_eq!(place(&mut line, number), Place::New(number));
    }
    assert_eq!(place(&mut line, MAX_CONNECTIONS), Place::Beyond);
    assert_eq!(place(&mut line, 0), Place::Known(0));
    assert_eq!(line.table.connections().len(), MAX_CONNECTIONS);
}

proptest! {
    /// Whatever is lost, repeated and reordered: each byte counts once.
    #[test]
    fn each_byte_of_a_stream_counts_once(
        isn in any::<u32>(),
        segments in vec((0..600_u32, 1..50_u32), 1..60),
    ) {
        let mut line = Line::default();
        line.pass(0, &tcp_from_client(0, SYN, b""));
        line.pass(0, &tcp_from_server(isn, SYN | ACK, b""));
        let first = isn.wrapping_add(1);
        let mut known = HashSet::new();
        for (now, (offset, bytes)) in (1_u64..).zip(segments) {
            let payload = vec![0xAB; usize::try_from(bytes).expect("small")];
            let before = line.answer().bytes();
            line.pass(now, &tcp_from_server(first.wrapping_add(offset), ACK, &payload));
            let new = (offset..offset + bytes).filter(|byte| known.insert(*byte)).count() as u64;
            prop_assert_eq!(line.answer().bytes(), before + new);
            if new > 0 {
                prop_assert_eq!(line.answer().last(), Some(now));
            }
        }
    }
}
