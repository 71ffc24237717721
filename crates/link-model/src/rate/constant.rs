//! A constant rate: a packet takes as long as its bits do.

use std::num::NonZeroU64;

use super::{after, work};
use crate::Nanos;

/// The end of a service is rounded down to a nanosecond; the work that this leaves is carried over to the
/// next packet of the same busy period, so there is no drift.
#[derive(Debug)]
pub(crate) struct Constant {
    rate: u128,
    ends: Nanos,
    /// Work left at `ends`, less than a nanosecond's.
    remainder: u128,
}

impl Constant {
    pub(super) fn new(rate: NonZeroU64) -> Self {
        Self { rate: rate.get().into(), ends: 0, remainder: 0 }
    }

    pub(super) const fn rate(&self) -> u128 {
        self.rate
    }

    pub(super) fn serve(&mut self, begins: Nanos, bytes: u32) -> Nanos {
        let owed = if begins > self.ends { 0 } else { self.remainder };
        self.finish(begins, work(bytes) + owed)
    }

    pub(super) fn set_rate(&mut self, rate: NonZeroU64) {
        self.rate = rate.get().into();
    }

    pub(super) fn retime(&mut self, at: Nanos, rate: NonZeroU64) -> Nanos {
        let left = u128::from(self.ends.saturating_sub(at)) * self.rate + self.remainder;
        self.set_rate(rate);
        self.finish(at, left)
    }

    pub(super) const fn cancel(&mut self, at: Nanos) {
        self.ends = at;
        self.remainder = 0;
    }

    fn finish(&mut self, begins: Nanos, left: u128) -> Nanos {
        self.ends = after(begins, left / self.rate);
        self.remainder = left % self.rate;
        self.ends
    }
}
