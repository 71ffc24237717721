//! What a link does to packets, as a pure function of their arrival times.

#![forbid(unsafe_code)]

mod bottleneck;
mod impairments;
mod queue;
mod rate;
mod rng;
mod stage;

pub use bottleneck::Bottleneck;
pub use impairments::{
    Chance, Change, CoDel, Discipline, FqCoDel, GilbertElliott, Impairments, Jitter, JitterShape, LossModel,
    Pie, Queue, QueueLimit, Rate, Reordering,
};
pub use rate::{Mistake, Reason, Trace, TraceError};
pub use rng::Stream;
pub use stage::{Cause, Departure, Ecn, Fate, Nanos, Packet, Stage};
