//! What a link does to packets, as a pure function of their arrival times.
//!
//! # Theory of operation
//!
//! A [`Direction`] of a link does to each packet, in this order:
//!
//! | | decided by | when |
//! | --- | --- | --- |
//! | turn it away, if nobody is there for it | the caller: [`Direction::refuse`] | at its arrival |
//! | drop it, if the link is down | [`Change::Down`] | at its arrival |
//! | lose it | [`Loss`] | at its arrival, by its number |
//! | damage it | [`Corruption`] | at its arrival, by its number |
//! | copy it; the copy follows at once | [`Duplication`] | at its arrival, by its number |
//! | let it wait, mark it or drop it, and send it | [`Bottleneck`]: a queue and its rate | by the stamps of all packets |
//! | delay it, vary that, hold it back | [`DelayLine`]: delay, [`Jitter`], [`Reordering`] | when it leaves the queue, by its number |
//!
//! Nothing here knows a clock, a socket or a thread: time is an argument, in nanoseconds from any origin, and must
//! come from one clock. What holds packets is a [`Stage`]: `push` with the time of arrival, `pop` what has left by
//! some time, `next_due` when to ask again. A drop leaves through `pop` as a delivery does, with its [`Fate`].
//!
//! Three rules make the result independent of how late the caller wakes up:
//!
//! 1. `push` is called with the time the packet *arrived*, not with the time the caller noticed it.
//! 2. Virtual time advances from event to event: an arrival, the end of a transmission, a scheduled [`Change`], each
//!    at its own time. How far one call lets it advance does not matter.
//! 3. Between stages a packet moves at its own due time, not at the time the caller asked.
//!
//! A late caller therefore delivers a packet late, but the packets behind it are not moved by that: the
//! rate is exact over any longer interval, and the same arrivals always meet the same fates. This holds as long as
//! whatever arrived by some time is pushed before that time is given to `pop`. A caller that cannot promise it, since
//! it reads its clock before its sockets, changes nothing on a drop-tail queue, except that a packet cannot arrive
//! before a change that was already made; a queue with active management may have decided about the packet at its
//! head without the one that came late.
//!
//! Randomness is counter-based ([`Stream`]): draw *n* is a function of a key and of *n*, so every
//! impairment of every direction has its own stream, and to switch one on shifts no other. Packet *n* takes draw *n*,
//! or the draws *2n* and *2n + 1* where an impairment needs two. Each module says which, so that any program can
//! recompute every fate.
//!
//! A [`Witness`] stands apart from all this: it takes what was delivered and says whether any link of the description
//! could have done that.

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
pub use queue::{CoDel, Discipline, FqCoDel, Pie, Queue, QueueLimit};
pub use rate::{Mistake, Rate, Reason, SLOWEST_BIT_S, Trace, TraceError};
pub use rng::{Chance, Stream};
pub use schedule::Applied;
pub use stage::{Arrival, ArrivalStage, Departure, Ecn, Fate, Nanos, Packet, Stage, Verdict};
pub use tally::{Distribution, Tally};
pub use witness::{Observation, Transit, Window, Witness};
