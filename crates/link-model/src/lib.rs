//! What a link does to packets, as a pure function of their arrival times.

#![forbid(unsafe_code)]

mod account;
mod bottleneck;
mod corruption;
mod delay;
mod direction;
mod duplication;
mod impairments;
mod jitter;
mod loss;
mod rng;
mod schedule;
mod stage;
mod tally;
mod trace;

pub use account::Account;
pub use bottleneck::Bottleneck;
pub use corruption::Corruption;
pub use delay::DelayLine;
pub use direction::Direction;
pub use duplication::Duplication;
pub use impairments::{
    Chance, Change, CoDel, Discipline, FqCoDel, GilbertElliott, Impairments, Jitter, JitterShape, LossModel,
    Pie, Queue, QueueLimit, Rate, Reordering,
};
pub use loss::Loss;
pub use rng::Stream;
pub use stage::{Cause, Departure, Ecn, Fate, Nanos, Packet, Stage};
pub use tally::{Distribution, Tally};
pub use trace::{Trace, TraceError};
