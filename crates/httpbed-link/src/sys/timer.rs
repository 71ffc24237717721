//! Timers that are files, so that epoll can wait for them among others.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd};
use std::ptr;

use super::check;

/// The kernel takes it for the end of time.
const NEVER: libc::timespec = libc::timespec { tv_sec: libc::time_t::MAX, tv_nsec: 0 };

/// A timer on `CLOCK_MONOTONIC`.
pub struct Alarm {
    timer: File,
    /// The time to which the timer is set; 0 means off.
    time: i64,
}

impl Alarm {
    /// A timer that is off.
    pub fn new() -> io::Result<Self> {
        Ok(Self { timer: create(libc::CLOCK_MONOTONIC)?, time: 0 })
    }

    /// Sets the timer to a time in nanoseconds, 0 for off. This also clears its expiration.
    pub fn set(&mut self, time: i64) -> io::Result<()> {
        if self.time == time {
            return Ok(());
        }
        self.time = time;
        let at = libc::timespec { tv_sec: time / 1_000_000_000, tv_nsec: time % 1_000_000_000 };
        set(&self.timer, at, libc::TFD_TIMER_ABSTIME)
    }
}

impl AsFd for Alarm {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }
}

/// Reports that `CLOCK_REALTIME` was set: by a program, by a leap second, or because the machine slept.
///
/// It is a timer of that clock that never expires. The kernel cancels it when the clock jumps, and the file is
/// readable then.
pub struct ClockWatch(File);

impl ClockWatch {
    /// A watch from now on.
    pub fn new() -> io::Result<Self> {
        let timer = create(libc::CLOCK_REALTIME)?;
        set(&timer, NEVER, libc::TFD_TIMER_ABSTIME | libc::TFD_TIMER_CANCEL_ON_SET)?;
        Ok(Self(timer))
    }

    /// Whether the clock was set since the last call.
    pub fn was_set(&self) -> bool {
        let read = (&self.0).read(&mut [0; size_of::<u64>()]);
        read.is_err_and(|error| error.raw_os_error() == Some(libc::ECANCELED))
    }
}

impl AsFd for ClockWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn create(clock: libc::clockid_t) -> io::Result<File> {
    // SAFETY: no memory is involved.
    let timer = check(unsafe { libc::timerfd_create(clock, libc::TFD_CLOEXEC | libc::TFD_NONBLOCK) })?;
    // SAFETY: the kernel has just returned this descriptor, and nothing else owns it.
    Ok(unsafe { File::from_raw_fd(timer) })
}

fn set(timer: &File, at: libc::timespec, flags: libc::c_int) -> io::Result<()> {
    let once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let setting = libc::itimerspec { it_interval: once, it_value: at };
    // SAFETY: `setting` lives through the call; the pointer for the old setting is null.
    check(unsafe { libc::timerfd_settime(timer.as_raw_fd(), flags, &raw const setting, ptr::null_mut()) })
        .map(drop)
}

#[cfg(test)]
mod tests {
    use super::ClockWatch;

    #[test]
    fn a_clock_that_nobody_sets_is_not_reported() {
        let watch = ClockWatch::new().expect("Linux 3.0");
        assert!(!watch.was_set());
    }
}
