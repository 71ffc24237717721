//! Changes that take effect by themselves at their times.

use std::collections::VecDeque;

use crate::{Change, Nanos};

/// What is still to change, first due first; among equal times in the order they were given.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schedule(VecDeque<(Nanos, Change)>);

impl Schedule {
    pub(crate) fn add(&mut self, at: Nanos, change: Change) {
        let place = self.0.partition_point(|(other, _)| *other <= at);
        self.0.insert(place, (at, change));
    }

    /// When the next change is due.
    pub(crate) fn next(&self) -> Option<Nanos> {
        self.0.front().map(|(at, _)| *at)
    }

    pub(crate) fn take_due(&mut self, now: Nanos) -> Option<(Nanos, Change)> {
        self.next().filter(|at| *at <= now)?;
        self.0.pop_front()
    }

    /// Turns times since the start into times.
    pub(crate) fn shifted_by(self, start: Nanos) -> Self {
        Self(self.0.into_iter().map(|(at, change)| (start.saturating_add(at), change)).collect())
    }
}
