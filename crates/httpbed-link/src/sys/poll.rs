//! Waits for any of several files, until a time in nanoseconds.
//!
//! A timerfd among the files measures the time. For every process without a real-time class the kernel extends
//! epoll's own timeout by a thousandth (`select_estimate_accuracy`), which is 100 us for 100 ms, whatever the timer
//! slack. A timerfd is late by the slack only.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::check;
use super::timer::Alarm;

/// Further ready files are reported by the next call.
const MOST_EVENTS: u8 = 64;

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
    epoll: OwnedFd,
    alarm: Alarm,
    events: Vec<libc::epoll_event>,
}

impl Poll {
    /// An instance without files.
    pub fn new() -> io::Result<Self> {
        // SAFETY: no memory is involved.
        let epoll = check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        // SAFETY: the kernel has just returned this descriptor, and nothing else owns it.
        let epoll = unsafe { OwnedFd::from_raw_fd(epoll) };
        let events = vec![libc::epoll_event { events: 0, u64: 0 }; MOST_EVENTS.into()];
        let poll = Self { epoll, alarm: Alarm::new()?, events };
        poll.add(poll.alarm.as_fd(), TIMER)?;
        Ok(poll)
    }

    /// Adds `file`, which is ready when it can be read.
    pub fn add(&self, file: BorrowedFd<'_>, number: usize) -> io::Result<()> {
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: number as u64 };
        let epoll = self.epoll.as_raw_fd();
        // SAFETY: both descriptors are open, `event` lives through the call.
        check(unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, file.as_raw_fd(), &raw mut event) })
            .map(drop)
    }

    /// Puts the numbers of readable files into `ready`, as soon as there are any or the time is over.
    pub fn wait(&mut self, patience: Patience, ready: &mut Vec<usize>) -> io::Result<()> {
        let timeout = match patience {
            Patience::None => 0,
            Patience::Until(time) => self.alarm.set(time).map(|()| -1)?,
            Patience::Endless => self.alarm.set(0).map(|()| -1)?,
        };
        let (epoll, events) = (self.epoll.as_raw_fd(), self.events.as_mut_ptr());
        // SAFETY: `events` has room for as many entries as stated.
        let count = check(unsafe { libc::epoll_wait(epoll, events, MOST_EVENTS.into(), timeout) });
        let count = count.or_else(none_if_interrupted)?;
        let ready_events = self.events.iter().take(usize::try_from(count).unwrap_or(0));
        ready.clear();
        ready.extend(
            ready_events
                .filter_map(|event| usize::try_from(event.u64).ok())
                .filter(|number| *number != TIMER),
        );
        Ok(())
    }
}

fn none_if_interrupted(error: io::Error) -> io::Result<libc::c_int> {
    if error.kind() == io::ErrorKind::Interrupted { Ok(0) } else { Err(error) }
}
