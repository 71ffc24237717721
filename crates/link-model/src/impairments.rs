//! The list of impairments: what a direction's description may contain, in which order packets meet it, and the
//! reasons for which it drops them.
//!
//! An impairment has its parameters, their form in JSON and its stage in a module of its own. Adding one takes that
//! module and three entries here: its field in [`Impairments`], its place in `arrival_stages` and, if it drops packets,
//! its [`Cause`]. The emulator's configuration, counters, packet log and capture follow from these entries.

use std::num::NonZeroU64;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::bounds::{duration, probability};
use crate::rate::bit_s;
use crate::{
    ArrivalStage, Chance, Corruption, Duplication, Jitter, Loss, LossModel, Nanos, Policer, Policing, Queue,
    Rate, Reordering, Trace,
};

/// What a direction does to packets. An absent field does nothing.
///
/// In JSON a trace has the path of its file; `T` is what stands for it: that path, or the trace.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Impairments<T = Arc<Trace>> {
    /// Bytes that rate and queue count beyond the IP packet. The caller adds them to [`Packet::bytes`](crate::Packet).
    #[serde(default, deserialize_with = "overhead")]
    pub overhead_bytes: u32,
    /// Which packets are lost on arrival.
    pub loss: Option<LossModel>,
    /// Which packets are dropped because they exceed a rate and a burst.
    pub policing: Option<Policing>,
    /// Which packets are damaged: one bit of each is changed.
    pub corruption: Option<Chance>,
    /// Which packets arrive twice; the copy follows its original.
    pub duplication: Option<Chance>,
    /// How fast packets leave. Without a rate they leave at once, and the queue stays empty.
    pub rate: Option<Rate<T>>,
    /// What waits for the rate.
    #[serde(default)]
    pub queue: Queue,
    /// One-way delay after transmission.
    #[serde(default, rename = "delay_ns", deserialize_with = "duration")]
    pub delay: Nanos,
    /// What varies the delay.
    pub jitter: Option<Jitter>,
    /// Which packets are held back, so that later ones overtake them.
    pub reordering: Option<Reordering>,
}

impl Impairments {
    /// What decides about a packet on its arrival, in this order. Loss is always there: a change may set it later.
    pub(crate) fn arrival_stages(&self) -> Vec<Box<dyn ArrivalStage>> {
        let loss = self.loss.as_ref().map_or_else(Loss::none, Loss::new);
        let policing = self.policing.map(|policing| Box::new(Policer::new(policing)) as Box<_>);
        let corruption = self.corruption.map(|chance| Box::new(Corruption::new(chance)) as Box<_>);
        let duplication = self.duplication.map(|chance| Box::new(Duplication::new(chance)) as Box<_>);
        let others = [policing, corruption, duplication];
        std::iter::once(Box::new(loss) as Box<_>).chain(others.into_iter().flatten()).collect()
    }

    /// Checks that the direction can carry IP packets of `mtu` bytes.
    ///
    /// # Errors
    /// The field that is too small, and the size that it needs.
    pub fn check_mtu(&self, mtu: u32) -> Result<(), String> {
        let largest = mtu.saturating_add(self.overhead_bytes);
        self.rate.as_ref().map_or(Ok(()), |rate| rate.check_largest(largest))?;
        self.policing.map_or(Ok(()), |policing| policing.check_largest(largest))?;
        self.queue.limit.check_largest(largest)
    }
}

impl<T> Impairments<T> {
    /// The same with the trace that `load` gives, if there is one.
    ///
    /// # Errors
    /// The error of `load`.
    pub fn with_trace<U, E>(self, load: impl FnOnce(T) -> Result<U, E>) -> Result<Impairments<U>, E> {
        let Self {
            overhead_bytes,
            loss,
            policing,
            corruption,
            duplication,
            queue,
            delay,
            jitter,
            reordering,
            ..
        } = self;
        let rate = self.rate.map(|rate| rate.with_trace(load)).transpose()?;
        Ok(Impairments {
            overhead_bytes,
            loss,
            policing,
            corruption,
            duplication,
            rate,
            queue,
            delay,
            jitter,
            reordering,
        })
    }
}

impl<T> Default for Impairments<T> {
    fn default() -> Self {
        Self {
            overhead_bytes: 0,
            loss: None,
            policing: None,
            corruption: None,
            duplication: None,
            rate: None,
            queue: Queue::default(),
            delay: 0,
            jitter: None,
            reordering: None,
        }
    }
}

