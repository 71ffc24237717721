//! Clocks.

/// `CLOCK_MONOTONIC` in nanoseconds.
pub fn monotonic() -> i64 {
    read(libc::CLOCK_MONOTONIC)
}

/// `CLOCK_REALTIME` in nanoseconds since 1970.
pub fn realtime() -> i64 {
    read(libc::CLOCK_REALTIME)
}

/// CPU time of this process in nanoseconds.
pub fn process_cpu() -> i64 {
    read(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// A kernel time as nanoseconds.
pub const fn nanoseconds(time: libc::timespec) -> i64 {
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

fn read(clock: libc::clockid_t) -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the result; the clocks used here always exist.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    nanoseconds(time)
}
