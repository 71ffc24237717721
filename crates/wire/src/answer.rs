//! When the answer to a client ended, and how many of its bytes were delivered until then.
//!
//! # Theory of operation
//!
//! A client says when its request is over: it closes (TCP: FIN or RST; UDP: its last packet). It may say so too early,
//! while the server still sends. So the answer lasts until the last delivery of payload that the client did not have
//! before:
//!
//! * **TCP.** New bytes of the server's stream, also those of a retransmission that fills a gap. After its close an
//!   honest client still gets what a server says at the end: an alert (24 bytes in a record of TLS 1.3), HTTP/2's
//!   GOAWAY (39), a window update. Up to [`FAREWELL_BYTES`] in records that are not longer are no part of the answer.
//!   Bytes of a longer record are, however few are missing.
//! * **UDP.** The headers of QUIC's 1-RTT packets tell neither streams nor repetitions: a datagram after the client's
//!   end may be the rest of the answer, or a repetition that was needless and under way. So this module only reports,
//!   and its reader, who knows the length of the bodies, decides. A datagram is *large* with more than
//!   [`FAREWELL_BYTES`]. A packet with acknowledgements only is shorter: with an identifier of 20 bytes, 20 ranges fit.
//!   So is `CONNECTION_CLOSE`. A server that has heard of the end sends nothing larger (RFC 9000, 10.2).
//!
//! Copies that the link makes are no deliveries of new bytes, nor are packets that it damaged: their checksum is wrong.

use crate::quic;
use crate::stream::Stream;
use crate::tls::LongRecords;
use crate::transport::Segment;

/// Nanoseconds on the observer's clock.
pub type Nanos = u64;

/// The most payload of a server that may follow a client's end without being part of the answer.
pub const FAREWELL_BYTES: u64 = 128;

/// What no datagram of QUIC can use for a body, beside the connection ID: a byte of header, one of the packet number,
/// two of a STREAM frame (RFC 9000, 19.8), and the tag of the AEAD.
const MIN_OVERHEAD: u64 = 20;

/// The answer on one connection.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    stream: Stream,
    records: LongRecords,
    /// Payload delivered so far, and how much of it after the client's close.
    delivered: u64,
    late: u64,
    counted: Counted,
    /// What a body can have used of the datagrams that begin with a short header. Those of the handshake carry
    /// certificates; they must not pass for a body that the client did not wait for.
    in_short: u64,
    /// The same when the client's last datagram arrived at the link.
    heard_bytes: u64,
    /// Bytes of the connection ID in the server's datagrams.
    id_bytes: Option<u64>,
    /// The last arrival of a large datagram at the link.
    last_large: Option<Nanos>,
    /// The last delivery, if it is no part of the answer where the client closed before it.
    tail: Option<Tail>,
}

/// The answer up to a time.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    last: Option<Nanos>,
    bytes: u64,
}

/// A delivery that may turn out to be late.
#[derive(Clone, Copy, Debug)]
struct Tail {
    at: Nanos,
    bytes: u64,
    /// What was counted before it.
    before: Counted,
}

impl Answer {
    /// Records that a segment of the server arrived at the link.
    pub fn arrived(&mut self, sequence: u32, segment: &Segment<'_>) {
        if !segment.rst {
            self.records.observe(sequence, segment.payload, FAREWELL_BYTES);
        }
    }

    /// Records that `bytes` of the server's stream, from number `first` on, were delivered at `at`.
    pub fn deliver_stream(&mut self, at: Nanos, first: u32, bytes: u32, close: Option<Nanos>) {
        let new = self.stream.deliver(first, bytes);
        if new == 0 {
            return;
        }
        self.delivered += new;
        let is_certain = new > FAREWELL_BYTES || self.records.include(first);
        self.tail = (!is_certain).then_some(Tail { at, bytes: new, before: self.counted });
        let is_late = close.is_some_and(|close| at > close);
        self.late += if is_late { new } else { 0 };
        if !is_late || is_certain || self.late > FAREWELL_BYTES {
            self.count(at);
        }
    }

    /// Records that the client closed at `at`. A delivery that came later may have been recorded before.
    pub fn close(&mut self, at: Nanos) {
        if let Some(tail) = self.tail.filter(|tail| tail.at > at) {
            (self.counted, self.late) = (tail.before, tail.bytes);
        }
    }

    /// Records that a datagram of the server arrived at the link.
    pub fn arrived_datagram(&mut self, at: Nanos, bytes: usize) {
        if bytes as u64 > FAREWELL_BYTES {
            self.last_large = Some(at);
        }
    }

    /// Records that a datagram of the server was delivered at `at`.
    pub fn deliver_datagram(&mut self, at: Nanos, bytes: u32, is_long: bool) {
        let usable = u64::from(bytes).saturating_sub(MIN_OVERHEAD + self.id_bytes.unwrap_or(0));
        self.delivered += usable;
        self.in_short += if is_long { 0 } else { usable };
        if u64::from(bytes) > FAREWELL_BYTES {
            self.count(at);
        }
    }

    /// Records that a datagram of the client arrived at the link.
    pub fn hear_client(&mut self, payload: &[u8]) {
        self.heard_bytes = self.in_short;
        self.counted.bytes = self.delivered;
        self.id_bytes = self.id_bytes.or_else(|| quic::chosen_id_bytes(payload));
    }

    /// What a body can have used until the client's last datagram, without datagrams of the handshake; of UDP.
    #[must_use]
    pub const fn heard_bytes(&self) -> u64 {
        self.heard_bytes
    }

    /// When the server's last large datagram arrived at the link.
    #[must_use]
    pub const fn last_large(&self) -> Option<Nanos> {
        self.last_large
    }

    /// The last delivery that belongs to the answer.
    #[must_use]
    pub const fn last(&self) -> Option<Nanos> {
        self.counted.last
    }

    /// Payload delivered until the end of the answer, or until the client's end if that is later: new bytes of a
    /// stream; of datagrams what a body can use at the most.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.counted.bytes
    }

    fn count(&mut self, at: Nanos) {
        self.counted = Counted { last: self.counted.last.max(Some(at)), bytes: self.delivered };
    }
}
