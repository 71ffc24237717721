//! Changes of conditions: what is to come, and what has been.
//!
//! A direction makes its scheduled changes by itself and exactly at their times, however late anybody looks. The
//! agenda only lets them be told when their time has come.

use std::collections::BTreeMap;

use link_model::Nanos;

use crate::config::Target;

/// A change that was made.
#[derive(Clone, Debug, PartialEq)]
pub struct Changed {
    /// When, since the start; 0 before it.
    pub at: Nanos,
    /// Of which link.
    pub link: usize,
    /// What.
    pub target: Target,
    /// On whose account.
    pub by: By,
}

/// Who changed something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum By {
    /// The configuration's schedule.
    Schedule,
    /// A command on stdin.
    Command,
    /// A trigger, by its place among those of the link.
    Trigger(usize),
}

/// What is to be told, in order of time; at one time in the order of entry.
#[derive(Default)]
pub struct Agenda {
    entries: BTreeMap<(Nanos, u64), Changed>,
    entered: u64,
}

impl Agenda {
    /// Enters a change that is made at `due` on the caller's clock.
    pub fn enter(&mut self, due: Nanos, changed: Changed) {
        self.entries.insert((due, self.entered), changed);
        self.entered += 1;
    }

    /// When the first is due.
    pub fn next_due(&self) -> Option<Nanos> {
        self.entries.first_key_value().map(|((due, _), _)| *due)
    }

    /// The first, if it is due.
    pub fn take_due(&mut self, now: Nanos) -> Option<Changed> {
        self.entries.first_entry().filter(|first| first.key().0 <= now).map(|first| first.remove())
    }
}
