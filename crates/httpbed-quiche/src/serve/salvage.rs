//! Recovers packets that were in flight to an address that the client has left.
//!
//! quiche (0.30) answers to the source of the client's last packet and validates that path by itself. But it
//! detects lost packets for each path separately, and only when a packet of that path is acknowledged. After a
//! migration no packet of the old path is acknowledged, so quiche does not retransmit what was in flight there,
//! apart from a packet or two at each probe timeout, and the response has a hole
//! (<https://github.com/cloudflare/quiche/issues/2452>).
//!
//! So after a migration quiche writes one more packet for each path that was left, a `PING`, and it is sent to the
//! client's new address. Its acknowledgement makes quiche decide about all earlier packets of that path: they are
//! lost or acknowledged. The packet may be lost itself, so there are a few of them, a round trip apart. If the old
//! path's congestion window is full, quiche writes none until that path's next probe timeout.
//!
//! The cost is this number of packets each time that a used path is left. Their connection ID is that of the old
//! path, so it appears on two paths, against RFC 9000 section 9.5. Upstream's own server does nothing like this, as
//! `serve --help` and the recipe say.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use quiche::{Connection, PathEvent, PathStats};

use super::outgoing::Outlet;

/// The largest datagram that is sent.
const DATAGRAM_BYTES: usize = 1500;
/// Packets for each path that is left; all four are lost once in a million times at 3 % loss.
const MAX_PINGS: usize = 4;
/// The least time between them, if the new path's round trip is unknown or very short.
const MIN_PAUSE: Duration = Duration::from_millis(10);

/// The server's address and the client's.
type Path = (SocketAddr, SocketAddr);

/// The remaining work.
#[derive(Debug, Default)]
pub struct Salvage {
    left: Left,
    due: Option<Instant>,
}

/// The paths that were left.
#[derive(Debug, Default)]
struct Left {
    /// How many packets to send for each.
    pings: Vec<(Path, usize)>,
    /// How many packets had been sent on each path with its last PING: no earlier packet is in flight there.
    settled: HashMap<Path, usize>,
}

impl Salvage {
    /// Handles migrations, and sends due packets.
    pub fn turn(&mut self, quic: &mut Connection, outlet: &Outlet) {
        while let Some(event) = quic.path_event_next() {
            if matches!(event, PathEvent::PeerMigrated(..)) {
                let others = quic.path_stats().filter(|path| !path.active);
                self.left.moved(&others.map(|path| (name(&path), path.sent)).collect::<Vec<_>>());
                self.due = Some(Instant::now());
            }
        }
        if self.due.is_some_and(|due| due <= Instant::now()) {
            let pause = self.send(quic, outlet);
            self.due = (!self.left.pings.is_empty()).then(|| Instant::now() + pause);
        }
    }

    /// When to call `turn` again.
    pub fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Sends a packet of each path that was left to the client's address; returns how long to wait for the effect.
    fn send(&mut self, quic: &mut Connection, outlet: &Outlet) -> Duration {
        let Some(now) = quic.path_stats().find(|path| path.active) else { return MIN_PAUSE };
        self.left.spend(|path| ping(quic, outlet, path, name(&now)));
        (2 * now.rtt).max(MIN_PAUSE)
    }
}

impl Left {
    /// Records a migration: the paths not in use, and how many packets were sent on each.
    fn moved(&mut self, others: &[(Path, usize)]) {
        let is_other = |path: &Path| others.iter().any(|(other, _)| other == path);
        self.pings.retain(|(path, _)| is_other(path));
        self.settled.retain(|path, _| is_other(path));
        for (path, sent) in others {
            if *sent > self.settled.get(path).copied().unwrap_or(0) {
                self.pings.retain(|(known, _)| known != path);
                self.pings.push((*path, MAX_PINGS));
            }
        }
    }

    /// Sends one packet of each path that has packets left; `ping` returns how many were then sent on the path.
    fn spend(&mut self, mut ping: impl FnMut(Path) -> Option<usize>) {
        for (path, pings) in &mut self.pings {
            if let Some(sent) = ping(*path) {
                *pings -= 1;
                self.settled.insert(*path, sent);
            }
        }
        self.pings.retain(|(_, pings)| *pings > 0);
    }
}

fn name(path: &PathStats) -> Path {
    (path.local_addr, path.peer_addr)
}

fn ping(quic: &mut Connection, outlet: &Outlet, path: Path, route: Path) -> Option<usize> {
    let mut packet = [0; DATAGRAM_BYTES];
    let written = quic
        .send_ack_eliciting_on_path(path.0, path.1)
        .and_then(|()| quic.send_on_path(&mut packet, Some(path.0), Some(path.1)));
    let (length, _) = written.ok()?;
    // If this packet is lost, the next one serves.
    let _ = outlet.send(&packet[..length], None, route.0, route.1);
    quic.path_stats().find(|stats| name(stats) == path).map(|stats| stats.sent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(port: u16) -> Path {
        ("192.0.2.2:443".parse().unwrap(), SocketAddr::new("192.0.2.1".parse().unwrap(), port))
    }

    /// The PINGs sent on each path while the client moves from one to the next, and afterwards.
    fn pings(paths: u16) -> HashMap<Path, usize> {
        let (mut left, mut pings) = (Left::default(), HashMap::new());
        let before = 10;
        let mut spend = |left: &mut Left| {
            left.spend(|path| {
                let count = pings.entry(path).or_insert(0);
                *count += 1;
                Some(before + *count)
            });
            pings.clone()
        };
        let mut sent = HashMap::new();
        for here in 1..=paths {
            let others: Vec<_> =
                (0..here).map(|port| (path(port), before + sent.get(&path(port)).unwrap_or(&0))).collect();
            left.moved(&others);
            sent = spend(&mut left);
        }
        while !left.pings.is_empty() {
            sent = spend(&mut left);
        }
        sent
    }

    #[test]
    fn a_path_that_is_left_gets_exactly_four_packets() {
        let expected: HashMap<_, _> = (0..20).map(|port| (path(port), MAX_PINGS)).collect();
        assert_eq!(pings(20), expected);
    }

    #[test]
    fn a_path_that_was_used_again_gets_its_packets_again() {
        let mut left = Left::default();
        left.moved(&[(path(1), 10), (path(2), 0)]);
        assert_eq!(left.pings, [(path(1), MAX_PINGS)], "nothing was sent on the other");
        left.spend(|_| None);
        assert_eq!(left.pings, [(path(1), MAX_PINGS)], "none could be written");
        left.moved(&[(path(2), 30)]);
        assert_eq!(left.pings, [(path(2), MAX_PINGS)], "the client is back on the first");
        left.spend(|_| Some(31));
        left.moved(&[(path(1), 20), (path(2), 31)]);
        assert_eq!(left.pings, [(path(2), MAX_PINGS - 1), (path(1), MAX_PINGS)]);
    }
}
