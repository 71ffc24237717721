//! Waits for any of several files, until a time in nanoseconds.
//!
//! A timerfd among the files measures the time. For every process without a real-time class the kernel extends
//! epoll's own timeout by a thousandth (`select_estimate_accuracy`), which is 100 us for 100 ms, whatever the timer
//! slack. A timerfd is late by the slack only.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::{TimeSpec, TimeValLike};
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

/// Further ready files are reported by the next call.
const MAX_EVENTS: usize = 64;

/// The number of the timer among the files.
const TIMER: usize = usize::MAX;

/// How long to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// Do not wait.
    None,
    /// Until this time, in nanoseconds of `CLOCK_MONOTONIC`.
    Until(i64),
    /// Until a file is readable.
    Endless,
}

/// An epoll instance; each file has the number with which it was registered.
pub struct Poll {
    epoll: Epoll,
    timer: TimerFd,
    /// The time to which the timer is set, in nanoseconds of `CLOCK_MONOTONIC`; 0 means off.
    time: i64,
    events: Vec<EpollEvent>,
}

impl Poll {
    /// An instance without files.
    pub fn new() -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let timer = timer(ClockId::CLOCK_MONOTONIC)?;
        let poll = Self { epoll, timer, time: 0, events: vec![EpollEvent::empty(); MAX_EVENTS] };
        poll.add(poll.timer.as_fd(), TIMER)?;
        Ok(poll)
    }

    /// Adds `file`, which is ready when it can be read.
    pub fn add(&self, file: BorrowedFd<'_>, number: usize) -> io::Result<()> {
        Ok(self.epoll.add(file, EpollEvent::new(EpollFlags::EPOLLIN, number as u64))?)
    }

    /// Puts the numbers of readable files into `ready`, as soon as there are any or the time is over.
    pub fn wait(&mut self, patience: Patience, ready: &mut Vec<usize>) -> io::Result<()> {
        let timeout = match patience {
            Patience::None => EpollTimeout::ZERO,
            Patience::Until(time) => self.set(time).map(|()| EpollTimeout::NONE)?,
            Patience::Endless => self.set(0).map(|()| EpollTimeout::NONE)?,
        };
        let count = match self.epoll.wait(&mut self.events, timeout) {
            Err(Errno::EINTR) => 0,
            count => count?,
        };
        ready.clear();
        ready.extend(
            self.events[..count]
                .iter()
                .filter_map(|event| usize::try_from(event.data()).ok())
                .filter(|number| *number != TIMER),
        );
        Ok(())
    }

    /// Sets the timer to a time in nanoseconds, 0 for off. This also clears its expiration.
    fn set(&mut self, time: i64) -> io::Result<()> {
        if self.time == time {
            return Ok(());
        }
        self.time = time;
        let time = Expiration::OneShot(TimeSpec::nanoseconds(time));
        Ok(self.timer.set(time, TimerSetTimeFlags::TFD_TIMER_ABSTIME)?)
    }
}

/// Reports that `CLOCK_REALTIME` was set: by a program, by a leap second, or because the machine slept.
///
/// It is a timer of that clock that never expires. The kernel cancels it when the clock jumps, and the file is
/// readable then.
pub struct ClockWatch(TimerFd);

impl ClockWatch {
    /// A watch from now on.
    pub fn new() -> io::Result<Self> {
        let timer = timer(ClockId::CLOCK_REALTIME)?;
        let end_of_time = Expiration::OneShot(TimeSpec::new(i64::MAX, 0));
        timer.set(
            end_of_time,
            TimerSetTimeFlags::TFD_TIMER_ABSTIME | TimerSetTimeFlags::TFD_TIMER_CANCEL_ON_SET,
        )?;
        Ok(Self(timer))
    }

    /// Whether the clock was set since the last call.
    pub fn was_set(&self) -> bool {
        // nix reports the cancellation as success; a timer that is still running would block.
        self.0.wait().is_ok()
    }
}

impl AsFd for ClockWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn timer(clock: ClockId) -> io::Result<TimerFd> {
    Ok(TimerFd::new(clock, TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK)?)
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
