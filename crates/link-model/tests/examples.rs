//! A link by example, with numbers that can be checked by hand.

use std::num::NonZeroU64;

use link_model::{Cause, Direction, Impairments, Nanos, Packet, QueueLimit, Stage};

const MS: Nanos = 1_000_000;

/// 1500 bytes take 1 ms at 12 Mbit/s.
fn link(limit: QueueLimit) -> Direction<char> {
    let rate = NonZeroU64::new(12_000_000).expect("not 0");
    Direction::new(Impairments { bottleneck: Some((rate, limit)), delay: 10 * MS, ..Impairments::default() })
}

fn push(link: &mut Direction<char>, now: Nanos, body: char) -> Option<Cause> {
    link.push(now, Packet::new(1500, body)).err().map(|dropped| dropped.cause)
}

/// All due times and bodies.
fn drain(link: &mut Direction<char>) -> Vec<(Nanos, char)> {
    std::iter::from_fn(|| Some((link.next_due()?, link.pop(Nanos::MAX)?.body))).collect()
}

#[test]
fn packets_wait_for_those_before_them() {
    let mut link = link(QueueLimit::Packets(10));
    link.start(0);
    for (now, body) in [(0, 'a'), (0, 'b'), (MS / 2, 'c'), (5 * MS, 'd')] {
        assert_eq!(push(&mut link, now, body), None);
    }
    assert_eq!(link.pop(11 * MS - 1), None);
    assert_eq!(drain(&mut link), [(11 * MS, 'a'), (12 * MS, 'b'), (13 * MS, 'c'), (16 * MS, 'd')]);
    let account = link.account();
    assert_eq!(account.queue_delay.max(), Some(3 * MS / 2));
    assert_eq!(
        (account.busy, account.first_arrival, account.last_delivery),
        (4 * MS, Some(0), Some(16 * MS))
    );
    assert_eq!(account.utilisation(), Some(0.25));
}

#[test]
fn the_packet_in_service_counts_against_the_limit() {
    let mut link = link(QueueLimit::Packets(2));
    assert_eq!(push(&mut link, 0, 'a'), None);
    assert_eq!(push(&mut link, 0, 'b'), None);
    assert_eq!(push(&mut link, MS - 1, 'c'), Some(Cause::Queue));
    // 'a' has left exactly now.
    assert_eq!(push(&mut link, MS, 'd'), None);
    assert_eq!(push(&mut link, MS, 'e'), Some(Cause::Queue));
    assert_eq!(link.queue_packets_max(), 2);
}

#[test]
fn a_byte_limit_takes_what_fits() {
    let mut link = link(QueueLimit::Bytes(3000));
    assert_eq!(push(&mut link, 0, 'a'), None);
    assert!(link.push(0, Packet::new(1501, 'b')).is_err());
    assert_eq!(push(&mut link, 0, 'c'), None);
    assert!(link.push(0, Packet::new(1, 'd')).is_err());
}

/// Packets of the probe phase occupy the link but are not drawn for, numbered or counted.
#[test]
fn the_probe_phase_leaves_no_trace_but_the_queue() {
    let rate = NonZeroU64::new(12_000_000).expect("not 0");
    let mut link = Direction::new(Impairments {
        loss: Some((1.0, 1)),
        bottleneck: Some((rate, QueueLimit::Packets(10))),
        delay: 0,
    });
    assert_eq!(push(&mut link, 0, 'p'), None);
    link.start(100);
    assert_eq!(push(&mut link, 99, 'q'), None);
    assert_eq!(push(&mut link, 100, 'a'), Some(Cause::Chance));
    assert_eq!(link.in_flight().packets, 0);
    assert_eq!(drain(&mut link), [(MS, 'p'), (2 * MS, 'q')]);
    assert_eq!(link.account().arrived.packets, 1);
    assert_eq!(link.account().delivered.packets, 0);
    assert_eq!(link.account().lost_numbers, [0]);
}

#[test]
fn a_stamp_that_goes_back_does_not_change_the_order() {
    let mut link = link(QueueLimit::Unlimited);
    assert_eq!(push(&mut link, 5 * MS, 'a'), None);
    assert_eq!(push(&mut link, 4 * MS, 'b'), None);
    assert_eq!(drain(&mut link), [(16 * MS, 'a'), (17 * MS, 'b')]);
}
