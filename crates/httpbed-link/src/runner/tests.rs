//! The loop between ports of the test's own, by a clock that only the test and the ports advance.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use serde_json::json;

use super::*;
use crate::clock::Source;
use crate::emulator::tests::frame;
use crate::records::Records;
use crate::sys::batch::Stamp;

const DELAY: i64 = 10_000_000;
const BETWEEN_CLOCKS: i64 = 1_700_000_000_000_000_000;

/// A clock that counts its readings. It starts a second after the machine, so the kernel's timers for its times
/// expire at once.
struct Time {
    now: AtomicI64,
    readings: AtomicUsize,
}

impl Time {
    fn new() -> Arc<Self> {
        Arc::new(Self { now: AtomicI64::new(1_000_000_000), readings: AtomicUsize::new(0) })
    }

    fn pass(&self, nanoseconds: i64) {
        self.now.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    fn stamp(&self) -> Stamp {
        Stamp::Kernel(self.now.load(Ordering::Relaxed) + BETWEEN_CLOCKS)
    }
}

impl Source for Arc<Time> {
    fn monotonic(&self) -> i64 {
        self.readings.fetch_add(1, Ordering::Relaxed);
        self.now.load(Ordering::Relaxed)
    }

    fn realtime(&self) -> i64 {
        self.now.load(Ordering::Relaxed) + BETWEEN_CLOCKS
    }
}

/// A port whose host is the other end of a socket.
struct Wire {
    socket: UnixDatagram,
    time: Arc<Time>,
    /// Time that passes before a frame that was not there at the wake-up arrives.
    arriving: i64,
    /// Time that the kernel takes to send a batch.
    sending: i64,
}

impl Port for Wire {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn receive(&mut self, intake: &mut Intake, into: &mut Vec<Received>) -> io::Result<()> {
        let mut bytes = [0; 2000];
        while let Ok(length) = self.socket.recv(&mut bytes) {
            self.time.pass(self.arriving);
            let (frame, stamp) = (intake.copy(&bytes[..length]), self.time.stamp());
            into.push(Received { frame, length, stamp, finished: true });
        }
        Ok(())
    }

    fn send(&mut self, _: &mut Outgoing, frames: &[Vec<u8>]) -> u64 {
        for frame in frames {
            self.socket.send(frame).expect("its host listens");
        }
        self.time.pass(self.sending);
        0
    }

    fn take_drops(&mut self) -> io::Result<u64> {
        Ok(0)
    }
}

/// A link with a delay of [`DELAY`] from the first host to the second, after its start at time 0.
struct Bed<'a> {
    runner: Runner<'a>,
    hosts: [UnixDatagram; 2],
    time: Arc<Time>,
    last: Nanos,
    _stdin: UnixStream,
}

impl<'a> Bed<'a> {
    fn new(config: &'a Config, [arriving, sending]: [i64; 2]) -> Self {
        let time = Time::new();
        let clock = Clock::start(Box::new(Arc::clone(&time)));
        let pairs = [(); 2].map(|()| UnixDatagram::pair().expect("sockets"));
        let [(near, first), (far, second)] = pairs;
        let ports = [near, far].map(|socket| -> Box<dyn Port> {
            socket.set_nonblocking(true).expect("a socket");
            Box::new(Wire { socket, time: Arc::clone(&time), arriving, sending })
        });
        let (stdin, kept) = UnixStream::pair().expect("sockets");
        let emulator = Emulator::new(config, Records::default());
        let stdin = OwnedFd::from(stdin).into();
        let mut runner = Runner::new(config, emulator, ports.into(), stdin, clock).expect("epoll");
        runner.emulator.start(0);
        second.set_nonblocking(true).expect("a socket");
        Self { runner, hosts: [first, second], time, last: 0, _stdin: kept }
    }

    fn send(&self, frames: usize) {
        for _ in 0..frames {
            self.hosts[0].send(&frame(100)).expect("the port listens");
        }
    }

