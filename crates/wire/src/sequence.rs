//! Retransmissions of one side of a TCP connection.

/// Follows the highest sequence number of one side, in 32-bit arithmetic that wraps (RFC 9293, 3.4).
#[derive(Clone, Copy, Debug, Default)]
pub struct SequenceTracker {
    /// One above the highest sequence number sent; `None` before the first segment.
    next: Option<u32>,
    retransmitted_bytes: u64,
}

impl SequenceTracker {
    /// Records `length` bytes of payload whose first has number `sequence`; those below the highest number sent so
    /// far are retransmissions.
    pub fn observe(&mut self, sequence: u32, length: u32) {
        let next = *self.next.get_or_insert(sequence);
        let known = distance(sequence, next).min(length);
        self.retransmitted_bytes += u64::from(known);
        if known < length || distance(next, sequence) > 0 {
            self.next = Some(sequence.wrapping_add(length));
        }
    }

    /// Retransmitted payload bytes.
    pub const fn retransmitted_bytes(&self) -> u64 {
        self.retransmitted_bytes
    }
}

/// How far `to` is ahead of `from`; 0 if it is not.
pub const fn distance(from: u32, to: u32) -> u32 {
    let ahead = to.wrapping_sub(from);
    if ahead < 1 << 31 { ahead } else { 0 }
}
