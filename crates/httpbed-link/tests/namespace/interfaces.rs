//! Interfaces that come and go.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::bed::{Emulator, Hosts};
use crate::scenarios::{CLIENT, MTU, SERVER, assert_clean, unimpaired};

/// The pings that come back; the emulator has started and ends.
fn pings(hosts: &Hosts, mut emulator: Emulator) -> (usize, Value) {
    let mut echo = hosts.start(SERVER, &["echo"]);
    assert_eq!(echo.line(), "ready");
    emulator.start();
    let returned = hosts.start(CLIENT, &["ping", "5"]).numbers().len();
    let (result, _) = emulator.stop();
    echo.child.kill().expect("our child");
    (returned, result)
}

/// A loop that does not sleep uses all that others leave it, half of a busy CPU at least; one that sleeps nothing.
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

/// 128 links of some Mbit/s are in one bed now and then.
pub fn rings_take_as_much_memory_as_the_rate_needs() {
    const MB: u64 = 1_000_000;
    let _hosts = Hosts::new(MTU);
    let slow = json!({"rate": {"model": "constant", "bit_s": 10_000_000}});
    for (direction, most) in [(&slow, 4 * MB), (&unimpaired(), 8 * MB)] {
        let mut emulator = Emulator::new([direction, direction]);
        let bytes = emulator.ring_bytes();
        assert!((MB..most).contains(&bytes), "{bytes} bytes, {direction}");
        emulator.hang_up();
        assert_eq!(emulator.exit_code(), Some(0));
    }
}
