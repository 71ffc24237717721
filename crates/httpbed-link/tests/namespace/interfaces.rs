//! Interfaces that come and go.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::bed::{Emulator, Hosts};
use crate::scenarios::{CLIENT, MTU, SERVER, assert_clean, unimpaired};

/// Number of pings that return; the emulator is started and stopped.
fn pings(hosts: &Hosts, mut emulator: Emulator) -> (usize, Value) {
    let mut echo = hosts.start(SERVER, &["echo"]);
    assert_eq!(echo.line(), "ready");
    emulator.start();
    let returned = hosts.start(CLIENT, &["ping", "5"]).numbers().len();
    let (result, _) = emulator.stop();
    echo.child.kill().expect("our child");
    (returned, result)
}

/// A loop that does not sleep uses at least half of a busy CPU; a loop that sleeps uses almost none.
fn assert_sleeps(emulator: &Emulator) {
    const WATCHED: Duration = Duration::from_millis(500);
    let before = emulator.cpu_time();
    thread::sleep(WATCHED);
    let used = emulator.cpu_time().saturating_sub(before);
    assert!(used < WATCHED / 5, "{used:?} of CPU time in {WATCHED:?} without anything to do");
}

pub fn an_interface_goes_down_and_up() {
    let hosts = Hosts::new(MTU);
    let emulator = Emulator::new([&unimpaired(), &unimpaired()]);
    Hosts::take_down(CLIENT);
    assert_sleeps(&emulator);
    hosts.bring_up(CLIENT);
    assert_sleeps(&emulator);
    let (returned, result) = pings(&hosts, emulator);
    assert_eq!(returned, 5);
    assert_clean(&result);
}

pub fn an_interface_is_up_later_than_the_emulator() {
    let hosts = Hosts::new(MTU);
    Hosts::take_down(SERVER);
    let emulator = Emulator::new([&unimpaired(), &unimpaired()]);
    assert_sleeps(&emulator);
    hosts.bring_up(SERVER);
    let (returned, result) = pings(&hosts, emulator);
    assert_eq!(returned, 5);
    assert_clean(&result);
}

/// A bed may have 128 links of some Mbit/s.
pub fn rings_take_as_much_memory_as_the_rate_needs() {
    const MB: u64 = 1_000_000;
    let _hosts = Hosts::new(MTU);
    let slow = json!({"rate": {"model": "constant", "bit_s": 10_000_000}});
    for (direction, most) in [(&slow, 5 * MB), (&unimpaired(), 16 * MB)] {
        let mut emulator = Emulator::new([direction, direction]);
        let bytes = emulator.ring_bytes();
        assert!((MB..most).contains(&bytes), "{bytes} bytes, {direction}");
        emulator.hang_up();
        assert_eq!(emulator.exit_code(), Some(0));
    }
}
