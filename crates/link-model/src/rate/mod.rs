//! How fast packets leave: one server that sends one packet after the other.
//!
//! All models count work in integers. The unit is one bit/s times one ns, so one bit has [`NANOS_PER_S`] units.
//! Nothing is rounded, and no rate drifts however long the link runs.

mod constant;
mod playback;
mod token_bucket;
mod trace;

use std::num::{NonZeroU32, NonZeroU64};
use std::sync::Arc;

use serde::{Deserialize, Deserializer};

use constant::Constant;
use playback::Playback;
use token_bucket::TokenBucket;

pub use trace::{Mistake, Reason, Trace, TraceError};

use crate::Nanos;
use crate::bounds::{positive, whole};

/// The slowest rate, and the least mean rate of a trace: one delivery opportunity of 1504 bytes a minute.
pub const SLOWEST_BIT_S: u64 = 1504 * 8 / 60;
/// A faster rate is a mistake of unit.
const FASTEST_BIT_S: u64 = 1_000_000_000_000;

/// How fast packets leave. `T` stands for the trace; see [`Impairments`](crate::Impairments).
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(
    tag = "model",
    rename_all = "snake_case",
    deny_unknown_fields,
    bound(deserialize = "T: Deserialize<'de>")
)]
pub enum Rate<T = Arc<Trace>> {
    /// Bits per second.
    #[serde(deserialize_with = "constant_bit_s")]
    Constant(NonZeroU64),
    /// As the kernel's `tbf` without a peak rate: a packet leaves as soon as the bucket holds as many bytes.
    TokenBucket {
        /// Bits per second with which the bucket is filled.
        #[serde(rename = "bit_s", deserialize_with = "bit_s")]
        rate: NonZeroU64,
        /// Bytes that the bucket holds; it is full at first. A larger packet never passes.
        #[serde(rename = "burst_bytes", deserialize_with = "positive::<_, 1, 0xFFFF_FFFF>")]
        burst: NonZeroU32,
    },
    /// Delivery opportunities at given times.
    #[serde(deserialize_with = "path")]
    Trace(T),
}

impl Rate {
    /// Its mean over a long time in bit/s.
    #[must_use]
    pub fn mean_bit_s(&self) -> u64 {
        match self {
            Self::Constant(rate) | Self::TokenBucket { rate, .. } => rate.get(),
            Self::Trace(trace) => trace.mean_bit_s(),
        }
    }

    /// Checks that packets of `largest` bytes can pass.
    pub(crate) fn check_largest(&self, largest: u32) -> Result<(), String> {
        match self {
            Self::TokenBucket { burst, .. } if burst.get() < largest => Err(format!(
                "rate.burst_bytes: {burst} bytes never pass a packet of the MTU, which with its overhead has {largest}"
            )),
            _ => Ok(()),
        }
    }
}

impl<T> Rate<T> {
    /// The same with the trace that `load` gives.
    pub(crate) fn with_trace<U, E>(self, load: impl FnOnce(T) -> Result<U, E>) -> Result<Rate<U>, E> {
        Ok(match self {
            Self::Constant(rate) => Rate::Constant(rate),
            Self::TokenBucket { rate, burst } => Rate::TokenBucket { rate, burst },
            Self::Trace(trace) => Rate::Trace(load(trace)?),
        })
    }
}

/// Reads a rate in bit/s.
pub(crate) fn bit_s<'de, D: Deserializer<'de>>(deserializer: D) -> Result<NonZeroU64, D::Error> {
    whole::<D, NonZeroU64, SLOWEST_BIT_S, FASTEST_BIT_S>(deserializer)
}

fn constant_bit_s<'de, D: Deserializer<'de>>(deserializer: D) -> Result<NonZeroU64, D::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Fields {
        #[serde(deserialize_with = "bit_s")]
        bit_s: NonZeroU64,
    }
    Fields::deserialize(deserializer).map(|fields| fields.bit_s)
}

fn path<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Fields<T> {
        path: T,
    }
    Fields::deserialize(deserializer).map(|fields| fields.path)
}

