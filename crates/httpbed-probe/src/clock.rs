//! The kernel's clocks in nanoseconds, and receive stamps converted from the realtime to the monotonic clock.
//!
//! A reading of the one clock between two of the other encloses their difference, and the intersection of all such
//! intervals narrows it. An empty intersection means that the realtime clock was set, and the measurement starts
//! again. `httpbed-link` does the same in its own code, because these times check it.

use nix::sys::time::{TimeSpec, TimeValLike};
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};

/// `CLOCK_MONOTONIC`, which all network namespaces of a machine share.
pub fn monotonic() -> i64 {
    read(ClockId::CLOCK_MONOTONIC)
}

/// Sleeps until a time of `CLOCK_MONOTONIC`; a signal may end it earlier.
pub fn sleep_until(time: i64) {
    let time = TimeSpec::nanoseconds(time);
    let _ = clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::TIMER_ABSTIME, &time);
}

fn read(clock: ClockId) -> i64 {
    clock_gettime(clock).map_or(0, |time| time.num_nanoseconds())
}

/// Where the difference between realtime and monotonic clock must lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset {
    low: i64,
    high: i64,
}

impl Offset {
    /// After enough readings to be within tens of nanoseconds.
    pub fn read() -> Self {
        let mut offset = Self { low: i64::MIN, high: i64::MAX };
        for _ in 0..16 {
            offset.track();
        }
        offset
    }

    /// Measures the difference between both clocks; call it now and then.
    pub fn track(&mut self) {
        let before = monotonic();
        let realtime = read(ClockId::CLOCK_REALTIME);
        self.observe(before, realtime, monotonic());
    }

    /// The monotonic time of a realtime stamp.
    pub const fn monotonic(self, stamp: i64) -> i64 {
        stamp - (self.low + (self.high - self.low) / 2)
    }

    fn observe(&mut self, before: i64, realtime: i64, after: i64) {
        let (low, high) = (realtime - after, realtime - before);
        *self = Self { low: self.low.max(low), high: self.high.min(high) };
        if self.low > self.high {
            *self = Self { low, high };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Offset;

    #[test]
    fn readings_narrow_the_difference_and_a_set_clock_is_detected() {
        let mut offset = Offset { low: i64::MIN, high: i64::MAX };
        offset.observe(0, 1_040, 100);
        offset.observe(200, 1_210, 220);
        assert_eq!(offset, Offset { low: 990, high: 1_010 });
        assert_eq!(offset.monotonic(5_000), 4_000);
        offset.observe(300, 9_300, 310);
        assert_eq!(offset.monotonic(10_000), 1_005);
    }
}
