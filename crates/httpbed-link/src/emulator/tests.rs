use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use serde_json::{Value, json};
use wire::{Codepoint, Frame};

use super::{Arrival, Emulator, Happening, Outbox};
use crate::capture::Capture;
use crate::config::Config;
use crate::log::PacketLog;
use crate::records::{Out, Records};

mod changes;
mod connections;
mod links;
mod properties;
mod translation;

const MTU: usize = 1500;

fn config(links: &Value) -> Config {
    let text = json!({"schema": 2, "mtu": MTU, "spin_us": 0, "links": links}).to_string();
    Config::parse(&text, &|_| Err(String::new())).expect("valid")
}

/// A link with the given first direction and further fields.
fn link(direction: &Value, more: &Value) -> Value {
    let mut link = json!({"name": "a", "hosts": ["c", "s"], "interfaces": ["l0a", "l0b"],
                          "directions": [direction, {}]});
    for (key, value) in more.as_object().expect("an object") {
        link[key] = value.clone();
    }
    json!([link])
}

fn with(direction: &Value) -> Emulator {
    Emulator::new(&config(&link(direction, &json!({}))), Records::default())
}

fn delayed() -> Emulator {
    with(&json!({"delay_ns": 100}))
}

/// A UDP datagram from 10.0.0.1 to 10.0.0.2 in a frame of `length` bytes.
pub fn frame(length: usize) -> Vec<u8> {
    let mut frame = vec![0; length];
    let total = u16::try_from(length - 14).expect("small").to_be_bytes();
    let udp = u16::try_from(length - 34).expect("small").to_be_bytes();
    frame[12..18].copy_from_slice(&[8, 0, 0x45, 0, total[0], total[1]]);
    frame[23] = 17;
    frame[26..34].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
    frame[38..40].copy_from_slice(&udp);
    frame
}

fn arrival(at: u64, frame: Vec<u8>) -> Arrival {
    Arrival { at, stamp: 0, stamped: true, finished: true, length: frame.len(), frame }
}

/// Due times of counted packets and all frames that leave in a direction by `now`.
fn leaving(emulator: &mut Emulator, direction: usize, now: u64) -> (Vec<u64>, Vec<Vec<u8>>) {
    let mut outbox = Outbox::default();
    emulator.depart(direction, now, 1000, &mut outbox).expect("memory");
    (outbox.due, outbox.frames)
}

/// Runs up to `end` as the loop does, without lateness.
fn run(emulator: &mut Emulator, end: u64) -> Vec<(u64, usize)> {
    let mut left = Vec::new();
    while let Some(now) = emulator.next_due().filter(|due| *due <= end) {
        while let Some(direction) = emulator.look(now) {
            let (_, frames) = leaving(emulator, direction, now);
            left.extend(frames.iter().map(|_| (now, direction)));
        }
    }
    left
}

fn happenings(emulator: &mut Emulator) -> Vec<Happening> {
    std::iter::from_fn(|| emulator.next_happening()).collect()
}

#[test]
fn frames_leave_when_they_are_due() {
    let mut emulator = delayed();
    emulator.start(0);
    assert!(emulator.arrive(0, arrival(5, frame(100))).is_none());
    assert_eq!(emulator.next_due(), Some(105));
    assert_eq!((emulator.look(104), emulator.look(105)), (None, Some(0)));
    assert_eq!(leaving(&mut emulator, 0, 104), (vec![], vec![]));
    assert_eq!(leaving(&mut emulator, 0, 110), (vec![105], vec![frame(100)]));
    assert_eq!(emulator.next_due(), None);
    assert_eq!((Emulator::exit(0), Emulator::exit(1), Emulator::exit(2)), (1, 0, 3));
}

#[test]
fn a_batch_is_bounded_and_the_rest_still_due() {
    let mut emulator = delayed();
    (0..10).for_each(|at| assert!(emulator.arrive(0, arrival(at, frame(100))).is_none()));
    let mut outbox = Outbox::default();
    emulator.depart(0, 1000, 7, &mut outbox).expect("memory");
    assert_eq!((outbox.frames.len(), emulator.look(1000)), (7, Some(0)));
    assert_eq!(leaving(&mut emulator, 0, 1000).1.len(), 3);
}

