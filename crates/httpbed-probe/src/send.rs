//! Sends a flow at its times, and records when each packet was due and when it was sent.
//!
//! A packet's bytes are prepared before it is due, its stamp is written last. After sleeping too long it sends
//! overdue packets at once; checks of the link therefore use the real times, not the planned ones. The time after
//! the call is recorded, too: a sender can lose its CPU between its stamp and the wire.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::iter;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

use nix::sys::prctl;

use crate::clock;
use crate::datagrams;
use crate::payload::{self, Header};
use crate::plan::{HEADERS_BYTES, Sending, Train};

/// The sender's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Packets passed to the kernel.
    pub packets: u64,
    /// Calls that the kernel rejected, so their packets never left.
    pub failures: u64,
}

/// Packets of one call: numbers, size and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Group {
    first: u64,
    count: usize,
    bytes: usize,
    due: i64,
}

/// Sends all packets of a plan.
///
/// # Errors
/// When a socket cannot be prepared or the times cannot be written.
pub fn send(plan: &Sending) -> io::Result<Sent> {
    // Timers fire within 1 ns instead of the usual 50 us of slack.
    prctl::set_timerslack(1)?;
    let sockets = (0..plan.ports).map(|port| open(plan, port)).collect::<io::Result<Vec<_>>>()?;
    let mut out = BufWriter::new(File::create(&plan.out)?);
    let mut sent = Sent { packets: 0, failures: 0 };
    let mut buffer = Vec::new();
    for (place, group) in groups(plan, clock::monotonic() + plan.begin_ns).enumerate() {
        let socket = &sockets[place % sockets.len()];
        let payload_bytes = group.bytes - HEADERS_BYTES;
        if plan.segments > 1 {
            datagrams::segment(socket, payload_bytes)?;
        }
        fill(&mut buffer, plan.key, &group, payload_bytes);
        wait(group.due, plan.spin_ns);
        let now = stamp(&mut buffer, plan.key, &group, payload_bytes);
        match deliver(socket, &buffer) {
            Ok(_) => sent.packets += group.count as u64,
            Err(_) => sent.failures += 1,
        }
        let times = [group.due, now, clock::monotonic()];
        for time in iter::repeat_n(times, group.count).flatten() {
            out.write_all(&time.to_le_bytes())?;
        }
    }
    out.flush().map(|()| sent)
}

fn open(plan: &Sending, port: u16) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    socket.connect(SocketAddr::new(plan.to.ip(), plan.to.port() + port))?;
    if !plan.checksum {
        datagrams::leave_out_checksum(&socket)?;
    }
    if plan.ecn {
        datagrams::say_capable_of_ecn(&socket)?;
    }
    Ok(socket)
}

/// The packets of a plan, grouped by call.
fn groups(plan: &Sending, begin: i64) -> impl Iterator<Item = Group> + use<'_> {
    let (mut number, mut due) = (0, begin);
    plan.trains.iter().enumerate().flat_map(move |(place, train)| {
        let (first, started) = (number, due);
        let lead = if place == 0 { 0 } else { train.gap_ns };
        number += train.count as u64;
        let steps = i64::try_from(train.count.saturating_sub(1)).unwrap_or(0);
        due = started + lead + steps * train.gap_ns;
        cut(*train, plan.segments, first, started + lead)
    })
}

fn cut(train: Train, segments: usize, first: u64, began: i64) -> impl Iterator<Item = Group> {
    (0..train.count).step_by(segments).map(move |place| Group {
        first: first + place as u64,
        count: segments.min(train.count - place),
        bytes: train.bytes,
        due: began + i64::try_from(place).unwrap_or(0) * train.gap_ns,
    })
}

fn fill(buffer: &mut Vec<u8>, key: u64, group: &Group, payload_bytes: usize) {
    buffer.resize(group.count * payload_bytes, 0);
    for (number, payload) in (group.first..).zip(buffer.chunks_exact_mut(payload_bytes)) {
        payload::fill(payload, key, number);
    }
}

fn stamp(buffer: &mut [u8], key: u64, group: &Group, payload_bytes: usize) -> i64 {
    let sent = clock::monotonic();
    for (number, payload) in (group.first..).zip(buffer.chunks_exact_mut(payload_bytes)) {
        payload::stamp(payload, key, Header { number, sent });
    }
    sent
}

/// Sleeps, and polls the clock at the end, because a sleep lasts too long.
fn wait(due: i64, spin_ns: i64) {
    while clock::monotonic() < due - spin_ns {
        clock::sleep_until(due - spin_ns);
    }
    while clock::monotonic() < due {
        std::hint::spin_loop();
    }
}

/// An error may belong to an earlier datagram (its port was closed), so each is sent twice if needed.
fn deliver(socket: &UdpSocket, bytes: &[u8]) -> io::Result<usize> {
    socket.send(bytes).or_else(|_| socket.send(bytes))
}

#[cfg(test)]
mod tests {
    use super::{Group, groups};
    use crate::plan::{Sending, Train};

    fn plan(segments: usize, trains: Vec<Train>) -> Sending {
        Sending {
            to: "127.0.0.1:5001".parse().unwrap(),
            ports: 1,
            key: 0,
            checksum: true,
            ecn: false,
            segments,
            spin_ns: 0,
            begin_ns: 0,
            trains,
            out: "/dev/null".into(),
        }
    }

    #[test]
    fn trains_follow_each_other_with_their_gaps() {
        let burst = Train { count: 2, bytes: 100, gap_ns: 0 };
        let paced = Train { count: 3, bytes: 200, gap_ns: 10 };
        let due: Vec<i64> =
            groups(&plan(1, vec![burst, paced, burst]), 1000).map(|group| group.due).collect();
        assert_eq!(due, [1000, 1000, 1010, 1020, 1030, 1030, 1030]);
    }

    #[test]
    fn a_train_is_split_into_calls() {
        let train = Train { count: 5, bytes: 100, gap_ns: 7 };
        let group = |first, count, due| Group { first, count, bytes: 100, due };
        let all: Vec<Group> = groups(&plan(2, vec![train]), 0).collect();
        assert_eq!(all, [group(0, 2, 0), group(2, 2, 14), group(4, 1, 28)]);
    }
}
