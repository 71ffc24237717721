//! Finds TLS records in one side's TCP stream: the client's first of type 23, and the end of the server's last long
//! one.
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

use crate::stream::distance;

const HEADER_BYTES: usize = 5;
const APPLICATION_DATA: u8 = 23;
/// RFC 8446, 5.2: 2^14 bytes and at most 256 of expansion; TLS 1.2 allowed 2048.
const LARGEST_RECORD: u16 = (1 << 14) + 2048;

/// Walks the records of one side of a connection.
#[derive(Clone, Debug, Default)]
struct RecordWalk {
    /// Whether the stream cannot be followed.
    lost: bool,
    next: Option<u32>,
    header: [u8; HEADER_BYTES],
    header_filled: usize,
    /// Remaining bytes of the current record.
    body_left: u32,
}

/// The header of a record.
struct Record {
    kind: u8,
    /// Its size with the header.
    bytes: u64,
    /// The sequence number after its last byte.
    end: u32,
}

impl RecordWalk {
    /// Takes a segment's payload, whose first byte has number `sequence`; calls `each` with every record whose header
    /// is now complete.
    fn observe(&mut self, sequence: u32, payload: &[u8], mut each: impl FnMut(Record)) {
        if self.lost || payload.is_empty() {
            return;
        }
        match self.unseen(sequence, payload) {
            Some(bytes) => self.walk(bytes, &mut each),
            None => self.lost = true,
        }
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

    fn walk(&mut self, mut bytes: &[u8], each: &mut impl FnMut(Record)) {
        while !bytes.is_empty() && !self.lost {
            let skipped = usize::try_from(self.body_left).unwrap_or(usize::MAX).min(bytes.len());
            self.body_left -= u32::try_from(skipped).unwrap_or(self.body_left);
            bytes = self.fill_header(&bytes[skipped..], each);
        }
    }

    fn fill_header<'a>(&mut self, bytes: &'a [u8], each: &mut impl FnMut(Record)) -> &'a [u8] {
        let wanted = (HEADER_BYTES - self.header_filled).min(bytes.len());
        let (part, rest) = bytes.split_at(wanted);
        self.header[self.header_filled..][..wanted].copy_from_slice(part);
        self.header_filled += wanted;
        if self.header_filled == HEADER_BYTES {
            self.header_filled = 0;
            if let Some(record) = self.read_header(rest.len()) {
                each(record);
            }
        }
        rest
    }

    /// Reads a complete header, after which `rest` bytes are known; `None` if it is not one of TLS.
    fn read_header(&mut self, rest: usize) -> Option<Record> {
        let [kind, major, _minor, high, low] = self.header;
        let length = u16::from_be_bytes([high, low]);
        self.lost = !(20..=24).contains(&kind) || major != 3 || length > LARGEST_RECORD;
        self.body_left = u32::from(length);
        let begin = self.next?.wrapping_sub(u32::try_from(rest).ok()?);
        let bytes = u64::from(length) + HEADER_BYTES as u64;
        (!self.lost).then(|| Record { kind, bytes, end: begin.wrapping_add(u32::from(length)) })
    }
}

/// Finds the end of a client's handshake.
#[derive(Clone, Debug, Default)]
pub struct FinishedWatch {
    records: RecordWalk,
    found: bool,
}

impl FinishedWatch {
    /// Takes a segment's payload, whose first byte has number `sequence`; true when it completes the header of the
    /// first `application_data` record since the server's first packet.
    pub fn observe(&mut self, sequence: u32, payload: &[u8], server_has_spoken: bool) -> bool {
        if self.found {
            return false;
        }
        let found = &mut self.found;
        self.records.observe(sequence, payload, |record| {
            *found |= record.kind == APPLICATION_DATA && server_has_spoken;
        });
        self.found
    }
}

/// Finds where a server's last long record ends.
#[derive(Clone, Debug, Default)]
pub struct LongRecords {
    records: RecordWalk,
    end: Option<u32>,
}

impl LongRecords {
    /// Takes a segment's payload, whose first byte has number `sequence`; a record is long with more than `most` bytes.
    pub fn observe(&mut self, sequence: u32, payload: &[u8], most: u64) {
        let end = &mut self.end;
        self.records.observe(sequence, payload, |record| {
            if record.bytes > most {
                *end = Some(record.end);
            }
        });
    }

    /// Whether a byte is in a long record, or before one.
    pub fn include(&self, sequence: u32) -> bool {
        self.end.is_some_and(|end| distance(sequence, end) > 0)
    }
}