const NANOS_PER_S: u128 = 1_000_000_000;
const NANOS_PER_MS: u64 = 1_000_000;

/// Bytes as work, in bit/s times ns.
pub(crate) const fn work(bytes: u32) -> u128 {
    bytes as u128 * 8 * NANOS_PER_S
}

/// The time after `begin` in which a rate does so much work, rounded down; the end of time if it never ends.
fn after(begin: Nanos, nanos: u128) -> Nanos {
    begin.saturating_add(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// The next packet to send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    /// When it arrived.
    pub arrived: Nanos,
    /// When the server begins with it: not before it arrived, and not before the packet ahead left.
    pub begins: Nanos,
    /// Its size.
    pub bytes: u32,
}

/// The state of a rate.
#[derive(Debug)]
pub(crate) enum Server {
    Constant(Constant),
    TokenBucket(TokenBucket),
    Trace(Playback),
}

impl Server {
    pub(crate) fn new(rate: Rate) -> Self {
        match rate {
            Rate::Constant(rate) => Self::Constant(Constant::new(rate)),
            Rate::TokenBucket { rate, burst } => Self::TokenBucket(TokenBucket::new(rate, burst)),
            Rate::Trace(trace) => Self::Trace(Playback::new(trace)),
        }
    }

    /// Whether a packet of this size can ever leave.
    pub(crate) const fn carries(&self, bytes: u32) -> bool {
        match self {
            Self::TokenBucket(bucket) => bucket.carries(bytes),
            Self::Constant(_) | Self::Trace(_) => true,
        }
    }

    /// Takes what a packet needs, and returns when it leaves.
    pub(crate) fn serve(&mut self, demand: Demand) -> Nanos {
        match self {
            Self::Constant(constant) => constant.serve(demand.begins, demand.bytes),
            Self::TokenBucket(bucket) => bucket.serve(demand.begins, demand.bytes),
            Self::Trace(playback) => playback.serve(demand),
        }
    }

    /// Changes the rate at `at` while no packet is in service. It does not change a trace.
    pub(crate) fn set_rate(&mut self, at: Nanos, rate: NonZeroU64) {
        match self {
            Self::Constant(constant) => constant.set_rate(rate),
            Self::TokenBucket(bucket) => bucket.set_rate(at, rate),
            Self::Trace(_) => {}
        }
    }

    /// Changes the rate at `at` while a packet is in service that was to leave at `ends`; returns when it leaves
    /// now.
    pub(crate) fn retime(&mut self, at: Nanos, rate: NonZeroU64, bytes: u32, ends: Nanos) -> Nanos {
        match self {
            Self::Constant(constant) => constant.retime(at, rate),
            Self::TokenBucket(bucket) => bucket.retime(at, rate, bytes),
            Self::Trace(_) => ends,
        }
    }

    /// Returns, at `at`, what the packet in service would still have needed.
    pub(crate) fn cancel(&mut self, at: Nanos, bytes: u32) {
        match self {
            Self::Constant(constant) => constant.cancel(at),
            Self::TokenBucket(bucket) => bucket.cancel(at, bytes),
            Self::Trace(playback) => playback.cancel(),
        }
    }

    /// Starts a trace at `at`. Returns whether that changes when the packet in service leaves.
    pub(crate) fn restart(&mut self, at: Nanos) -> bool {
        match self {
            Self::Constant(_) | Self::TokenBucket(_) => false,
            Self::Trace(playback) => {
                playback.restart(at);
                true
            }
        }
    }

    /// Whether so many bytes take longer than `time` at the present rate; for a trace, at its mean rate.
    pub(crate) fn takes_longer(&self, bytes: u64, time: Nanos) -> bool {
        let (bits, nanos) = match self {
            Self::Constant(constant) => (constant.rate(), NANOS_PER_S),
            Self::TokenBucket(bucket) => (bucket.rate(), NANOS_PER_S),
            Self::Trace(playback) => playback.pace(),
        };
        (u128::from(bytes) * 8).saturating_mul(nanos) > bits.saturating_mul(u128::from(time))
    }
}
