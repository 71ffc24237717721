//! Finds the first TLS record of type 23 in one side's TCP stream.
//!
//! # Theory of operation
//!
//! In TLS 1.3 over TCP a client's first record of type `application_data` carries its Finished: its first message
//! under the keys that the handshake agreed on (RFC 8446, 5.1). Each 5-byte record header says where the next
//! record begins; headers may be split over segments.
//!
//! The observer is right behind the sender and before any loss, so the stream arrives in order except for
//! retransmissions. A gap therefore means that the observer missed something. Then, or when a header is not one of
//! TLS, the search ends without a result.
//!
//! Early data (0-RTT) is in records of the same type. Only time distinguishes it: a record that leaves before the
//! server's first packet cannot be a Finished.

use crate::sequence::distance;

const HEADER_BYTES: usize = 5;
const APPLICATION_DATA: u8 = 23;
/// RFC 8446, 5.2: 2^14 bytes and at most 256 of expansion; TLS 1.2 allowed 2048.
const LARGEST_RECORD: u16 = (1 << 14) + 2048;

/// Walks the records of one side of a connection.
#[derive(Clone, Debug, Default)]
pub struct RecordWalk {
    state: State,
    next: Option<u32>,
    header: [u8; HEADER_BYTES],
    header_filled: usize,
    /// Remaining bytes of the current record.
    body_left: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Walking,
    Found,
    GivenUp,
}

impl RecordWalk {
    /// Takes a segment's payload, whose first byte has number `sequence`; true when it completes the header of the
    /// first `application_data` record since the server's first packet.
    pub fn observe(&mut self, sequence: u32, payload: &[u8], server_has_spoken: bool) -> bool {
        if self.state != State::Walking || payload.is_empty() {
            return false;
        }
        match self.unseen(sequence, payload) {
            Some(bytes) => self.walk(bytes, server_has_spoken),
            None => self.state = State::GivenUp,
        }
        self.state == State::Found
    }

    /// The part of the payload that is no retransmission; `None` when something is missing before it.
    fn unseen<'a>(&mut self, sequence: u32, payload: &'a [u8]) -> Option<&'a [u8]> {
        let next = *self.next.get_or_insert(sequence);
        if distance(next, sequence) > 0 {
            return None;
        }
        let known = usize::try_from(distance(sequence, next)).ok()?;
        let fresh = payload.get(known..).unwrap_or_default();
        self.next = Some(next.wrapping_add(u32::try_from(fresh.len()).ok()?));
        Some(fresh)
    }

    fn walk(&mut self, mut bytes: &[u8], server_has_spoken: bool) {
        while !bytes.is_empty() && self.state == State::Walking {
            let skipped = usize::try_from(self.body_left).unwrap_or(usize::MAX).min(bytes.len());
            self.body_left -= u32::try_from(skipped).unwrap_or(self.body_left);
            bytes = &bytes[skipped..];
            bytes = self.fill_header(bytes, server_has_spoken);
        }
    }

    fn fill_header<'a>(&mut self, bytes: &'a [u8], server_has_spoken: bool) -> &'a [u8] {
        let wanted = (HEADER_BYTES - self.header_filled).min(bytes.len());
        let (part, rest) = bytes.split_at(wanted);
        self.header[self.header_filled..][..wanted].copy_from_slice(part);
        self.header_filled += wanted;
        if self.header_filled == HEADER_BYTES {
            self.header_filled = 0;
            self.read_header(server_has_spoken);
        }
        rest
    }

    fn read_header(&mut self, server_has_spoken: bool) {
        let [kind, major, _minor, high, low] = self.header;
        let length = u16::from_be_bytes([high, low]);
        if !(20..=24).contains(&kind) || major != 3 || length > LARGEST_RECORD {
            self.state = State::GivenUp;
        } else if kind == APPLICATION_DATA && server_has_spoken {
            self.state = State::Found;
        }
        self.body_left = u32::from(length);
    }
}
