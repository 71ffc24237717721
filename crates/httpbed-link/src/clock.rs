//! One clock for all times: nanoseconds of `CLOCK_MONOTONIC` since the emulator was ready.
//!
//! # Theory of operation
//!
//! The kernel stamps received frames with `CLOCK_REALTIME`, which an administrator or a time daemon may set. Both
//! clocks run at the same rate, so their difference is constant until the realtime clock is set; the kernel reports
//! that (`ClockWatch`), and the difference is measured again.
//!
//! A reading of the realtime clock between two of the monotonic clock encloses the difference in an interval. The
//! intersection of several such intervals is some tens of nanoseconds long, even if readings are interrupted. An
//! empty intersection means that the clock was set meanwhile, and the measurement starts again.

use link_model::Nanos;
use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_gettime};

/// Readings of both clocks that measure their difference.
const READINGS: usize = 16;

/// A clock's time in nanoseconds; the clocks used here always exist.
pub fn read(clock: ClockId) -> i64 {
    clock_gettime(clock).map_or(0, |time| time.num_nanoseconds())
}

/// Where the times come from.
pub trait Source {
    /// `CLOCK_MONOTONIC` in nanoseconds.
    fn monotonic(&self) -> i64;
    /// `CLOCK_REALTIME` in nanoseconds since 1970.
    fn realtime(&self) -> i64;
}

/// The kernel's clocks.
#[derive(Clone, Copy, Debug)]
pub struct Kernel;

impl Source for Kernel {
    fn monotonic(&self) -> i64 {
        read(ClockId::CLOCK_MONOTONIC)
    }

    fn realtime(&self) -> i64 {
        read(ClockId::CLOCK_REALTIME)
    }
}

/// Reads the clock and translates the kernel's stamps to it.
pub struct Clock {
    source: Box<dyn Source>,
    origin: i64,
    offset: OffsetInterval,
}

impl Clock {
    /// A clock that reads 0 now.
    pub fn start(source: Box<dyn Source>) -> Self {
        let origin = source.monotonic();
        let mut clock = Self { source, origin, offset: OffsetInterval::UNKNOWN };
        clock.compare();
        clock
    }

    /// The time now.
    pub fn now(&self) -> Nanos {
        self.of_monotonic(self.source.monotonic())
    }

    /// A time as the kernel's `CLOCK_MONOTONIC` reads it.
    pub fn monotonic(&self, time: Nanos) -> i64 {
        i64::try_from(time).unwrap_or(i64::MAX).saturating_add(self.origin)
    }

    /// Measures the difference between the two clocks; call it when the realtime clock was set.
    pub fn compare(&mut self) {
        self.offset = OffsetInterval::UNKNOWN;
        for _ in 0..READINGS {
            let before = self.source.monotonic();
            let realtime = self.source.realtime();
            self.offset.observe(before, realtime, self.source.monotonic());
        }
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
    use std::cell::Cell;
    use std::rc::Rc;

    use super::{Clock, OffsetInterval, Source};

    /// A clock that stands still, and how far the realtime clock is ahead of it.
    struct Ahead(Rc<Cell<i64>>);

    impl Source for Ahead {
        fn monotonic(&self) -> i64 {
            1_000
        }

        fn realtime(&self) -> i64 {
            1_000 + self.0.get()
        }
    }

    #[test]
    fn stamps_after_the_clock_was_set_are_translated_by_the_new_difference() {
        let ahead = Rc::new(Cell::new(50_000));
        let mut clock = Clock::start(Box::new(Ahead(Rc::clone(&ahead))));
        assert_eq!(clock.of_stamp(51_007), 7);
        ahead.set(20_000);
        clock.compare();
        assert_eq!(clock.of_stamp(21_007), 7);
        assert_eq!(clock.stamp_of(7), 21_007);
    }

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
    fn a_clock_that_is_set_between_readings_is_detected() {
        let mut offset = OffsetInterval::UNKNOWN;
        offset.observe(0, 1_005, 10);
        offset.observe(100, 5_105, 110);
        assert_eq!(offset.middle(), 5_000);
    }
}