    /// Takes a turn; the readings of the clock.
    fn turn(&mut self) -> usize {
        let before = self.time.readings.load(Ordering::Relaxed);
        (_, self.last) = self.runner.turn(self.last).expect("a turn");
        self.time.readings.load(Ordering::Relaxed) - before
    }

    /// The frames that reached the second host since the last call.
    fn delivered(&self) -> usize {
        std::iter::from_fn(|| self.hosts[1].recv(&mut [0; 2000]).ok()).count()
    }
}

fn config(spin_us: u64) -> Config {
    let link = json!({"name": "a", "hosts": ["c", "s"], "interfaces": ["l0a", "l0b"],
                      "directions": [{"delay_ns": DELAY}, {}]});
    let text = json!({"schema": 2, "mtu": 1500, "spin_us": spin_us, "links": [link]}).to_string();
    Config::parse(&text, &|_| Err(String::new())).expect("valid")
}

/// Readings of the clock in the turns in which `frames` arrive together and leave together.
fn readings(frames: usize) -> [usize; 2] {
    let config = config(0);
    let mut bed = Bed::new(&config, [0, 0]);
    bed.send(frames);
    let arriving = bed.turn();
    bed.time.pass(DELAY);
    let leaving = bed.turn();
    assert_eq!(bed.delivered(), frames);
    [arriving, leaving]
}

#[test]
fn a_packet_costs_one_reading_on_arrival_and_two_on_departure() {
    assert_eq!(readings(1), [1, 2]);
}

#[test]
fn packets_that_arrive_and_leave_together_share_the_readings() {
    assert_eq!(readings(FEW_FRAMES), [1, 2]);
}

#[test]
fn after_many_frames_the_clock_is_read_again() {
    assert_eq!(readings(FEW_FRAMES + 1), [2, 2]);
}

#[test]
fn a_poll_in_vain_costs_one_reading_and_is_counted() {
    let config = config(100);
    let mut bed = Bed::new(&config, [0, 0]);
    bed.send(1);
    bed.turn();
    bed.time.pass(DELAY - 60_000);
    bed.turn();
    assert_eq!(bed.runner.polled, 0, "until then it slept");
    for _ in 0..2 {
        bed.time.pass(20_000);
        assert_eq!(bed.turn(), 1);
    }
    assert_eq!(bed.runner.polled, 40_000);
    bed.time.pass(20_000);
    bed.turn();
    assert_eq!(bed.delivered(), 1);
    assert_eq!(bed.runner.polled, 40_000, "the last one was not in vain");
}

#[test]
fn without_polling_an_overdue_packet_counts_as_no_poll() {
    let config = config(0);
    let mut bed = Bed::new(&config, [0, DELAY]);
    bed.send(1);
    bed.turn();
    bed.send(1);
    bed.time.pass(DELAY - 1);
    bed.turn();
    bed.time.pass(1);
    bed.turn();
    assert_eq!(bed.delivered(), 1, "the second became due while the first was sent");
    bed.turn();
    assert_eq!((bed.delivered(), bed.runner.polled), (1, 0));
}

#[test]
fn recorded_lateness_includes_the_sending() {
    let config = config(0);
    let mut bed = Bed::new(&config, [0, 5_000]);
    bed.send(1);
    bed.turn();
    bed.time.pass(DELAY + 2_000);
    bed.turn();
    assert_eq!((bed.runner.lateness.count(), bed.runner.lateness.max()), (1, Some(7_000)));
    assert_eq!(bed.runner.early, 0);
}

#[test]
fn a_frame_that_arrives_after_the_wake_up_keeps_its_stamp() {
    let config = config(0);
    let mut bed = Bed::new(&config, [3_000, 0]);
    bed.send(1);
    bed.turn();
    bed.time.pass(DELAY - 1);
    bed.turn();
    assert_eq!(bed.delivered(), 0);
    bed.time.pass(1);
    bed.turn();
    assert_eq!(bed.delivered(), 1);
}
