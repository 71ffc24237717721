//! Changes that take effect at their own times.

use std::collections::VecDeque;

use crate::{Change, Nanos};

/// A change that a direction made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Applied {
    /// How many changes the direction had been asked for before this one.
    pub id: usize,
    /// When it was made.
    pub at: Nanos,
    /// What changed.
    pub change: Change,
    /// The number of the next packet that arrives: the first that meets the new condition at its arrival.
    pub next_number: u64,
}

/// A pending change, and how many were requested before it.
pub(crate) type Numbered = (usize, Change);

/// Pending changes by due time; among equal times in the order of the requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schedule(VecDeque<(Nanos, Numbered)>);

impl Schedule {
    pub(crate) fn add(&mut self, at: Nanos, requested: Numbered) {
        let place = self.0.partition_point(|(other, _)| *other <= at);
        self.0.insert(place, (at, requested));
    }

    /// When the next change is due.
    pub(crate) fn next(&self) -> Option<Nanos> {
        self.0.front().map(|(at, _)| *at)
    }

    pub(crate) fn take_first(&mut self) -> Option<(Nanos, Numbered)> {
        self.0.pop_front()
    }

    /// Shifts times since the start to times on the clock.
    pub(crate) fn shifted_by(self, start: Nanos) -> Self {
        Self(self.0.into_iter().map(|(at, requested)| (start.saturating_add(at), requested)).collect())
    }
}
