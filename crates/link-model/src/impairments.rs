//! What a direction of a link can do to packets, as values.

use std::num::{NonZeroU32, NonZeroU64};
use std::sync::Arc;

use crate::{Nanos, Trace};

/// What a direction does to packets; absent parts do nothing.
#[derive(Clone, Debug, Default)]
pub struct Impairments {
    /// Which packets are lost on arrival.
    pub loss: Option<LossModel>,
    /// Which packets are damaged on the way: one bit of each.
    pub corruption: Option<Chance>,
    /// Which packets arrive twice; the copy follows its original.
    pub duplication: Option<Chance>,
    /// How fast packets leave; `None` is at once, and then nothing waits in the queue.
    pub rate: Option<Rate>,
    /// What waits for the rate.
    pub queue: Queue,
    /// One-way delay after transmission.
    pub delay: Nanos,
    /// What varies the delay.
    pub jitter: Option<Jitter>,
    /// Which packets are held back, so that later ones overtake them.
    pub reordering: Option<Reordering>,
}

/// An event that happens to each packet independently.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chance {
    /// In `[0, 1]`.
    pub probability: f64,
    /// Of its random stream.
    pub key: u64,
}

/// Which packets are lost.
#[derive(Clone, Debug)]
pub enum LossModel {
    /// Each packet independently: packet `n` when draw `n` is below the probability.
    Bernoulli(Chance),
    /// Two states, each with its own probability of loss.
    GilbertElliott(GilbertElliott),
    /// These numbers, ascending: explicit ones, or the losses of a recorded run.
    Listed(Arc<[u64]>),
}

/// The channel of Gilbert (1960) and Elliott (1963) with the four parameters that netem has.
///
/// It is in the good state before packet 0. Packet `n` is lost when draw `2 n` is below the probability of
/// the state; then the state changes when draw `2 n + 1` is below `to_bad` or `to_good`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GilbertElliott {
    /// Probability to change from good to bad (p).
    pub to_bad: f64,
    /// Probability to change from bad to good (r); a stay in the bad state has mean length 1 / r.
    pub to_good: f64,
    /// Probability of loss in the good state (1 - k).
    pub loss_good: f64,
    /// Probability of loss in the bad state (1 - h).
    pub loss_bad: f64,
    /// Of its random stream.
    pub key: u64,
}

/// How fast packets leave.
#[derive(Clone, Debug)]
pub enum Rate {
    /// Bits per second.
    Constant(NonZeroU64),
    /// As the kernel's `tbf` without a peak rate: a packet leaves as soon as the bucket holds as many bytes.
    TokenBucket {
        /// Bits per second with which the bucket is filled.
        rate: NonZeroU64,
        /// Bytes that the bucket holds; it is full at first. A larger packet never passes.
        burst: NonZeroU32,
    },
    /// Delivery opportunities at given times.
    Trace(Arc<Trace>),
}

/// What waits for the rate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Queue {
    /// What is dropped, and when.
    pub discipline: Discipline,
    /// How much may wait or be in service at once.
    pub limit: QueueLimit,
}

/// What is dropped or marked, beside what finds no room.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Discipline {
    /// Nothing else.
    #[default]
    DropTail,
    /// RFC 8289.
    CoDel(CoDel),
    /// RFC 8290.
    FqCoDel(FqCoDel),
    /// RFC 8033.
    Pie(Pie),
}

/// How much may wait or be in service at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueueLimit {
    /// Packets, whatever their size.
    Packets(u64),
    /// Bytes, as the rate counts them.
    Bytes(u64),
    /// Time: a packet finds no room when those before it take longer than this to leave.
    Time(Nanos),
    /// No limit.
    #[default]
    Unlimited,
}

/// Parameters of `CoDel` (RFC 8289).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoDel {
    /// Acceptable standing queue delay.
    pub target: Nanos,
    /// Time in which the delay must fall below the target.
    pub interval: Nanos,
    /// Whether packets that can are marked instead of dropped.
    pub ecn: bool,
}

/// Parameters of FQ-CoDel (RFC 8290).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FqCoDel {
    /// Of each flow's own queue.
    pub codel: CoDel,
    /// Number of queues over which flows are hashed.
    pub flows: NonZeroU32,
    /// Bytes that a flow may send in its turn.
    pub quantum: NonZeroU32,
}

/// Parameters of PIE (RFC 8033).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pie {
    /// Queue delay that is aimed at.
    pub target: Nanos,
    /// How often the drop probability is computed anew.
    pub update: Nanos,
    /// Whether packets that can are marked instead of dropped while the probability is at most 10 %.
    pub ecn: bool,
    /// Of its random stream.
    pub key: u64,
}

/// What varies the delay.
#[derive(Clone, Debug)]
pub struct Jitter {
    /// How.
    pub shape: JitterShape,
    /// Of its random stream.
    pub key: u64,
}

/// What is added to the delay, which never falls below 0 by it.
#[derive(Clone, Debug)]
pub enum JitterShape {
    /// Between minus and plus this.
    Uniform(Nanos),
    /// Mean 0 and this standard deviation.
    Normal(Nanos),
    /// A Pareto distribution of shape 3, shifted to mean 0 and scaled to this standard deviation.
    Pareto(Nanos),
    /// One of these (ns, may be negative), each as likely.
    Table(Arc<[i64]>),
}

/// Which packets are held back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reordering {
    /// Which.
    pub chance: Chance,
    /// For how much longer than the others.
    pub hold: Nanos,
}

/// A condition that changes while the link runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// Bits per second, also for what is in service. Nothing on a link without a rate or with a trace.
    Rate(NonZeroU64),
    /// One-way delay, of packets that have still to leave the queue.
    Delay(Nanos),
    /// Probability of independent loss. It keeps the stream of the loss that was configured.
    Loss(f64),
    /// What arrives and what waits is dropped; what has left the queue still arrives.
    Down,
    /// Packets pass again.
    Up,
    /// The network address translator at the second end forgets its mappings. Nothing to a direction, which only makes
    /// it at its time and tells it: the translator belongs to the caller, as the bytes do.
    Rebind,
}
