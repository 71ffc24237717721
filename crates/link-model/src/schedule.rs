//! Changes that take effect by themselves at their times.

use std::collections::VecDeque;

use crate::{Change, Nanos};

/// A change that a direction has made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Applied {
    /// How many changes the direction had been requested for before this one, by whichever way.
    pub id: usize,
    /// When it was made.
    pub at: Nanos,
    /// What changed.
    pub change: Change,
    /// The number of the next packet that arrives: the first that meets the new condition at its arrival.
    pub next_number: u64,
}

/// A change that is still to be made, and how many were requested for before it.
pub(crate) type Numbered = (usize, Change);

/// What is still to change, first due first; among equal times in the order they were given.
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

    /// Turns times since the start into times.
    pub(crate) fn shifted_by(self, start: Nanos) -> Self {
        Self(self.0.into_iter().map(|(at, requested)| (start.saturating_add(at), requested)).collect())
    }
}
