//! Plays bytes as frames through the emulator, and checks what must hold for any frames.
//!
//! The fuzzer's target `frames` calls it, and the ordinary tests call it with the fuzzer's seeds. The bytes are
//! records: a byte with the interface (its lower two bits) and the gap to the record before, two bytes with the length,
//! and the frame.

use std::io;

use link_model::Nanos;

use crate::config::Config;
use crate::emulator::{Arrival, Emulator, Outbox};
use crate::records::Records;

/// Two links, with all that changes or drops a frame: one is clean with a NAT, one has every impairment.
const LINKS: &str = r#"{"schema": 2, "mtu": 1500, "spin_us": 0, "links": [
    {"name": "a", "hosts": ["client", "router"], "interfaces": ["a0", "a1"], "nat": true, "directions": [
        {"rate": {"model": "constant", "bit_s": 10000000}},
        {"rate": {"model": "constant", "bit_s": 10000000},
         "queue": {"discipline": "fq_codel", "limit": {"packets": 100}, "target_ns": 5000000,
                   "interval_ns": 100000000, "ecn": true, "flows": 64, "quantum_bytes": 1514}, "delay_ns": 100000}]},
    {"name": "b", "hosts": ["router", "server"], "interfaces": ["b0", "b1"], "directions": [
        {"delay_ns": 1000, "corruption": {"probability": 0.2, "key": "1"},
         "reordering": {"probability": 0.1, "hold_ns": 100000, "key": "4"}},
        {"delay_ns": 1000, "duplication": {"probability": 0.2, "key": "2"},
         "loss": {"model": "bernoulli", "probability": 0.2, "key": "3"}}]}
]}"#;
const GAP: Nanos = 20_000;

/// Plays the frames in `bytes`.
///
/// # Panics
/// When the emulator panics, loses a packet from its account, or counts more than was delivered.
pub fn play(bytes: &[u8]) {
    let config = Config::parse(LINKS, &|_| Err(String::new())).expect("links that can be read");
    let mut emulator = Emulator::new(&config, Records::default());
    emulator.start(0);
    let mut now = 0;
    for (interface, gap, frame) in records(bytes) {
        now += gap;
        pass(&mut emulator, now).expect("no files");
        let arrival = Arrival {
            at: now,
            stamp: 0,
            stamped: true,
            finished: true,
            length: frame.len(),
            frame: frame.to_vec(),
        };
        let _ = emulator.arrive(interface, arrival);
    }
    pass(&mut emulator, Nanos::MAX / 2).expect("no files");
    check(&emulator);
}

fn records(mut bytes: &[u8]) -> impl Iterator<Item = (usize, Nanos, &[u8])> {
    std::iter::from_fn(move || {
        let (head, rest) = bytes.split_first_chunk::<3>()?;
        let length = usize::from(u16::from_be_bytes([head[1], head[2]])).min(rest.len());
        let (frame, rest) = rest.split_at(length);
        bytes = rest;
        Some((usize::from(head[0] & 3), Nanos::from(head[0] >> 2) * GAP, frame))
    })
}

/// Takes out everything that is due up to `end`, as the loop does.
fn pass(emulator: &mut Emulator, end: Nanos) -> io::Result<()> {
    let mut outbox = Outbox::default();
    while let Some(now) = emulator.next_due().filter(|due| *due <= end) {
        while let Some(direction) = emulator.look(now) {
            emulator.depart(direction, now, 64, &mut outbox)?;
            outbox.frames.clear();
        }
        while emulator.next_happening().is_some() {}
    }
    Ok(())
}

fn check(emulator: &Emulator) {
    for direction in emulator.directions() {
        let account = direction.account();
        let dropped: u64 = link_model::Cause::ALL.iter().map(|of| account.dropped(*of).tally.packets).sum();
        let came = account.arrived.packets + account.duplicated.packets;
        assert_eq!(came, account.delivered.packets + dropped, "a packet without a fate");
    }
    for (link, connection) in emulator.connections().connections() {
        let from_server = &emulator.directions()[2 * link..2 * link + 2];
        let delivered: u64 = from_server.iter().map(|of| of.account().delivered.bytes).sum();
        let (bytes, last) = (connection.answer.bytes(), connection.answer.last());
        assert!(bytes <= delivered, "an answer of {bytes} bytes of {delivered} delivered");
        assert!(bytes == 0 || last.is_some() || connection.from_client.packets > 0);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::play;

    /// What the fuzzer begins with: recorded packets, and what it once found.
    fn corpus() -> Vec<Vec<u8>> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/frames");
        let mut files: Vec<_> =
            fs::read_dir(folder).expect("a corpus").flatten().map(|of| of.path()).collect();
        files.sort();
        files.iter().map(|file| fs::read(file).expect("readable")).collect()
    }

    #[test]
    fn the_corpus_is_survived() {
        let corpus = corpus();
        assert!(corpus.len() > 3);
        for bytes in &corpus {
            play(bytes);
        }
    }

    proptest! {
        #[test]
        fn bent_recordings_are_survived(
            which in any::<prop::sample::Index>(),
            bends in vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        ) {
            let mut bytes = which.get(&corpus()).clone();
            for (place, byte) in bends {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
            play(&bytes);
        }
    }
}
