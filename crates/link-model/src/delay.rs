//! One-way delay, jitter, and reordering.
//!
//! # Theory of operation
//!
//! A packet that enters at `t` is due at `t + max(0, delay + jitter)`, but never before the packet ahead of it. A
//! path keeps the order of its packets, so a packet that jitter would let overtake arrives together with the one
//! ahead. Where packets are closer together than the spread of the jitter, the mean delay is therefore longer and
//! its spread smaller than configured, as in a real queue.
//!
//! Packets that reordering selects are due `hold` later, and those behind overtake them. So there are two
//! containers: a queue of packets in order, whose due times never decrease, and a heap of packets held back. Among
//! equal due times the packet that entered first leaves first.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

use serde::Deserialize;

use crate::bounds::{duration, key, probability};
use crate::{Departure, Fate, Impairments, Jitter, Nanos, Packet, Stage, Stream};

/// Which packets are held back: packet `n` when draw `n` is below the probability.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reordering {
    /// In `[0, 1]`.
    #[serde(deserialize_with = "probability")]
    pub probability: f64,
    /// Of its random stream.
    #[serde(deserialize_with = "key")]
    pub key: u64,
    /// For how much longer than the others they are held.
    #[serde(rename = "hold_ns", deserialize_with = "duration")]
    pub hold: Nanos,
}

/// The packets in flight.
#[derive(Debug)]
pub struct DelayLine<B> {
    delay: Nanos,
    jitter: Option<Jitter>,
    /// The least jitter.
    least_jitter: i64,
    reordering: Option<Reordering>,
    in_order: VecDeque<Entry<B>>,
    held_back: BinaryHeap<Reverse<Entry<B>>>,
    last_due: Nanos,
    entered: u64,
}

impl<B> DelayLine<B> {
    /// An empty line with the delay, jitter and reordering of `impairments`.
    #[must_use]
    pub fn new(impairments: &Impairments) -> Self {
        Self {
            delay: impairments.delay,
            jitter: impairments.jitter.clone(),
            least_jitter: impairments.jitter.as_ref().map_or(0, Jitter::least),
            reordering: impairments.reordering,
            in_order: VecDeque::new(),
            held_back: BinaryHeap::new(),
            last_due: 0,
            entered: 0,
        }
    }

    /// The delay of packets that enter from now on.
    pub const fn set_delay(&mut self, delay: Nanos) {
        self.delay = delay;
    }

    /// A packet that enters at `at` or later is not due before this time.
    #[must_use]
    pub fn earliest(&self, at: Nanos) -> Nanos {
        at.saturating_add(self.delay.saturating_add_signed(self.least_jitter.min(0))).max(self.last_due)
    }

    /// The packets in flight, in no particular order.
    pub fn held(&self) -> impl Iterator<Item = &Packet<B>> {
        self.in_order.iter().chain(self.held_back.iter().map(|entry| &entry.0)).map(|entry| &entry.packet)
    }

    /// How many packets have ever entered.
    pub(crate) const fn entered(&self) -> u64 {
        self.entered
    }

    /// When the next packet that keeps its order is due.
    pub(crate) fn next_in_order(&self) -> Option<Nanos> {
        self.in_order.front().map(|entry| entry.due)
    }

    /// When the next packet is due, and how many entered before it.
    pub(crate) fn next(&self) -> Option<(Nanos, u64)> {
        let (row, held) = (self.in_order.front().map(Entry::key), self.next_held_back());
        row.into_iter().chain(held).min()
    }

    fn next_held_back(&self) -> Option<(Nanos, u64)> {
        self.held_back.peek().map(|Reverse(entry)| entry.key())
    }

    fn offset(&self, number: Option<u64>) -> i64 {
        self.jitter.as_ref().zip(number).map_or(0, |(jitter, number)| jitter.offset(number))
    }

    fn hold(&self, number: Option<u64>) -> Option<Nanos> {
        let Reordering { probability, key, hold } = self.reordering?;
        (Stream::new(key).unit(number?) < probability).then_some(hold)
    }
}

impl<B> Stage<B> for DelayLine<B> {
    fn push(&mut self, now: Nanos, packet: Packet<B>) {
        let delay = self.delay.saturating_add_signed(self.offset(packet.number));
        let due = now.saturating_add(delay).max(self.last_due);
        let order = self.entered;
        self.entered += 1;
        if let Some(hold) = self.hold(packet.number) {
            self.held_back.push(Reverse(Entry { due: due.saturating_add(hold), order, packet }));
        } else {
            self.last_due = due;
            self.in_order.push_back(Entry { due, order, packet });
        }
    }

    fn pop(&mut self, now: Nanos) -> Option<Departure<B>> {
        let next = self.next().filter(|(due, _)| *due <= now)?;
        let is_held_back = self.next_held_back() == Some(next);
        let entry = if is_held_back { self.held_back.pop()?.0 } else { self.in_order.pop_front()? };
        Some(Departure { at: entry.due, fate: Fate::Delivered, packet: entry.packet })
    }

    fn next_due(&self) -> Option<Nanos> {
        self.next().map(|(due, _)| due)
    }
}

#[derive(Debug)]
struct Entry<B> {
    due: Nanos,
    order: u64,
    packet: Packet<B>,
}

impl<B> Entry<B> {
    const fn key(&self) -> (Nanos, u64) {
        (self.due, self.order)
    }
}

impl<B> PartialEq for Entry<B> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<B> Eq for Entry<B> {}

impl<B> PartialOrd for Entry<B> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<B> Ord for Entry<B> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}
