//! This process: its end with its parent, and its timer slack.

use std::io;

use super::check;

/// Lets the kernel kill this process when its parent dies.
///
/// # Errors
/// When the kernel does not know the option.
pub fn die_with_parent() -> io::Result<()> {
    prctl(libc::PR_SET_PDEATHSIG, libc::c_ulong::try_from(libc::SIGKILL).unwrap_or_default())
}

/// Timers of this thread fire within 1 ns instead of the usual 50 us of slack.
///
/// # Errors
/// When the kernel does not know the option.
pub fn wake_precisely() -> io::Result<()> {
    prctl(libc::PR_SET_TIMERSLACK, 1)
}

fn prctl(option: libc::c_int, argument: libc::c_ulong) -> io::Result<()> {
    // SAFETY: both options take one integer and touch no memory of this process.
    check(unsafe { libc::prctl(option, argument) }).map(drop)
}
