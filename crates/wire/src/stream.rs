//! Which bytes of a TCP stream were delivered for the first time.

/// The delivered bytes of one side, by position: sequence numbers counted on beyond 2^32.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    /// All bytes before it were delivered; `None` before the first delivery.
    next: Option<u64>,
    /// Delivered ranges after a gap, in order; they neither touch nor overlap.
    beyond: Vec<(u64, u64)>,
}

/// The most gaps that are kept. A window of 6 MB with every second segment lost has fewer.
const MOST_GAPS: usize = 2048;

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
            if begin > next && self.beyond.len() <= MOST_GAPS {
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
