//! Which packets are damaged.

use crate::{Arrival, ArrivalStage, Chance, Stream, Verdict};

/// Damages packet `n` when draw `2 n` is below the probability; draw `2 n + 1` selects the bit. It must be another
/// draw: the deciding draw is small for every damaged packet, and would select bits near the front.
#[derive(Clone, Copy, Debug)]
pub struct Corruption {
    probability: f64,
    stream: Stream,
}

impl Corruption {
    /// Damage by `chance`.
    #[must_use]
    pub const fn new(chance: Chance) -> Self {
        Self { probability: chance.probability, stream: Stream::new(chance.key) }
    }

    /// The random word that selects the bit, if packet `number` is damaged.
    #[must_use]
    pub fn damage(&self, number: u64) -> Option<u64> {
        let decision = number.wrapping_mul(2);
        (self.stream.unit(decision) < self.probability).then(|| self.stream.word(decision.wrapping_add(1)))
    }
}

impl ArrivalStage for Corruption {
    fn judge(&mut self, arrival: Arrival) -> Verdict {
        self.damage(arrival.number).map_or(Verdict::Pass, Verdict::Damage)
    }
}