/// Reads the bytes beyond the IP packet: those of the Ethernet header, or those of a frame on the wire.
fn overhead<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let bytes = u32::deserialize(deserializer)?;
    if [0, 14, 38].contains(&bytes) {
        return Ok(bytes);
    }
    let reason = format_args!("{bytes} is none of 0 (IP), 14 (Ethernet), 38 (Ethernet on the wire)");
    Err(serde::de::Error::custom(reason))
}

/// A condition that changes while the link runs. In JSON an object with one field, such as `{"delay_ns": 5}`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(try_from = "ChangeDocument", into = "ChangeDocument")]
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
    /// The network address translator at the second end forgets its mappings. The direction only keeps the time of
    /// this change and reports it: the translator belongs to the caller, as the packets' bytes do.
    Rebind,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum ChangeDocument {
    #[serde(deserialize_with = "bit_s")]
    RateBitS(NonZeroU64),
    #[serde(deserialize_with = "duration")]
    DelayNs(Nanos),
    #[serde(deserialize_with = "probability")]
    Loss(f64),
    Down(bool),
    Rebind(bool),
}

impl TryFrom<ChangeDocument> for Change {
    type Error = &'static str;

    fn try_from(document: ChangeDocument) -> Result<Self, Self::Error> {
        Ok(match document {
            ChangeDocument::RateBitS(rate) => Self::Rate(rate),
            ChangeDocument::DelayNs(delay) => Self::Delay(delay),
            ChangeDocument::Loss(probability) => Self::Loss(probability),
            ChangeDocument::Down(true) => Self::Down,
            ChangeDocument::Down(false) => Self::Up,
            ChangeDocument::Rebind(true) => Self::Rebind,
            ChangeDocument::Rebind(false) => return Err("rebind can only be true"),
        })
    }
}

impl From<Change> for ChangeDocument {
    fn from(change: Change) -> Self {
        match change {
            Change::Rate(rate) => Self::RateBitS(rate),
            Change::Delay(delay) => Self::DelayNs(delay),
            Change::Loss(probability) => Self::Loss(probability),
            Change::Down => Self::Down(true),
            Change::Up => Self::Down(false),
            Change::Rebind => Self::Rebind(true),
        }
    }
}

impl Change {
    /// Why a direction with these impairments cannot make this change as it is meant; `None` if it can.
    #[must_use]
    pub const fn obstacle(self, impairments: &Impairments) -> Option<&'static str> {
        match (self, &impairments.rate, &impairments.loss) {
            (Self::Rate(_), None | Some(Rate::Trace(_)), _) => {
                Some("has no constant rate or token bucket to change")
            }
            (Self::Loss(_), _, None | Some(LossModel::Listed(_))) => Some(
                "has no random loss to change; configure random loss of probability 0 to start without loss",
            ),
            _ => None,
        }
    }
}

/// Why a packet was not carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Random loss, or a loss that was listed.
    Chance,
    /// It exceeded the policer's rate and burst.
    Policed,
    /// No room in the queue.
    Queue,
    /// Active queue management chose it.
    Aqm,
    /// The link was down.
    Down,
    /// The caller refused it before the link, because its address translation has no mapping for it; see
    /// [`Direction::refuse`](crate::Direction::refuse).
    Nat,
}

/// How a [`Cause`] is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CauseNames {
    /// The counter in reports.
    pub counter: &'static str,
    /// The fate in the packet log.
    pub fate: &'static str,
    /// The comment in a capture.
    pub comment: &'static str,
}

impl Cause {
    /// All causes, in the order of reports.
    pub const ALL: [Self; 6] = [Self::Chance, Self::Policed, Self::Queue, Self::Aqm, Self::Down, Self::Nat];

    /// How it is written.
    #[must_use]
    pub const fn names(self) -> CauseNames {
        let (counter, fate, comment) = match self {
            Self::Chance => ("lost", "lost", "lost: chance"),
            Self::Policed => ("policed", "policed", "dropped: policed"),
            Self::Queue => ("queue_dropped", "queue", "dropped: queue"),
            Self::Aqm => ("aqm_dropped", "aqm", "dropped: aqm"),
            Self::Down => ("down_dropped", "down", "dropped: link down"),
            Self::Nat => ("nat_dropped", "nat", "dropped: no mapping"),
        };
        CauseNames { counter, fate, comment }
    }
}
