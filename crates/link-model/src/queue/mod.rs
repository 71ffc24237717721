//! Queue disciplines: which packets wait for the rate, and which are dropped or marked.
//!
//! A discipline decides when a packet arrives (a limit, PIE) and when the server begins with the next one (`CoDel`,
//! and the next flow in FQ-CoDel). The bottleneck enforces the limit, because it knows what is in service. The
//! discipline only chooses what to drop when there is no room.

mod codel;
mod fifo;
mod fq_codel;
mod pie;

use codel::CoDelQueue;
use fq_codel::FqCoDelQueue;
use pie::PieQueue;

pub(crate) use fifo::{Entry, Fifo};

use serde::{Deserialize, Deserializer};

pub use codel::CoDel;
pub use fq_codel::FqCoDel;
pub use pie::Pie;

use crate::bounds::{interval, whole};
use crate::{Ecn, Nanos};

/// What waits for the rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
pub struct Queue {
    /// What is dropped, and when.
    #[serde(flatten)]
    pub discipline: Discipline,
    /// How much may wait or be in service at once.
    #[serde(default, deserialize_with = "limit")]
    pub limit: QueueLimit,
}

/// What is dropped or marked, beside packets that find no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(tag = "discipline", rename_all = "snake_case")]
pub enum Discipline {
    /// Nothing else.
    #[default]
    #[serde(rename = "droptail", deserialize_with = "nothing")]
    DropTail,
    /// RFC 8289.
    #[serde(rename = "codel")]
    CoDel(CoDel),
    /// RFC 8290.
    #[serde(rename = "fq_codel")]
    FqCoDel(FqCoDel),
    /// RFC 8033.
    Pie(Pie),
}

/// How much may wait or be in service at once. In JSON an object with one field, or `null` for no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueLimit {
    /// Packets, whatever their size.
    #[serde(deserialize_with = "whole::<_, _, 1, { u64::MAX }>")]
    Packets(u64),
    /// Bytes, as the rate counts them.
    #[serde(deserialize_with = "whole::<_, _, 1, { u64::MAX }>")]
    Bytes(u64),
    /// Time: a packet finds no room when those before it take longer than this to leave.
    #[serde(rename = "ns", deserialize_with = "interval")]
    Time(Nanos),
    /// No limit.
    #[default]
    #[serde(skip)]
    Unlimited,
}

impl QueueLimit {
    /// Checks that a packet of `largest` bytes finds room in an empty queue.
    pub(crate) fn check_largest(self, largest: u32) -> Result<(), String> {
        match self {
            Self::Bytes(bytes) if bytes < u64::from(largest) => Err(format!(
                "queue.limit.bytes: {bytes} bytes hold no packet of the MTU, which with its overhead has {largest}"
            )),
            _ => Ok(()),
        }
    }
}

fn limit<'de, D: Deserializer<'de>>(deserializer: D) -> Result<QueueLimit, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Reads the parameters of a discipline that has none.
fn nothing<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Fields {}
    Fields::deserialize(deserializer).map(|_| ())
}

/// The state of a discipline.
#[derive(Debug)]
pub(crate) enum Waiting<B> {
    DropTail(Fifo<B>),
    CoDel(CoDelQueue<B>),
    FqCoDel(FqCoDelQueue<B>),
    Pie(PieQueue<B>),
}

impl<B> Waiting<B> {
    pub(crate) fn new(discipline: Discipline) -> Self {
        match discipline {
            Discipline::DropTail => Self::DropTail(Fifo::new()),
            Discipline::CoDel(settings) => Self::CoDel(CoDelQueue::new(settings)),
            Discipline::FqCoDel(settings) => Self::FqCoDel(FqCoDelQueue::new(settings)),
            Discipline::Pie(settings) => Self::Pie(PieQueue::new(settings)),
        }
    }

    /// Takes a packet, or gives it back when the discipline drops it.
    pub(crate) fn enqueue(&mut self, entry: Entry<B>) -> Option<Entry<B>> {
        match self {
            Self::DropTail(fifo) => fifo.push(entry),
            Self::CoDel(queue) => queue.enqueue(entry),
            Self::FqCoDel(queue) => queue.enqueue(entry),
            Self::Pie(queue) => return queue.enqueue(entry),
        }
        None
    }

    /// Returns the packet to send next, and adds to `dropped` those that are not sent at all. A server must call it
    /// on an empty queue, too: `CoDel` then learns that the queue ran empty.
    pub(crate) fn dequeue(&mut self, now: Nanos, dropped: &mut Vec<Entry<B>>) -> Option<Entry<B>> {
        match self {
            Self::DropTail(fifo) => fifo.pop(),
            Self::CoDel(queue) => queue.dequeue(now, dropped),
            Self::FqCoDel(queue) => queue.dequeue(now, dropped),
            Self::Pie(queue) => queue.dequeue(now),
        }
    }

    /// Whether a packet that finds no room is accepted and another one dropped for it.
    pub(crate) const fn makes_room(&self) -> bool {
        matches!(self, Self::FqCoDel(_))
    }

    /// The packets to drop when there is too much; empty when nothing waits.
    pub(crate) fn shed(&mut self) -> Vec<Entry<B>> {
        match self {
            Self::FqCoDel(queue) => queue.shed(),
            Self::DropTail(_) | Self::CoDel(_) | Self::Pie(_) => Vec::new(),
        }
    }

    /// Removes everything that waits.
    pub(crate) fn drain(&mut self) -> Vec<Entry<B>> {
        match self {
            Self::DropTail(fifo) => fifo.drain(),
            Self::CoDel(queue) => queue.fifo.drain(),
            Self::FqCoDel(queue) => queue.drain(),
            Self::Pie(queue) => queue.fifo.drain(),
        }
    }

    pub(crate) fn iter(&self) -> Box<dyn Iterator<Item = &Entry<B>> + '_> {
        match self {
            Self::DropTail(fifo) => Box::new(fifo.iter()),
            Self::CoDel(queue) => Box::new(queue.fifo.iter()),
            Self::FqCoDel(queue) => Box::new(queue.iter()),
            Self::Pie(queue) => Box::new(queue.fifo.iter()),
        }
    }

    pub(crate) fn packets(&self) -> u64 {
        match self {
            Self::DropTail(fifo) => fifo.packets(),
            Self::CoDel(queue) => queue.fifo.packets(),
            Self::FqCoDel(queue) => queue.packets(),
            Self::Pie(queue) => queue.fifo.packets(),
        }
    }

    pub(crate) const fn bytes(&self) -> u64 {
        match self {
            Self::DropTail(fifo) => fifo.bytes(),
            Self::CoDel(queue) => queue.fifo.bytes(),
            Self::FqCoDel(queue) => queue.bytes(),
            Self::Pie(queue) => queue.fifo.bytes(),
        }
    }

    /// The probability with which PIE drops now.
    pub(crate) const fn drop_probability(&self) -> Option<f64> {
        match self {
            Self::Pie(queue) => Some(queue.drop_probability()),
            Self::DropTail(_) | Self::CoDel(_) | Self::FqCoDel(_) => None,
        }
    }
}

/// Marks an ECN-capable packet (RFC 3168; a marked one stays marked). Returns whether it could.
fn mark<B>(entry: &mut Entry<B>) -> bool {
    let can = entry.packet.ecn != Ecn::NotCapable;
    if can {
        entry.packet.ecn = Ecn::Ce;
    }
    can
}
