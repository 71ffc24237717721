//! One side of a TCP connection: the bytes that were sent again, and those that were delivered for the first time.

/// The delivered bytes of one side, by position: sequence numbers counted on beyond 2^32.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    /// All bytes before it were delivered; `None` before the first delivery.
    next: Option<u64>,
    /// Delivered ranges after a gap, in order; they neither touch nor overlap.
    beyond: Vec<(u64, u64)>,
}

/// The most gaps that are kept. A window of 6 MB with every second segment lost has fewer.
const MAX_GAPS: usize = 2048;

impl Stream {
    /// Records that `bytes` from number `first` on were delivered; returns how many of them are new.
    pub fn deliver(&mut self, first: u32, bytes: u32) -> u64 {
        let next = *self.next.get_or_insert(1 << 32 | u64::from(first));
        let begin = position(next, first).max(next);
        let end = position(next, first) + u64::from(bytes);
        if end <= begin { 0 } else { self.add(begin, end) + self.close_gaps() }
    }

    /// Adds a range that is not empty and not before `next`; returns its new bytes.
    fn add(&mut self, begin: u64, end: u64) -> u64 {
        let from = self.beyond.partition_point(|range| range.1 < begin);
        let to = self.beyond.partition_point(|range| range.0 <= end);
        let met = &self.beyond[from..to];
        let known: u64 = met.iter().map(|range| range.1.min(end).saturating_sub(range.0.max(begin))).sum();
        let begins = met.first().map_or(begin, |range| range.0.min(begin));
        let ends = met.last().map_or(end, |range| range.1.max(end));
        self.beyond.splice(from..to, [(begins, ends)]);
        end - begin - known
    }

    /// Moves `next` on. If there are too many gaps, the first counts as delivered; returns its bytes.
    fn close_gaps(&mut self) -> u64 {
        let mut closed = 0;
        while let (Some(next), Some(&(begin, end))) = (self.next, self.beyond.first()) {
            if begin > next && self.beyond.len() <= MAX_GAPS {
                break;
            }
            closed += begin.saturating_sub(next);
            self.next = Some(end);
            self.beyond.remove(0);
        }
        closed
    }
}

/// The position of a sequence number that is less than 2^31 away from `near`.
fn position(near: u64, sequence: u32) -> u64 {
    let low = u32::try_from(near & u64::from(u32::MAX)).unwrap_or_default();
    let ahead = sequence.wrapping_sub(low);
    if ahead < 1 << 31 {
        near + u64::from(ahead)
    } else {
        near.saturating_sub(u64::from(low.wrapping_sub(sequence)))
    }
}

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
