//! Clocks, and sleeping until a time. All network namespaces of a machine share them.

use std::ptr;

/// `CLOCK_MONOTONIC` in nanoseconds.
#[must_use]
pub fn monotonic() -> i64 {
    read(libc::CLOCK_MONOTONIC)
}

/// `CLOCK_REALTIME` in nanoseconds since 1970.
#[must_use]
pub fn realtime() -> i64 {
    read(libc::CLOCK_REALTIME)
}

/// CPU time of this process in nanoseconds.
#[must_use]
pub fn process_cpu() -> i64 {
    read(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// Sleeps until a time of `CLOCK_MONOTONIC`; a signal may end it earlier.
pub fn sleep_until(time: i64) {
    let at = libc::timespec { tv_sec: time / 1_000_000_000, tv_nsec: time % 1_000_000_000 };
    // SAFETY: `at` lives through the call; an absolute sleep has no remaining time to write.
    unsafe {
        libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &raw const at, ptr::null_mut())
    };
}

/// A kernel time as nanoseconds.
#[must_use]
pub const fn nanoseconds(time: libc::timespec) -> i64 {
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

fn read(clock: libc::clockid_t) -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the result; the clocks used here always exist.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    nanoseconds(time)
}