#[test]
fn only_what_arrives_after_the_start_counts() {
    let mut emulator = delayed();
    emulator.arrive(0, arrival(5, frame(100)));
    emulator.start(10);
    emulator.arrive(0, arrival(9, frame(100)));
    emulator.arrive(0, arrival(9, vec![0; 60]));
    emulator.arrive(0, arrival(10, frame(100)));
    let (due, frames) = leaving(&mut emulator, 0, 1000);
    assert_eq!((due, frames.len()), (vec![110], 3));
    assert_eq!(emulator.directions()[0].account().arrived.packets, 1);
    assert_eq!(emulator.connections().connections()[0].1.from_client.packets, 1);
    assert_eq!(emulator.sent()[0].stray_frames, 0);
}

#[test]
fn oversize_frames_are_counted_and_never_carried() {
    let mut emulator = delayed();
    emulator.start(0);
    let mut broken = frame(100);
    broken[14] = 0;
    let oversize = Arrival { length: MTU + 15, ..arrival(0, frame(MTU + 14)) };
    for odd in [arrival(0, vec![0; 60]), arrival(0, broken), oversize] {
        assert!(emulator.arrive(0, odd).is_some());
    }
    let unstamped = Arrival { stamped: false, ..arrival(0, frame(MTU + 14)) };
    assert!(emulator.arrive(0, unstamped).is_none());
    let unfinished = Arrival { finished: false, ..arrival(0, frame(100)) };
    assert!(emulator.arrive(0, unfinished).is_none());
    let odd = emulator.oddities();
    assert_eq!((odd.oversize, odd.unstamped, odd.unfinished), (1, 1, 1));
    let [client, server] = [0, 1].map(|side| emulator.sent()[side]);
    assert_eq!((client.stray_frames, client.malformed_packets), (1, 1));
    assert_eq!((server.stray_frames, server.malformed_packets), (0, 0));
    assert_eq!(emulator.directions()[0].account().arrived.packets, 2);
}

#[test]
fn the_first_payload_of_a_server_is_reported_once() {
    let mut emulator = delayed();
    emulator.start(0);
    let mut answer = frame(100);
    answer[26..34].copy_from_slice(&[10, 0, 0, 2, 10, 0, 0, 1]);
    emulator.arrive(0, arrival(0, frame(100)));
    assert_eq!(happenings(&mut emulator), []);
    emulator.arrive(1, arrival(0, answer.clone()));
    emulator.arrive(1, arrival(0, answer));
    assert_eq!(happenings(&mut emulator), [Happening::ServerSpoke(0)]);
}

/// 86 bytes of IP and 14 of Ethernet at 8 bit/us.
#[test]
fn the_rate_includes_the_overhead_and_the_report_does_not() {
    let mut emulator =
        with(&json!({"overhead_bytes": 14, "rate": {"model": "constant", "bit_s": 8_000_000}}));
    emulator.start(0);
    emulator.arrive(0, arrival(0, frame(100)));
    assert_eq!(run(&mut emulator, 1_000_000), [(100_000, 0)]);
    assert_eq!(emulator.directions()[0].account().delivered.bytes, 100);
}

#[test]
fn a_corrupted_packet_differs_in_one_bit_of_its_payload() {
    let mut emulator = with(&json!({"corruption": {"probability": 1, "key": "5"}}));
    emulator.start(0);
    emulator.arrive(0, arrival(0, frame(100)));
    let (_, frames) = leaving(&mut emulator, 0, 0);
    let differing: Vec<usize> = (0..100).filter(|place| frames[0][*place] != frame(100)[*place]).collect();
    assert!(differing.len() == 1 && differing[0] >= 34, "{differing:?}");
    assert_eq!((frames[0][differing[0]] ^ frame(100)[differing[0]]).count_ones(), 1);
}

#[test]
fn a_duplicated_packet_leaves_twice() {
    let mut emulator = with(&json!({"duplication": {"probability": 1, "key": "5"}, "delay_ns": 3}));
    emulator.start(0);
    emulator.arrive(0, arrival(4, frame(100)));
    assert_eq!(leaving(&mut emulator, 0, 7), (vec![7, 7], vec![frame(100), frame(100)]));
}

