//! Packet-delivery traces.

use std::fmt;
use std::num::NonZeroU64;

/// Delivery opportunities at given times, repeated for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    opportunities_ms: Vec<u64>,
}

/// What is wrong with a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    line: usize,
    reason: &'static str,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

impl std::error::Error for TraceError {}

impl Trace {
    /// Bytes that may leave at each opportunity.
    pub const OPPORTUNITY_BYTES: u32 = 1504;

    /// Reads mahimahi's format.
    ///
    /// # Errors
    /// When a line is no number, numbers fall, or the last is 0.
    pub fn parse(text: &[u8]) -> Result<Self, TraceError> {
        let error = |line, reason| TraceError { line, reason };
        let text = std::str::from_utf8(text).map_err(|_| error(1, "no text"))?;
        let mut opportunities_ms = Vec::new();
        for (index, line) in text.lines().enumerate() {
            opportunities_ms.push(line.trim().parse().map_err(|_| error(index + 1, "no number of ms"))?);
        }
        match opportunities_ms.last() {
            None | Some(0) => Err(error(opportunities_ms.len(), "must end after 0 ms")),
            Some(_) if !opportunities_ms.is_sorted() => Err(error(0, "not ascending")),
            Some(_) => Ok(Self { opportunities_ms }),
        }
    }

    /// Mean rate in bit/s.
    #[must_use]
    pub fn mean_bit_s(&self) -> NonZeroU64 {
        let bits = self.opportunities_ms.len() as u64 * u64::from(Self::OPPORTUNITY_BYTES) * 8 * 1000;
        let period = self.opportunities_ms.last().copied().unwrap_or(1);
        NonZeroU64::new(bits / period).unwrap_or(NonZeroU64::MIN)
    }
}
