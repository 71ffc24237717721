//! One clock for all times: nanoseconds of `CLOCK_MONOTONIC` since the emulator was ready.
//!
//! # Theory of operation
//!
//! The kernel stamps received frames with `CLOCK_REALTIME`, which an administrator or a time daemon may set. Both
//! clocks run at the same rate, so their difference is constant between two such changes. A reading of the realtime
//! clock between two of the monotonic clock encloses the difference in an interval. The intersection of these
//! intervals narrows to some tens of nanoseconds, even if readings are interrupted. An empty intersection means
//! that the clock was set, and the measurement starts again.

use link_model::Nanos;

use crate::sys::time;

/// Reads the clock and translates the kernel's stamps to it.
#[derive(Debug)]
pub struct Clock {
    origin: i64,
    offset: OffsetInterval,
}

impl Clock {
    /// A clock that reads 0 now.
    pub fn start() -> Self {
        let mut clock = Self { origin: time::monotonic(), offset: OffsetInterval::UNKNOWN };
        for _ in 0..16 {
            clock.track();
        }
        clock
    }

    /// The time now.
    pub fn now(&self) -> Nanos {
        self.of_monotonic(time::monotonic())
    }

    /// A time as the kernel's `CLOCK_MONOTONIC` reads it.
    pub fn monotonic(&self, time: Nanos) -> i64 {
        i64::try_from(time).unwrap_or(i64::MAX).saturating_add(self.origin)
    }

    /// Measures the difference between the two clocks; call it now and then.
    pub fn track(&mut self) {
        let before = time::monotonic();
        let realtime = time::realtime();
        self.offset.observe(before, realtime, time::monotonic());
    }

    /// The time of a stamp taken from the realtime clock.
    pub fn of_stamp(&self, stamp: i64) -> Nanos {
        self.of_monotonic(stamp - self.offset.middle())
    }

    /// The time of a reading of the kernel's `CLOCK_MONOTONIC`.
    pub fn of_monotonic(&self, reading: i64) -> Nanos {
        u64::try_from(reading - self.origin).unwrap_or(0)
    }

    /// The realtime stamp that belongs to a time.
    pub fn stamp_of(&self, time: Nanos) -> i64 {
        self.monotonic(time).saturating_add(self.offset.middle())
    }
}

/// Where the difference between realtime and monotonic clock must lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OffsetInterval {
    low: i64,
    high: i64,
}

impl OffsetInterval {
    const UNKNOWN: Self = Self { low: i64::MIN, high: i64::MAX };

    fn observe(&mut self, before: i64, realtime: i64, after: i64) {
        let (low, high) = (realtime - after, realtime - before);
        *self = Self { low: self.low.max(low), high: self.high.min(high) };
        if self.low > self.high {
            *self = Self { low, high };
        }
    }

    const fn middle(self) -> i64 {
        self.low + (self.high - self.low) / 2
    }
}

#[cfg(test)]
mod tests {
    use super::OffsetInterval;

    #[test]
    fn readings_narrow_the_difference() {
        let mut offset = OffsetInterval::UNKNOWN;
        offset.observe(0, 1_040, 100);
        offset.observe(200, 1_210, 220);
        offset.observe(300, 9_000, 90_000);
        assert_eq!(offset, OffsetInterval { low: 990, high: 1_010 });
        assert_eq!(offset.middle(), 1_000);
    }

    #[test]
    fn a_clock_that_was_set_is_detected() {
        let mut offset = OffsetInterval::UNKNOWN;
        offset.observe(0, 1_005, 10);
        offset.observe(100, 5_105, 110);
        assert_eq!(offset.middle(), 5_000);
    }
}
