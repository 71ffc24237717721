//! Examples with numbers that can be checked by hand.

use std::num::NonZeroU64;
use std::sync::Arc;

use link_model::{
    Cause, Chance, Change, Direction, Ecn, Fate, Impairments, Jitter, JitterShape, LossModel, Nanos, Packet,
    Queue, QueueLimit, Rate, Reordering, Stage, Stream,
};

const MS: Nanos = 1_000_000;
const DELIVERED: Fate = Fate::Delivered;
const DOWN: Fate = Fate::Dropped(Cause::Down);

fn mbit_s(rate: u64) -> NonZeroU64 {
    NonZeroU64::new(rate * 1_000_000).expect("not 0")
}

/// 1500 bytes take 1 ms at 12 Mbit/s.
fn impairments(limit: QueueLimit) -> Impairments {
    let queue = Queue { limit, ..Queue::default() };
    Impairments { rate: Some(Rate::Constant(mbit_s(12))), queue, delay: 10 * MS, ..Impairments::default() }
}

fn link(limit: QueueLimit) -> Direction<char> {
    Direction::new(impairments(limit))
}

fn push(link: &mut Direction<char>, now: Nanos, body: char) {
    link.push(now, Packet::new(1500, body));
}

/// Everything that leaves: time, packet, and fate.
fn drain(link: &mut Direction<char>) -> Vec<(Nanos, char, Fate)> {
    std::iter::from_fn(|| link.pop(Nanos::MAX)).map(|left| (left.at, left.packet.body, left.fate)).collect()
}

#[test]
fn packets_wait_for_those_before_them() {
    let mut link = link(QueueLimit::Packets(10));
    link.start(0);
    for (now, body) in [(0, 'a'), (0, 'b'), (MS / 2, 'c'), (5 * MS, 'd')] {
        push(&mut link, now, body);
    }
    assert_eq!(link.next_due(), Some(11 * MS));
    assert_eq!(link.pop(11 * MS - 1), None);
    let expected = [(11 * MS, 'a'), (12 * MS, 'b'), (13 * MS, 'c'), (16 * MS, 'd')];
    assert_eq!(drain(&mut link), expected.map(|(at, body)| (at, body, DELIVERED)));
    let account = link.account();
    assert_eq!(account.queue_delay.max(), Some(3 * MS / 2));
    assert_eq!(
        (account.busy, account.first_arrival, account.last_delivery),
        (4 * MS, Some(0), Some(16 * MS))
    );
    assert_eq!(account.utilisation(), Some(0.25));
}

#[test]
fn a_drop_by_a_full_queue_is_reported_at_once() {
    let mut link = link(QueueLimit::Packets(2));
    link.start(0);
    push(&mut link, 0, 'a');
    push(&mut link, 0, 'b');
    push(&mut link, MS - 1, 'c');
    assert_eq!(link.next_due(), Some(MS - 1));
    let dropped = link.pop(MS - 1).expect("the drop");
    assert_eq!((dropped.at, dropped.packet.body, dropped.fate), (MS - 1, 'c', Fate::Dropped(Cause::Queue)));
    // 'a' has left exactly now.
    push(&mut link, MS, 'd');
    push(&mut link, MS, 'e');
    assert_eq!(link.account().dropped(Cause::Queue).numbers, [2, 4]);
    assert_eq!(link.queue_packets_max(), 2);
}

