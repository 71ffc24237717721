//! Which packets arrive twice.

use crate::{Arrival, ArrivalStage, Chance, Stream, Verdict};

/// Copies packet `n` when draw `n` is below the probability.
#[derive(Clone, Copy, Debug)]
pub struct Duplication {
    probability: f64,
    stream: Stream,
}

impl Duplication {
    /// Copies by `chance`.
    #[must_use]
    pub const fn new(chance: Chance) -> Self {
        Self { probability: chance.probability, stream: Stream::new(chance.key) }
    }

    /// Whether packet `number` is followed by a copy.
    #[must_use]
    pub fn copies(&self, number: u64) -> bool {
        self.stream.unit(number) < self.probability
    }
}

impl ArrivalStage for Duplication {
    fn judge(&mut self, arrival: Arrival) -> Verdict {
        if self.copies(arrival.number) { Verdict::Copy } else { Verdict::Pass }
    }
}
