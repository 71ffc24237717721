//! Packets of a connection that are ready to be sent, and when to send them.
//!
//! Due packets of equal length and destination leave in one call (generic segmentation offload); only the last may
//! be shorter. A packet that is not due yet is kept.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use quiche::{Connection, SendInfo};
use quinn_udp::{Transmit, UdpSocketState};

/// The largest datagram that is sent.
const DATAGRAM_BYTES: usize = 1500;
/// The limit of one call: an IP packet's length is a number of 16 bits.
const BURST_BYTES: usize = 60_000;
/// Packets that are due this soon are sent now, because timers are not more precise: at 10 Mbit/s a packet takes 1
/// ms.
const HORIZON: Duration = Duration::from_micros(250);
/// How long not to use a socket whose buffer is full.
const BREATH: Duration = Duration::from_micros(500);

/// The server's socket.
pub struct Outlet {
    /// The address on which it listens.
    pub local: SocketAddr,
    /// The socket itself.
    pub socket: UdpSocket,
    /// The kernel's offloads for it.
    pub state: UdpSocketState,
}

impl Outlet {
    /// Sends one datagram, or several of `segment` bytes each.
    pub fn send(
        &self,
        bytes: &[u8],
        segment: Option<usize>,
        from: SocketAddr,
        to: SocketAddr,
    ) -> io::Result<()> {
        let src_ip = Some(from.ip()).filter(|address| !address.is_unspecified());
        let transmit =
            Transmit { destination: to, ecn: None, contents: bytes, segment_size: segment, src_ip };
        self.state.try_send((&self.socket).into(), &transmit)
    }
}

/// Packets of one length to one destination, ready to be sent.
#[derive(Default)]
pub struct Outgoing {
    bytes: Vec<u8>,
    segment: usize,
    route: Option<SendInfo>,
    /// A packet that did not fit the burst, or is not due yet.
    kept: Option<(Vec<u8>, SendInfo)>,
}

impl Outgoing {
    /// Sends what may be sent now; returns when there will be more, if known.
    pub fn flush(&mut self, quic: &mut Connection, outlet: &Outlet) -> Option<Instant> {
        loop {
            self.fill(quic, outlet);
            let Some(route) = self.route else { return self.kept.as_ref().map(|(_, route)| route.at) };
            match outlet.send(&self.bytes, Some(self.segment), route.from, route.to) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Some(Instant::now() + BREATH),
                // Any other network error counts as loss.
                _ => self.clear(),
            }
        }
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.route = None;
    }

    fn fill(&mut self, quic: &mut Connection, outlet: &Outlet) {
        if self.route.is_some() {
            return;
        }
        let most = outlet.state.max_gso_segments();
        let mut count = 0;
        while count < most && self.bytes.len() + DATAGRAM_BYTES <= BURST_BYTES {
            let Some((packet, route)) = self.kept.take().or_else(|| next(quic)) else { return };
            if route.at > Instant::now() + HORIZON || !self.takes(&packet, &route) {
                self.kept = Some((packet, route));
                return;
            }
            if self.route.is_none() {
                self.segment = packet.len();
            }
            self.bytes.extend_from_slice(&packet);
            self.route = Some(route);
            count += 1;
            if packet.len() < self.segment {
                return;
            }
        }
    }

    fn takes(&self, packet: &[u8], route: &SendInfo) -> bool {
        let same = |first: SendInfo| {
            (first.from, first.to) == (route.from, route.to) && packet.len() <= self.segment
        };
        self.route.is_none_or(same)
    }
}

fn next(quic: &mut Connection) -> Option<(Vec<u8>, SendInfo)> {
    let mut packet = vec![0; DATAGRAM_BYTES];
    let (length, route) = quic.send(&mut packet).ok()?;
    packet.truncate(length);
    Some((packet, route))
}