/// A queue that holds 120 ms of packets for seconds: `CoDel` has to act, and marks ECN-capable packets.
#[test]
fn an_ecn_capable_packet_is_marked_and_another_is_dropped() {
    let queue =
        json!({"discipline": "codel", "target_ns": 5_000_000, "interval_ns": 100_000_000, "ecn": true});
    let slow = json!({"rate": {"model": "constant", "bit_s": 1_000_000}, "queue": queue});
    for (class, marks) in [(2, true), (0, false)] {
        let mut emulator = with(&slow);
        emulator.start(0);
        let mut packet = frame(MTU + 14);
        packet[15] = class;
        let mut marked = 0;
        for n in 0..300 {
            let now = n * 10_000_000;
            emulator.arrive(0, arrival(now, packet.clone()));
            for frame in leaving(&mut emulator, 0, now).1 {
                let Frame::Ip(left) = Frame::parse(&frame) else { panic!("{frame:02x?}") };
                marked += u64::from(left.ecn == Codepoint::Ce);
            }
        }
        let account = emulator.directions()[0].account();
        assert_eq!(
            (account.marked.packets > 0, account.dropped(link_model::Cause::Aqm).tally.packets > 0),
            (marks, !marks)
        );
        assert_eq!(marked, account.marked.packets);
    }
}

/// A file that can be read while it is written.
#[derive(Clone, Default)]
struct Shared(Rc<RefCell<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn the_capture_has_every_packet_and_the_fate_of_the_dropped() {
    let lossy = json!({"loss": {"model": "bernoulli", "probability": 1, "key": "0"}});
    let file = Shared::default();
    let capture = Capture::begin(Box::new(file.clone()) as Out, ["c", "s"].into_iter()).expect("memory");
    let records = Records::new(Some(capture), None);
    let mut emulator = Emulator::new(&config(&link(&lossy, &json!({}))), records);
    let before = file.0.borrow().len();
    emulator.arrive(0, arrival(0, frame(100)));
    run(&mut emulator, 0);
    emulator.start(1);
    emulator.arrive(0, arrival(1, frame(100)));
    emulator.arrive(1, arrival(1, frame(100)));
    assert_eq!(file.0.borrow().len(), before, "no fate is known and the idle phase is not recorded");
    run(&mut emulator, 1);
    emulator.finish().expect("memory");
    let written = file.0.borrow().clone();
    let comment = b"lost: chance";
    assert_eq!(written.windows(comment.len()).filter(|window| window == comment).count(), 1);
    let (plain, with_comment) = (32 + 100, 32 + 100 + 4 + 12 + 4);
    assert_eq!(written.len() - before, plain + with_comment);
}

#[test]
fn the_log_has_every_fate_in_order() {
    let listed = json!({"loss": {"model": "listed", "numbers": [1]}, "delay_ns": 100,
                        "duplication": {"probability": 1, "key": "1"}});
    let file = Shared::default();
    let log = PacketLog::begin(Box::new(file.clone()) as Out).expect("memory");
    let mut emulator = Emulator::new(&config(&link(&listed, &json!({}))), Records::new(None, Some(log)));
    emulator.start(1000);
    emulator.arrive(0, arrival(1010, frame(100)));
    emulator.arrive(0, arrival(1020, frame(114)));
    run(&mut emulator, 2000);
    emulator.finish().expect("memory");
    let text = String::from_utf8(file.0.borrow().clone()).expect("text");
    let lines: Vec<&str> = text.lines().skip(1).collect();
    assert_eq!(lines, ["20\t-\t100\t0\t1\tlost", "10\t110\t86\t0\t0\tdelivered", "10\t110\t86\t0\t0\tcopy"]);
}

#[test]
fn a_timeline_counts_each_packet_once_and_no_copy() {
    let lossy = json!({"loss": {"model": "listed", "numbers": [1]}, "delay_ns": 100, "overhead_bytes": 38,
                       "duplication": {"probability": 1, "key": "1"}});
    let mut emulator =
        Emulator::new(&config(&link(&lossy, &json!({"timelines": [0, null]}))), Records::default());
    emulator.arrive(0, arrival(0, frame(100)));
    emulator.start(1000);
    for number in 0..3 {
        emulator.arrive(0, arrival(1000 + number, frame(114)));
    }
    run(&mut emulator, 2000);
    emulator.arrive(1, arrival(3000, frame(100)));
    run(&mut emulator, 4000);
    let found = serde_json::to_value(emulator.timelines().report(0)).expect("JSON");
    assert_eq!(found["sent_bytes"], json!([300]));
    assert_eq!(found["delivered_bytes"], json!([200]));
    assert_eq!(found["dropped_packets"], json!([1]));
    assert_eq!(found["answered_bytes"], json!([300]));
    assert_eq!(found["rtt_us"], json!([1]), "the answer left 2 us after they arrived");
    assert!(emulator.timelines().report(1).is_none());
}
