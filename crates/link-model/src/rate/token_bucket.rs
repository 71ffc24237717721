//! A token bucket as the kernel's `tbf` without a peak rate (`net/sched/sch_tbf.c`).
//!
//! The bucket is full at first and never holds more than `burst` bytes. The packet at the head leaves as soon as
//! the bucket holds its bytes, which are then taken out; no packet overtakes it. A packet larger than the bucket is
//! dropped on arrival.
//!
//! The kernel counts tokens in whole nanoseconds and rounds each packet's down, so it is too fast by less than a
//! nanosecond per packet. Here the level is exact: a departure is rounded up to a nanosecond, and the rest of that
//! nanosecond fills the bucket for the next packet.

use std::num::{NonZeroU32, NonZeroU64};

use super::{after, work};
use crate::Nanos;

#[derive(Debug)]
pub(crate) struct TokenBucket {
    rate: u128,
    /// What it can hold and what it held at `since`, as work.
    capacity: u128,
    level: u128,
    /// The last departure, or a change since.
    since: Nanos,
}

impl TokenBucket {
    pub(super) fn new(rate: NonZeroU64, burst: NonZeroU32) -> Self {
        let capacity = work(burst.get());
        Self { rate: rate.get().into(), capacity, level: capacity, since: 0 }
    }

    pub(super) const fn rate(&self) -> u128 {
        self.rate
    }

    pub(super) const fn carries(&self, bytes: u32) -> bool {
        work(bytes) <= self.capacity
    }

    pub(super) fn serve(&mut self, begins: Nanos, bytes: u32) -> Nanos {
        self.refill(begins);
        let missing = work(bytes).saturating_sub(self.level);
        let wait = missing.div_ceil(self.rate);
        self.since = after(begins, wait);
        self.level = (self.level + wait * self.rate - work(bytes)).min(self.capacity);
        self.since
    }

    pub(super) fn set_rate(&mut self, at: Nanos, rate: NonZeroU64) {
        self.refill(at);
        self.rate = rate.get().into();
    }

    pub(super) fn retime(&mut self, at: Nanos, rate: NonZeroU64, bytes: u32) -> Nanos {
        self.cancel(at, bytes);
        self.rate = rate.get().into();
        self.serve(at, bytes)
    }

    /// The level as it was at `at`, before the packet that leaves at `since` took its bytes.
    pub(super) fn cancel(&mut self, at: Nanos, bytes: u32) {
        let inflow = u128::from(self.since.saturating_sub(at)) * self.rate;
        self.level = (self.level + work(bytes)).saturating_sub(inflow).min(self.capacity);
        self.since = at;
    }

    fn refill(&mut self, at: Nanos) {
        let inflow = u128::from(at.saturating_sub(self.since)) * self.rate;
        self.level = (self.level + inflow).min(self.capacity);
        self.since = self.since.max(at);
    }
}
