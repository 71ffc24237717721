use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use super::{Arrival, Emulator};
use crate::capture::Capture;
use crate::config::Config;

const MTU: usize = 1500;

fn config(first_direction: &str) -> Config {
    let nothing = r#"{"rate_bit_s": null, "delay_ns": 0, "loss": null, "queue": null}"#;
    let text = format!(
        r#"{{"schema": 1, "mtu": {MTU}, "spin_us": 0, "pcapng": null, "links": [
            {{"name": "a", "hosts": ["c", "s"], "interfaces": ["l0a", "l0b"],
              "directions": [{first_direction}, {nothing}]}}]}}"#
    );
    Config::parse(&text).expect("valid")
}

fn delayed() -> Emulator {
    Emulator::new(&config(r#"{"rate_bit_s": null, "delay_ns": 100, "loss": null, "queue": null}"#), None)
}

/// A UDP datagram from 10.0.0.1 to 10.0.0.2 in a frame of `length` bytes.
fn frame(length: usize) -> Vec<u8> {
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

#[test]
fn frames_leave_when_they_are_due() {
    let mut emulator = delayed();
    emulator.start(0);
    let admission = emulator.arrive(0, arrival(5, frame(100))).expect("no capture");
    assert!(admission.returned.is_none());
    assert_eq!((emulator.next_due(), emulator.busy_directions()), (Some(105), 1));
    assert!(emulator.depart(0, 104).is_none());
    let departure = emulator.depart(0, 110).expect("due");
    assert_eq!((departure.due, departure.counted, departure.frame), (105, true, frame(100)));
    assert_eq!((Emulator::exit(0), Emulator::exit(1), Emulator::exit(2)), (1, 0, 3));
}

#[test]
fn only_what_arrives_after_the_start_counts() {
    let mut emulator = delayed();
    emulator.arrive(0, arrival(5, frame(100))).expect("no capture");
    emulator.start(10);
    emulator.arrive(0, arrival(9, frame(100))).expect("no capture");
    emulator.arrive(0, arrival(9, vec![0; 60])).expect("no capture");
    emulator.arrive(0, arrival(10, frame(100))).expect("no capture");
    let counted: Vec<bool> =
        std::iter::from_fn(|| emulator.depart(0, 1000)).map(|departure| departure.counted).collect();
    assert_eq!(counted, [false, false, true]);
    assert_eq!(emulator.directions()[0].account().arrived.packets, 1);
    assert_eq!(emulator.connections().connections()[0].1.from_client.packets, 1);
    assert_eq!(emulator.oddities().stray, 0);
}

#[test]
fn what_no_wire_would_carry_is_counted_and_dropped() {
    let mut emulator = delayed();
    emulator.start(0);
    let mut broken = frame(100);
    broken[14] = 0;
    let oversize = Arrival { length: MTU + 15, ..arrival(0, frame(MTU + 14)) };
    for odd in [arrival(0, vec![0; 60]), arrival(0, broken), oversize] {
        assert!(emulator.arrive(0, odd).expect("no capture").returned.is_some());
    }
    let unstamped = Arrival { stamped: false, ..arrival(0, frame(MTU + 14)) };
    assert!(emulator.arrive(0, unstamped).expect("no capture").returned.is_none());
    let unfinished = Arrival { finished: false, ..arrival(0, frame(100)) };
    assert!(emulator.arrive(0, unfinished).expect("no capture").returned.is_none());
    let odd = emulator.oddities();
    assert_eq!((odd.stray, odd.malformed, odd.oversize, odd.unstamped), (1, 2, 1, 1));
    assert_eq!(emulator.directions()[0].account().arrived.packets, 2);
}

#[test]
fn a_server_that_speaks_is_sighted_once() {
    let mut emulator = delayed();
    emulator.start(0);
    let mut answer = frame(100);
    answer[26..34].copy_from_slice(&[10, 0, 0, 2, 10, 0, 0, 1]);
    let mut sighted = |interface, frame| {
        emulator.arrive(interface, arrival(0, frame)).expect("no capture").sighting.is_some()
    };
    let sightings = [sighted(0, frame(100)), sighted(1, answer.clone()), sighted(1, answer)];
    assert_eq!(sightings, [false, true, false]);
}

/// A file that can be looked at while the capture has it.
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
    let lossy =
        r#"{"rate_bit_s": null, "delay_ns": 0, "queue": null, "loss": {"probability": 1, "key": "0"}}"#;
    let file = Shared::default();
    let capture = Capture::begin(Box::new(file.clone()) as Box<dyn Write>, ["c", "s"].into_iter());
    let mut emulator = Emulator::new(&config(lossy), Some(capture.expect("memory")));
    let before = file.0.borrow().len();
    emulator.arrive(0, arrival(0, frame(100))).expect("memory");
    assert_eq!(file.0.borrow().len(), before, "the probe phase is not recorded");
    emulator.start(0);
    emulator.arrive(0, arrival(0, frame(100))).expect("memory");
    emulator.arrive(1, arrival(0, frame(100))).expect("memory");
    let written = file.0.borrow().clone();
    let comment = b"lost: chance";
    assert_eq!(written.windows(comment.len()).filter(|window| window == comment).count(), 1);
    let (plain, with_comment) = (32 + 100, 32 + 100 + 4 + 12 + 4);
    assert_eq!(written.len() - before, plain + with_comment);
}
