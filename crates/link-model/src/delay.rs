//! Constant one-way delay.

use std::collections::VecDeque;

use crate::{Dropped, Nanos, Packet, Stage};

/// Holds every packet for the same time and keeps the order.
#[derive(Debug)]
pub struct Delay<B> {
    latency: Nanos,
    held: VecDeque<(Nanos, Packet<B>)>,
}

impl<B> Delay<B> {
    /// A delay of `latency`, which may be 0.
    #[must_use]
    pub const fn new(latency: Nanos) -> Self {
        Self { latency, held: VecDeque::new() }
    }

    /// The configured delay.
    #[must_use]
    pub const fn latency(&self) -> Nanos {
        self.latency
    }

    /// The packets under way, first due first.
    pub fn held(&self) -> impl Iterator<Item = &Packet<B>> {
        self.held.iter().map(|(_, packet)| packet)
    }
}

impl<B> Stage<B> for Delay<B> {
    fn push(&mut self, now: Nanos, packet: Packet<B>) -> Result<(), Dropped<B>> {
        self.held.push_back((now.saturating_add(self.latency), packet));
        Ok(())
    }

    fn pop(&mut self, now: Nanos) -> Option<Packet<B>> {
        if self.next_due()? > now {
            return None;
        }
        self.held.pop_front().map(|(_, packet)| packet)
    }

    fn next_due(&self) -> Option<Nanos> {
        self.held.front().map(|(due, _)| *due)
    }
}
