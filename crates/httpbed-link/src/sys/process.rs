//! This process: how it ends, how precisely it is woken, how it is scheduled.

use std::fs;
use std::io;

use super::check;

/// Lets the kernel kill this process when its parent dies.
pub fn die_with_parent() -> io::Result<()> {
    prctl(libc::PR_SET_PDEATHSIG, libc::c_ulong::try_from(libc::SIGKILL).unwrap_or_default())
}

/// Timers of this thread fire within 1 ns instead of the usual 50 us of slack.
pub fn wake_precisely() -> io::Result<()> {
    prctl(libc::PR_SET_TIMERSLACK, 1)
}

fn prctl(option: libc::c_int, argument: libc::c_ulong) -> io::Result<()> {
    // SAFETY: both options take one integer and touch no memory of ours.
    check(unsafe { libc::prctl(option, argument) }).map(drop)
}

/// The name of this process's scheduling class.
pub fn scheduling_class() -> &'static str {
    // SAFETY: no memory is involved; 0 is the calling process.
    match unsafe { libc::sched_getscheduler(0) } & !libc::SCHED_RESET_ON_FORK {
        libc::SCHED_FIFO => "SCHED_FIFO",
        libc::SCHED_RR => "SCHED_RR",
        libc::SCHED_BATCH => "SCHED_BATCH",
        libc::SCHED_IDLE => "SCHED_IDLE",
        libc::SCHED_DEADLINE => "SCHED_DEADLINE",
        _ => "SCHED_OTHER",
    }
}

/// Nanoseconds for which this process stood ready to run but had no CPU; `None` where the kernel does
/// not keep it.
pub fn run_delay() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/schedstat").ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}
