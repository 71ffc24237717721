//! Gets back what was on its way to an address that the client has left.
//!
//! quiche (0.30) answers where the client's last packet came from and validates that path, all by itself. But it
//! looks for lost packets path by path, and only when one of that path is acknowledged. After a migration none of the
//! old path is, so what was in flight there is never sent again, but for a packet or two at each probe timeout: the
//! response keeps a hole (<https://github.com/cloudflare/quiche/issues/2452>).
//!
//! So when the client has moved, quiche is made to write one more packet for each path that was left, a `PING`, and
//! it is sent to where the client is now. Its acknowledgement is what quiche waits for: all packets of that path
//! before it are lost or acknowledged then. As it may be lost itself, there are a few of them, a round trip apart.
//! Where the old path's congestion window is full, quiche writes none until that path's next probe timeout.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use quiche::{Connection, PathEvent, PathStats};

use super::outgoing::Outlet;

/// The largest datagram that is sent.
const DATAGRAM_BYTES: usize = 1500;
/// Packets for each path; one in a million is lost four times where 3 % are.
const MOST_PINGS: usize = 4;
/// Between them at least, where the new path's round trip is not known or very short.
const LEAST_PAUSE: Duration = Duration::from_millis(10);

/// What is still to be done.
#[derive(Debug, Default)]
pub struct Salvage {
    left: usize,
    due: Option<Instant>,
}

impl Salvage {
    /// Does what is due.
    pub fn turn(&mut self, quic: &mut Connection, outlet: &Outlet) {
        while let Some(event) = quic.path_event_next() {
            if matches!(event, PathEvent::PeerMigrated(..)) {
                *self = Self { left: MOST_PINGS, due: Some(Instant::now()) };
            }
        }
        if self.due.is_some_and(|due| due <= Instant::now()) {
            let (pause, sent) = send(quic, outlet);
            self.left -= usize::from(sent);
            self.due = (self.left > 0).then(|| Instant::now() + pause);
        }
    }

    /// When there is something to do again.
    pub fn due(&self) -> Option<Instant> {
        self.due
    }
}

/// Sends a packet of each path that was left to where the client is; says how long to wait for what comes of it, and
/// whether there was one of each path.
fn send(quic: &mut Connection, outlet: &Outlet) -> (Duration, bool) {
    let Some(now) = quic.path_stats().find(|path| path.active) else { return (LEAST_PAUSE, false) };
    let was_used = |path: &PathStats| !path.active && path.sent > 0;
    let left: Vec<_> =
        quic.path_stats().filter(was_used).map(|path| (path.local_addr, path.peer_addr)).collect();
    let way = (now.local_addr, now.peer_addr);
    let written = left.iter().filter(|path| ping(quic, outlet, **path, way)).count();
    ((2 * now.rtt).max(LEAST_PAUSE), written == left.len())
}

fn ping(
    quic: &mut Connection,
    outlet: &Outlet,
    path: (SocketAddr, SocketAddr),
    way: (SocketAddr, SocketAddr),
) -> bool {
    let mut packet = [0; DATAGRAM_BYTES];
    let written = quic
        .send_ack_eliciting_on_path(path.0, path.1)
        .and_then(|()| quic.send_on_path(&mut packet, Some(path.0), Some(path.1)));
    let Ok((length, _)) = written else { return false };
    // The next one will do where this one is lost.
    let _ = outlet.send(&packet[..length], None, way.0, way.1);
    true
}
