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
//! * **UDP.** The headers of QUIC's 1-RTT packets tell neither streams nor repetitions. Every datagram of more than
//!   [`FAREWELL_BYTES`] counts. A packet with acknowledgements only is shorter: with an identifier of 20 bytes, 20
//!   ranges fit. So is CONNECTION_CLOSE. A server that has heard of the end sends nothing longer (RFC 9000, 10.2).
//!
//! Copies that the link makes are no deliveries of new bytes, nor are packets that it damaged: their checksum is wrong.

use crate::connection::Nanos;
use crate::stream::Stream;
use crate::tls::LongRecords;
use crate::transport::Segment;

/// The most payload of a server that may follow a client's end without being part of the answer.
pub const FAREWELL_BYTES: u64 = 128;

/// What no datagram of QUIC can use for frames: a byte of header, one of the packet number, and the tag of the AEAD.
const LEAST_OVERHEAD: u64 = 18;

/// The answer on one connection.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    stream: Stream,
    records: LongRecords,
    /// Payload delivered so far, and how much of it after the client's close.
    delivered: u64,
    late: u64,
    counted: Counted,
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

    /// Records that a datagram was delivered at `at`.
    pub fn deliver_datagram(&mut self, at: Nanos, bytes: u32) {
        self.delivered += u64::from(bytes).saturating_sub(LEAST_OVERHEAD);
        if u64::from(bytes) > FAREWELL_BYTES {
            self.count(at);
        }
    }

    /// Records a packet of the client over UDP: what was delivered before is part of the answer.
    pub const fn hear_client(&mut self) {
        self.counted.bytes = self.delivered;
    }

    /// The last delivery that belongs to the answer.
    pub const fn last(&self) -> Option<Nanos> {
        self.counted.last
    }

    /// Payload delivered until the end of the answer, or until the client's end if that is later: new bytes of a
    /// stream; of datagrams what frames can use at the most.
    pub const fn bytes(&self) -> u64 {
        self.counted.bytes
    }

    fn count(&mut self, at: Nanos) {
        self.counted = Counted { last: self.counted.last.max(Some(at)), bytes: self.delivered };
    }
}
