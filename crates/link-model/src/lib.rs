//! What a link does to packets, as a pure function of their arrival times.
//!
//! # Theory of operation
//!
//! A [`Direction`] of a link does to each packet, in this order:
//!
//! | | decided by | when |
//! | --- | --- | --- |
//! | refuse it, if the caller has no receiver for it | the caller: [`Direction::refuse`] | at its arrival |
//! | drop it, if the link is down | [`Change::Down`] | at its arrival |
//! | lose it | [`Loss`] | at its arrival, by its number |
//! | drop it, if it exceeds a rate and a burst | [`Policer`] | at its arrival, by the stamps of those before it |
//! | damage it | [`Corruption`] | at its arrival, by its number |
//! | copy it; the copy follows at once | [`Duplication`] | at its arrival, by its number |
//! | let it wait, mark it or drop it, and send it | [`Bottleneck`]: a queue and its rate | by the stamps of all packets |
//! | delay it, vary that, hold it back | [`DelayLine`]: delay, [`Jitter`], [`Reordering`] | when it leaves the queue, by its number |
//!
//! The crate uses no clock, socket or thread. Time is an argument, in nanoseconds from any origin, and must come
//! from one clock. A [`Stage`] holds packets: `push` takes a packet with its time of arrival, `pop` returns the
//! next packet that has left by a given time, and `next_due` says when to call `pop` again. Dropped packets also
//! leave through `pop`; see [`Fate`].
//!
//! Three rules make the result independent of how late the caller wakes up:
//!
//! 1. `push` is called with the time the packet *arrived*, not with the time the caller noticed it.
//! 2. Virtual time advances from event to event: an arrival, the end of a transmission, a scheduled [`Change`], each
//!    at its own time. How far one call lets it advance does not matter.
//! 3. Between stages a packet moves at its own due time, not at the time the caller asked.
//!
//! A late caller therefore delivers a packet late, but does not delay the packets behind it. The rate is exact over
//! any longer interval, and the same arrivals always have the same fates. This holds if the caller pushes
//! everything that arrived by some time before it pops with that time. A caller that reads its clock before its
//! sockets cannot guarantee this. On a drop-tail queue it still changes nothing, except that a packet cannot arrive
//! before a change that was already made. A queue with active management may have decided about the packet at its
//! head without knowing the late packet.
//!
//! Randomness is counter-based ([`Stream`]): draw *n* is a function of a key and of *n*. Every impairment of every
//! direction has its own stream, so enabling one changes no other. Packet *n* uses draw *n*, or the draws *2n* and
//! *2n + 1* where an impairment needs two. Each module says which, so any program can recompute every fate.
//!
//! A [`Witness`] checks the result independently: it takes the delivered packets and says whether a link with this
//! description could have delivered them.

#![forbid(unsafe_code)]

mod account;
mod bottleneck;
pub mod bounds;
mod corruption;
mod delay;
mod direction;
mod duplication;
mod impairments;
mod jitter;
mod loss;
mod policer;
mod queue;
mod rate;
mod rng;
mod schedule;
mod stage;
mod tally;
mod witness;

pub use account::{Account, Drops};
pub use bottleneck::Bottleneck;
pub use corruption::Corruption;
pub use delay::{DelayLine, Reordering};
pub use direction::Direction;
pub use duplication::Duplication;
pub use impairments::{Cause, CauseNames, Change, Impairments};
pub use jitter::{Jitter, JitterShape};
pub use loss::{GilbertElliott, Loss, LossModel};
pub use policer::{Policer, Policing};
pub use queue::{CoDel, Discipline, FqCoDel, Pie, Queue, QueueLimit};
pub use rate::{Mistake, Rate, Reason, SLOWEST_BIT_S, Trace, TraceError};
pub use rng::{Chance, Stream};
pub use schedule::Applied;
pub use stage::{Arrival, ArrivalStage, Departure, Ecn, Fate, Nanos, Packet, Stage, Verdict};
pub use tally::{Distribution, Tally};
pub use witness::{Observation, Transit, Window, Witness};
