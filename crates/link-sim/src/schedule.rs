//! Changes of conditions over time, for [`crate::Link::scheduled`].

use std::num::NonZeroU64;

use link_model::{Change, Direction, Nanos};

/// Changes and their times after the start, built by steps: `Schedule::default().rate(5 * S, 2_000_000)`.
#[derive(Clone, Debug, Default)]
pub struct Schedule(Vec<(Nanos, Change)>);

impl Schedule {
    /// Any change at `at`.
    #[must_use]
    pub fn change(mut self, at: Nanos, change: Change) -> Self {
        self.0.push((at, change));
        self
    }

    /// From `at` on this many bit/s.
    ///
    /// # Panics
    /// When `bit_s` is 0: use [`Self::outage`] for a link that carries nothing.
    #[must_use]
    pub fn rate(self, at: Nanos, bit_s: u64) -> Self {
        self.change(at, Change::Rate(NonZeroU64::new(bit_s).expect("a rate above 0")))
    }

    /// From `at` on this one-way delay.
    #[must_use]
    pub fn delay(self, at: Nanos, delay: Nanos) -> Self {
        self.change(at, Change::Delay(delay))
    }

    /// From `at` on this probability of loss.
    #[must_use]
    pub fn loss(self, at: Nanos, probability: f64) -> Self {
        self.change(at, Change::Loss(probability))
    }

    /// Down from `at` for `lasts`.
    #[must_use]
    pub fn outage(self, at: Nanos, lasts: Nanos) -> Self {
        self.change(at, Change::Down).change(at + lasts, Change::Up)
    }

    /// The same again `times` times, each `period` after the one before.
    #[must_use]
    pub fn repeated(self, times: u64, period: Nanos) -> Self {
        let again = |n| self.0.iter().map(move |(at, change)| (at + n * period, *change));
        Self((0..times).flat_map(again).collect())
    }

    pub(crate) fn apply<B>(&self, direction: &mut Direction<B>) {
        for &(at, change) in &self.0 {
            direction.schedule(at, change);
        }
    }
}
