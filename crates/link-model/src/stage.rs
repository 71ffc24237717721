//! The interface between the parts of a link: packets, their fates, and the stages that they pass.

use crate::{Cause, Change};

/// Nanoseconds on the one clock of the program that drives the model.
pub type Nanos = u64;

/// A packet as the model sees it; `B` is any value that the caller wants back at the far end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet<B> {
    /// Position among the counted packets of its direction, from 0. `None` for a packet of the idle phase, to
    /// which rate, queue and delay apply, but no draw, and which is not counted.
    pub number: Option<u64>,
    /// Whether it is the copy that duplication made; it has the number of its original.
    pub copy: bool,
    /// Size in bytes that rate and queue count.
    pub bytes: u32,
    /// Equal for packets of one flow; FQ-CoDel shares the rate among flows.
    pub flow: u64,
    /// The ECN field of the IP header (RFC 3168); a queue that marks sets it to [`Ecn::Ce`].
    pub ecn: Ecn,
    /// The ECN field when the packet entered the direction. A packet that arrived marked does not count as marked
    /// here.
    pub ecn_arrived: Ecn,
    /// For a corrupted packet, the random word that tells the caller which bit to change.
    pub damage: Option<u64>,
    /// When it entered the direction.
    pub arrived: Nanos,
    /// Time spent behind other packets, without its own serialisation.
    pub waited: Nanos,
    /// Time its own serialisation took.
    pub serialised: Nanos,
    /// The caller's value.
    pub body: B,
}

impl<B> Packet<B> {
    /// A packet that has not entered a link yet, of no particular flow and without ECN.
    pub const fn new(bytes: u32, body: B) -> Self {
        Self {
            number: None,
            copy: false,
            bytes,
            flow: 0,
            ecn: Ecn::NotCapable,
            ecn_arrived: Ecn::NotCapable,
            damage: None,
            arrived: 0,
            waited: 0,
            serialised: 0,
            body,
        }
    }

    /// Whether a queue of this direction set its ECN field to CE.
    #[must_use]
    pub fn is_marked(&self) -> bool {
        self.ecn == Ecn::Ce && self.ecn_arrived != Ecn::Ce
    }
}

/// What the ECN field of an IP header says (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Not-ECT: the network can signal congestion only by a drop.
    #[default]
    NotCapable,
    /// ECT(0) or ECT(1).
    Capable,
    /// CE: congestion was experienced.
    Ce,
}

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It goes on to the next stage, or leaves the link.
    Delivered,
    /// It was dropped.
    Dropped(Cause),
}

/// A packet that leaves a stage, delivered or dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departure<B> {
    /// When it left, or was dropped.
    pub at: Nanos,
    /// Its fate.
    pub fate: Fate,
    /// The packet; also a dropped one, so that the caller can reuse its buffer.
    pub packet: Packet<B>,
}

/// A counted packet at its arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When.
    pub at: Nanos,
    /// Its [`Packet::number`].
    pub number: u64,
    /// Its [`Packet::bytes`].
    pub bytes: u32,
}

/// What an [`ArrivalStage`] does to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing.
    Pass,
    /// Drops it; no later stage sees it.
    Drop(Cause),
    /// Damages it where this random word says; see [`Packet::damage`].
    Damage(u64),
    /// Lets a copy follow it.
    Copy,
}

/// A stage that decides about a packet at its arrival and holds none.
pub trait ArrivalStage: std::fmt::Debug + Send {
    /// Decides about a packet. Times and numbers never decrease from call to call.
    fn judge(&mut self, arrival: Arrival) -> Verdict;

    /// Applies a change, if it concerns this stage.
    fn change(&mut self, _change: Change) {}
}

/// A stage that holds packets. Times given to `push` never decrease.
pub trait Stage<B> {
    /// Takes a packet that arrives at `now`. [`Stage::pop`] returns it with its fate, even if it is dropped at
    /// once.
    fn push(&mut self, now: Nanos, packet: Packet<B>);

    /// Returns the first packet that leaves at `now` or before.
    fn pop(&mut self, now: Nanos) -> Option<Departure<B>>;

    /// When to call `pop` again: nothing leaves before that. `None` when the stage is empty.
    fn next_due(&self) -> Option<Nanos>;
}
