//! First in, first out: the whole of drop-tail, and the store of the other disciplines.

use std::collections::VecDeque;

use crate::{Nanos, Packet};

/// A packet that waits.
#[derive(Debug)]
pub(crate) struct Entry<B> {
    /// When it came to the queue.
    pub arrived: Nanos,
    pub packet: Packet<B>,
}

#[derive(Debug)]
pub(crate) struct Fifo<B> {
    entries: VecDeque<Entry<B>>,
    bytes: u64,
}

impl<B> Fifo<B> {
    pub(crate) const fn new() -> Self {
        Self { entries: VecDeque::new(), bytes: 0 }
    }

    pub(crate) fn push(&mut self, entry: Entry<B>) {
        self.bytes += u64::from(entry.packet.bytes);
        self.entries.push_back(entry);
    }

    pub(crate) fn pop(&mut self) -> Option<Entry<B>> {
        let entry = self.entries.pop_front()?;
        self.bytes -= u64::from(entry.packet.bytes);
        Some(entry)
    }

    pub(crate) fn drain(&mut self) -> Vec<Entry<B>> {
        self.bytes = 0;
        std::mem::take(&mut self.entries).into()
    }

    pub(crate) fn front(&self) -> Option<&Entry<B>> {
        self.entries.front()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Entry<B>> {
        self.entries.iter()
    }

    pub(crate) fn packets(&self) -> u64 {
        self.entries.len() as u64
    }

    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }
}