/// Packets of the idle phase occupy the link but use no draw, have no number and are not counted.
#[test]
fn the_probe_phase_affects_only_the_queue() {
    let always = Chance { probability: 1.0, key: 1 };
    let mut link = Direction::new(Impairments {
        loss: Some(LossModel::Bernoulli(always)),
        corruption: Some(always),
        duplication: Some(always),
        jitter: Some(Jitter { shape: JitterShape::Table(Arc::from([MS.cast_signed()])), key: 1 }),
        reordering: Some(Reordering { probability: always.probability, key: always.key, hold: MS }),
        delay: 0,
        ..impairments(QueueLimit::Packets(10))
    });
    push(&mut link, 0, 'p');
    link.start(100);
    push(&mut link, 99, 'q');
    push(&mut link, 100, 'a');
    assert_eq!(link.in_flight().packets, 0);
    let expected = [(100, 'a', Fate::Dropped(Cause::Chance)), (MS, 'p', DELIVERED), (2 * MS, 'q', DELIVERED)];
    assert_eq!(drain(&mut link), expected);
    let account = link.account();
    assert_eq!((account.arrived.packets, account.delivered.packets), (1, 0));
    assert_eq!(account.dropped(Cause::Chance).numbers, [0]);
    assert_eq!((account.corrupted.packets, account.duplicated.packets), (0, 0));
}

#[test]
fn a_stamp_that_goes_back_does_not_change_the_order() {
    let mut link = link(QueueLimit::Unlimited);
    push(&mut link, 5 * MS, 'a');
    push(&mut link, 4 * MS, 'b');
    assert_eq!(drain(&mut link), [(16 * MS, 'a', DELIVERED), (17 * MS, 'b', DELIVERED)]);
}

#[test]
fn a_copy_follows_its_original() {
    let duplication = Some(Chance { probability: 1.0, key: 1 });
    let mut link = Direction::new(Impairments { duplication, ..impairments(QueueLimit::Unlimited) });
    link.start(0);
    push(&mut link, 0, 'a');
    push(&mut link, 0, 'b');
    let left: Vec<_> = std::iter::from_fn(|| link.pop(Nanos::MAX)).collect();
    let seen: Vec<_> = left.iter().map(|left| (left.at / MS, left.packet.body, left.packet.copy)).collect();
    assert_eq!(seen, [(11, 'a', false), (12, 'a', true), (13, 'b', false), (14, 'b', true)]);
    let account = link.account();
    assert_eq!((account.arrived.packets, account.duplicated.packets, account.delivered.packets), (2, 2, 4));
    assert_eq!(account.duplicated_numbers, [0, 1]);
    assert_eq!(account.reordered.packets, 0);
}

/// The second of three is held back by 5 ms; the third does not wait for it.
#[test]
fn a_packet_held_back_is_overtaken() {
    let key =
        (0..1000).find(|key| [0, 1, 2].map(|n| Stream::new(*key).unit(n) < 0.5) == [false, true, false]);
    let chance = Chance { probability: 0.5, key: key.expect("one in eight") };
    let reordering = Some(Reordering { probability: chance.probability, key: chance.key, hold: 5 * MS });
    let mut link = Direction::new(Impairments { reordering, ..impairments(QueueLimit::Unlimited) });
    link.start(0);
    for body in ['a', 'b', 'c'] {
        push(&mut link, 0, body);
    }
    assert_eq!(
        drain(&mut link),
        [(11 * MS, 'a', DELIVERED), (13 * MS, 'c', DELIVERED), (17 * MS, 'b', DELIVERED)]
    );
    assert_eq!(link.account().reordered.packets, 1);
}

/// 'b' would overtake 'a' by its jitter; it arrives together with it instead.
#[test]
fn jitter_keeps_the_order() {
    let samples: Arc<[i64]> = Arc::from([4 * MS.cast_signed(), -4 * MS.cast_signed()]);
    let key = (0..1000).find(|key| [0, 1].map(|n| Stream::new(*key).unit(n) < 0.5) == [true, false]);
    let jitter = Some(Jitter { shape: JitterShape::Table(samples), key: key.expect("one in four") });
    let mut link = Direction::new(Impairments { delay: 10 * MS, jitter, ..Impairments::default() });
    link.start(0);
    push(&mut link, 0, 'a');
    push(&mut link, MS, 'b');
    assert_eq!(drain(&mut link), [(14 * MS, 'a', DELIVERED), (14 * MS, 'b', DELIVERED)]);
}

