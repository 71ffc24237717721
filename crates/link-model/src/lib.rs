//! What a link does to packets, as a pure function of their arrival times.
//!
//! # Theory of operation
//!
//! A [`Direction`] of a link is a chain of [`Stage`]s: [`Loss`], then [`Bottleneck`] (a drop-tail queue
//! and the rate that drains it), then [`Delay`]. Nothing here knows a clock, a socket or a thread: time
//! is an argument, in nanoseconds from any origin, and must come from one clock.
//!
//! Three rules make the result independent of how late the caller wakes up:
//!
//! 1. `push` is called with the time the packet *arrived*, not with the time the caller noticed it.
//! 2. What happens to a packet is settled when it is pushed: its loss by its number, its place in the
//!    queue by the stamps of the packets before it, its departure by `max(arrival, free) + bits / rate`.
//! 3. Between stages a packet moves at its own due time, not at the time the caller asked.
//!
//! A late caller therefore delivers a packet late, but the packets behind it are not moved by that: the
//! rate is exact over any longer interval, and the same arrivals always meet the same fates.
//!
//! Randomness is counter-based ([`Stream`]): draw *n* is a function of a key and of *n*, so every
//! impairment of every direction has its own stream, and to switch one on shifts no other.

#![forbid(unsafe_code)]

mod bottleneck;
mod delay;
mod direction;
mod loss;
mod rng;
mod stage;
mod tally;

pub use bottleneck::{Bottleneck, QueueLimit};
pub use delay::Delay;
pub use direction::{Direction, Impairments};
pub use loss::Loss;
pub use rng::Stream;
pub use stage::{Cause, Dropped, Nanos, Packet, Stage};
pub use tally::{Account, Distribution, Tally};
