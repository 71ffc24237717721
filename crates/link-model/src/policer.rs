//! A policer: a token bucket without a queue.
//!
//! The bucket fills at the rate and holds at most the burst; it is full at the start. A packet passes if the bucket
//! holds its bytes, which are then taken out; else it is dropped and takes none. This is the policer of RFC 2697 with
//! one bucket, Linux's `police` action, and what ISPs do to long transfers (Flach et al., *An Internet-Wide Analysis of
//! Traffic Policing*, SIGCOMM 2016). A packet never waits: [`crate::Rate::TokenBucket`] is a shaper with such a bucket.
//!
//! The level is exact, in work of one bit/s times one ns, so that nothing is rounded.

use std::num::{NonZeroU32, NonZeroU64};

use serde::Deserialize;

use crate::bounds::positive;
use crate::rate::{bit_s, work};
use crate::{Arrival, ArrivalStage, Cause, Nanos, Verdict};

/// What may pass; the rest is dropped, and nothing waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policing {
    /// Bits per second with which the bucket is filled.
    #[serde(rename = "bit_s", deserialize_with = "bit_s")]
    pub rate: NonZeroU64,
    /// Bytes that the bucket holds. A larger packet never passes.
    #[serde(rename = "burst_bytes", deserialize_with = "positive::<_, 1, 0xFFFF_FFFF>")]
    pub burst: NonZeroU32,
}

impl Policing {
    /// Checks that packets of `largest` bytes can pass.
    pub(crate) fn check_largest(self, largest: u32) -> Result<(), String> {
        if self.burst.get() >= largest {
            return Ok(());
        }
        let burst = self.burst;
        Err(format!(
            "policing.burst_bytes: {burst} bytes never pass a packet of the MTU, which with its overhead has {largest}"
        ))
    }
}

/// Drops what exceeds its rate and burst.
#[derive(Clone, Copy, Debug)]
pub struct Policer {
    rate: u128,
    /// What the bucket can hold and what it held at `since`, as work.
    capacity: u128,
    level: u128,
    since: Nanos,
}

impl Policer {
    /// A full bucket.
    #[must_use]
    pub fn new(policing: Policing) -> Self {
        let capacity = work(policing.burst.get());
        Self { rate: policing.rate.get().into(), capacity, level: capacity, since: 0 }
    }

    /// Whether a packet of so many bytes passes at `now`. Times never decrease.
    pub fn passes(&mut self, now: Nanos, bytes: u32) -> bool {
        let inflow = u128::from(now.saturating_sub(self.since)) * self.rate;
        self.level = (self.level + inflow).min(self.capacity);
        self.since = self.since.max(now);
        let conforms = work(bytes) <= self.level;
        if conforms {
            self.level -= work(bytes);
        }
        conforms
    }
}

impl ArrivalStage for Policer {
    fn judge(&mut self, arrival: Arrival) -> Verdict {
        if self.passes(arrival.at, arrival.bytes) { Verdict::Pass } else { Verdict::Drop(Cause::Policed) }
    }
}
