//! The seam between impairments: a stage takes packets in and gives them out again later.

/// Nanoseconds on the one clock of whoever drives the model.
pub type Nanos = u64;

/// A packet as the model sees it; `B` is whatever the caller wants back at the far end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet<B> {
    /// Position among the counted packets of its direction, from 0. `None` for a packet of the probe
    /// phase, which suffers rate, queue and delay but no draw, and enters no count.
    pub number: Option<u64>,
    /// Size in bytes that rate and queue count: the IP packet, without link-layer header.
    pub bytes: u32,
    /// Time spent behind other packets, without its own serialisation.
    pub waited: Nanos,
    /// Time its own serialisation took.
    pub serialised: Nanos,
    /// The caller's part.
    pub body: B,
}

impl<B> Packet<B> {
    /// A packet that has not entered a link yet.
    pub const fn new(bytes: u32, body: B) -> Self {
        Self { number: None, bytes, waited: 0, serialised: 0, body }
    }
}

/// Why a packet was not carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Random loss.
    Chance,
    /// No room in the queue.
    Queue,
}

/// A packet that a stage refused, with the cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped<B> {
    /// Why.
    pub cause: Cause,
    /// What, so that the caller can reuse its buffer.
    pub packet: Packet<B>,
}

/// One impairment. Times given to `push` never decrease.
pub trait Stage<B> {
    /// Takes a packet that arrives at `now`.
    ///
    /// # Errors
    /// The packet itself, when the stage does not carry it.
    fn push(&mut self, now: Nanos, packet: Packet<B>) -> Result<(), Dropped<B>>;

    /// Gives the first packet that is due at `now` or before.
    fn pop(&mut self, now: Nanos) -> Option<Packet<B>>;

    /// When the next packet is due; `None` when the stage is empty.
    fn next_due(&self) -> Option<Nanos>;
}
