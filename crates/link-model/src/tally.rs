//! Packets with their bytes, and durations.

use hdrhistogram::Histogram;

use crate::{Nanos, Packet};

/// Packets and bytes together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets.
    pub packets: u64,
    /// Bytes, as [`Packet::bytes`] counts them.
    pub bytes: u64,
}

impl Tally {
    pub(crate) fn add<B>(&mut self, packet: &Packet<B>) {
        self.packets += 1;
        self.bytes += u64::from(packet.bytes);
    }
}

/// Durations: quantiles to three significant digits, the largest exactly.
#[derive(Clone, Debug)]
pub struct Distribution {
    histogram: Histogram<u64>,
    max: Option<Nanos>,
}

impl Distribution {
    /// No durations yet.
    ///
    /// # Panics
    /// Never: three digits are within what the histogram takes.
    #[must_use]
    pub fn new() -> Self {
        let histogram = Histogram::new(3).expect("0 to 5 digits are accepted");
        Self { histogram, max: None }
    }

    /// Adds a duration.
    ///
    /// # Panics
    /// Never: the histogram grows to what is recorded.
    pub fn record(&mut self, duration: Nanos) {
        self.histogram.record(duration).expect("a histogram without bounds takes every value");
        self.max = self.max.max(Some(duration));
    }

    /// How many durations were recorded.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The duration that a share `quantile` (0 to 1) of the recorded ones does not exceed, at most 0.1 % too large.
    /// `None` before the first.
    #[must_use]
    pub fn quantile(&self, quantile: f64) -> Option<Nanos> {
        self.max.map(|max| self.histogram.value_at_quantile(quantile).min(max))
    }

    /// The largest duration, exactly.
    #[must_use]
    pub const fn max(&self) -> Option<Nanos> {
        self.max
    }
}

impl Default for Distribution {
    fn default() -> Self {
        Self::new()
    }
}
