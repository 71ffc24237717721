//! Flow queueing with `CoDel`, FQ-CoDel (RFC 8290).
//!
//! Flows are hashed to separate queues, each with the `CoDel` of RFC 8289 on its own bytes, and served by deficit
//! round robin with new queues first. Choices that RFC 8290 leaves open:
//!
//! * The hash has no secret: there is no attacker, and a run must be repeatable.
//! * Without room, a batch is dropped from the head of the queue with the most bytes: half its bytes, but at most
//!   64 packets, as section 4.1 describes for Linux. Such a drop counts as a full queue, not as `CoDel`'s.

use std::collections::VecDeque;
use std::num::NonZeroU32;

use serde::Deserialize;

use super::codel::{Control, Terms};
use super::{Entry, Fifo};
use crate::bounds::{interval, positive};
use crate::{CoDel, Nanos, Stream};

/// Parameters of FQ-CoDel (RFC 8290).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "Fields")]
pub struct FqCoDel {
    /// `CoDel` of each flow's queue.
    pub codel: CoDel,
    /// Number of queues over which flows are hashed.
    pub flows: NonZeroU32,
    /// Bytes that a flow may send per turn.
    pub quantum: NonZeroU32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    #[serde(deserialize_with = "interval")]
    target_ns: Nanos,
    #[serde(deserialize_with = "interval")]
    interval_ns: Nanos,
    ecn: bool,
    /// Up to the bits of the hash by which known implementations choose a queue.
    #[serde(deserialize_with = "positive::<_, 1, 65536>")]
    flows: NonZeroU32,
    #[serde(deserialize_with = "positive::<_, 64, 1_048_576>")]
    quantum_bytes: NonZeroU32,
}

impl From<Fields> for FqCoDel {
    fn from(fields: Fields) -> Self {
        let Fields { target_ns, interval_ns, ecn, flows, quantum_bytes } = fields;
        let codel = CoDel { target: target_ns, interval: interval_ns, ecn };
        Self { codel, flows, quantum: quantum_bytes }
    }
}

const BATCH_PACKETS: usize = 64;

#[derive(Debug)]
pub(crate) struct FqCoDelQueue<B> {
    settings: FqCoDel,
    queues: Vec<FlowQueue<B>>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    packets: u64,
    bytes: u64,
    largest: u32,
}

#[derive(Debug)]
struct FlowQueue<B> {
    fifo: Fifo<B>,
    control: Control,
    credits: i64,
    /// Whether it is in one of the lists.
    active: bool,
}

impl<B> FqCoDelQueue<B> {
    pub(super) fn new(settings: FqCoDel) -> Self {
        let empty = || FlowQueue { fifo: Fifo::new(), control: Control::new(), credits: 0, active: false };
        Self {
            settings,
            queues: (0..settings.flows.get()).map(|_| empty()).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            packets: 0,
            bytes: 0,
            largest: 0,
        }
    }

    pub(super) fn enqueue(&mut self, entry: Entry<B>) {
        self.packets += 1;
        self.bytes += u64::from(entry.packet.bytes);
        self.largest = self.largest.max(entry.packet.bytes);
        let index = self.index_of(entry.packet.flow);
        let queue = &mut self.queues[index];
        if !queue.active {
            queue.active = true;
            queue.credits = self.settings.quantum.get().into();
            self.new.push_back(index);
        }
        queue.fifo.push(entry);
    }

    /// Section 4.2. A new queue that is empty becomes an old one, so that it cannot be new again at once.
    pub(super) fn dequeue(&mut self, now: Nanos, dropped: &mut Vec<Entry<B>>) -> Option<Entry<B>> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let index = *list.front()?;
            let queue = &mut self.queues[index];
            if queue.credits <= 0 {
                queue.credits += i64::from(self.settings.quantum.get());
                list.pop_front();
                self.old.push_back(index);
            } else if let Some(entry) = self.take(index, now, dropped) {
                self.queues[index].credits -= i64::from(entry.packet.bytes);
                return Some(entry);
            } else {
                self.set_aside(index, is_new);
            }
        }
    }

    pub(super) fn shed(&mut self) -> Vec<Entry<B>> {
        // The first of equals: the last maximum of the reverse.
        let waiting = self.queues.iter_mut().filter(|queue| queue.fifo.packets() > 0);
        let Some(fattest) = waiting.rev().max_by_key(|queue| queue.fifo.bytes()) else { return Vec::new() };
        let fifo = &mut fattest.fifo;
        let (before, half) = (fifo.bytes(), fifo.bytes() / 2);
        let mut batch = Vec::new();
        while batch.is_empty() || (batch.len() < BATCH_PACKETS && before - fifo.bytes() < half) {
            let Some(entry) = fifo.pop() else { break };
            batch.push(entry);
        }
        self.forget(&batch);
        batch
    }

    pub(super) fn drain(&mut self) -> Vec<Entry<B>> {
        (self.packets, self.bytes) = (0, 0);
        self.queues.iter_mut().flat_map(|queue| queue.fifo.drain()).collect()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry<B>> {
        self.queues.iter().flat_map(|queue| queue.fifo.iter())
    }

    pub(super) const fn packets(&self) -> u64 {
        self.packets
    }

    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    #[expect(clippy::cast_possible_truncation, reason = "less than the number of queues")]
    fn index_of(&self, flow: u64) -> usize {
        (Stream::new(flow).word(0) % self.queues.len() as u64) as usize
    }

    fn take(&mut self, index: usize, now: Nanos, dropped: &mut Vec<Entry<B>>) -> Option<Entry<B>> {
        let terms = Terms { settings: self.settings.codel, max_packet: self.largest.into(), now };
        let already = dropped.len();
        let queue = &mut self.queues[index];
        let entry = queue.control.dequeue(&terms, &mut queue.fifo, dropped);
        self.forget(&dropped[already..]);
        self.forget(entry.as_slice());
        entry
    }

    fn forget(&mut self, gone: &[Entry<B>]) {
        self.packets -= gone.len() as u64;
        self.bytes -= gone.iter().map(|entry| u64::from(entry.packet.bytes)).sum::<u64>();
    }

    fn set_aside(&mut self, index: usize, is_new: bool) {
        if is_new {
            self.new.pop_front();
            self.old.push_back(index);
        } else {
            self.old.pop_front();
            self.queues[index].active = false;
        }
    }
}