/// At 1 ms 'a' is in the delay line, 'b' in service, 'c' waits, and the link goes down for 2 ms.
#[test]
fn a_link_that_goes_down_drops_the_queue_but_not_packets_that_left_it() {
    let mut link = link(QueueLimit::Unlimited);
    link.schedule(MS, Change::Down);
    link.schedule(3 * MS, Change::Up);
    link.start(0);
    for (now, body) in [(0, 'a'), (0, 'b'), (0, 'c'), (2 * MS, 'd'), (3 * MS, 'e')] {
        push(&mut link, now, body);
    }
    let expected = [
        (MS, 'b', DOWN),
        (MS, 'c', DOWN),
        (2 * MS, 'd', DOWN),
        (11 * MS, 'a', DELIVERED),
        (14 * MS, 'e', DELIVERED),
    ];
    assert_eq!(drain(&mut link), expected);
    assert_eq!(link.account().dropped(Cause::Down).numbers, [1, 2, 3]);
}

/// Packets that have left the queue keep their delay, and no packet overtakes them when the delay falls.
#[test]
fn a_new_delay_applies_to_packets_still_queued() {
    let mut link = link(QueueLimit::Unlimited);
    link.schedule(3 * MS / 2, Change::Delay(20 * MS));
    link.schedule(5 * MS / 2, Change::Delay(MS));
    link.start(0);
    for body in ['a', 'b', 'c'] {
        push(&mut link, 0, body);
    }
    let expected = [(11 * MS, 'a', DELIVERED), (22 * MS, 'b', DELIVERED), (22 * MS, 'c', DELIVERED)];
    assert_eq!(drain(&mut link), expected);
}

/// A late command cannot undo what was done by then.
#[test]
fn a_change_by_the_caller_takes_effect_at_the_last_arrival_at_the_earliest() {
    let mut link = link(QueueLimit::Unlimited);
    link.start(0);
    push(&mut link, 4 * MS, 'a');
    link.change(2 * MS, Change::Down);
    assert!(link.is_down());
    assert_eq!(drain(&mut link), [(4 * MS, 'a', DOWN)]);
}

/// The caller looked at 5 ms, so the change of 4 ms is made. It then pushes a packet that arrived at 3 ms.
#[test]
fn an_arrival_before_a_change_that_was_made_is_raised_to_it() {
    let mut link = link(QueueLimit::Unlimited);
    link.schedule(4 * MS, Change::Down);
    link.start(0);
    assert_eq!(link.pop(5 * MS), None);
    push(&mut link, 3 * MS, 'a');
    assert_eq!(drain(&mut link), [(4 * MS, 'a', DOWN)]);
}

/// A higher rate brings a queued packet forward, and `next_due` returns that time.
#[test]
fn next_due_is_not_after_a_scheduled_change() {
    let mut link = link(QueueLimit::Unlimited);
    link.schedule(MS / 2, Change::Rate(mbit_s(120)));
    link.start(0);
    push(&mut link, 0, 'a');
    assert_eq!(link.next_due(), Some(MS / 2));
    assert_eq!(link.pop(MS / 2), None);
    // Half of the packet is left at the change, and takes a tenth of the time.
    assert_eq!(link.next_due(), Some(10 * MS + MS / 2 + MS / 20));
    assert_eq!(drain(&mut link), [(10 * MS + MS / 2 + MS / 20, 'a', DELIVERED)]);
}

/// Only marks set here are counted.
#[test]
fn a_packet_that_came_marked_is_not_counted_as_marked() {
    let mut link = link(QueueLimit::Unlimited);
    link.start(0);
    let mut packet = Packet::new(1500, 'a');
    packet.ecn = Ecn::Ce;
    link.push(0, packet);
    assert_eq!(drain(&mut link).len(), 1);
    assert_eq!(link.account().marked.packets, 0);
}
