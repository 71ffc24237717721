//! The ended processes that a first process collects, and their CPU time.

use std::time::Duration;

use nix::unistd::Pid;

/// Collect an ended process; with the option 0, wait for it while there is any.
pub fn collect(options: i32) -> Option<(Pid, i32, libc::rusage)> {
    let mut status = 0;
    // SAFETY: an all-zero rusage is a valid value, and both pointers live through the call.
    let (pid, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        (libc::wait4(-1, &raw mut status, options, &raw mut usage), usage)
    };
    (pid > 0).then(|| (Pid::from_raw(pid), status, usage))
}

/// CPU time of an ended process, and of those for which it had waited.
pub fn cpu_time(usage: &libc::rusage) -> Duration {
    let time = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec.unsigned_abs()) + Duration::from_micros(time.tv_usec.unsigned_abs())
    };
    time(usage.ru_utime) + time(usage.ru_stime)
}

/// Kill every process of this PID namespace except this one, its first.
pub fn kill_all() {
    // SAFETY: -1 means every process that this one may signal and can see, except itself.
    unsafe { libc::kill(-1, libc::SIGKILL) };
}

/// Kill all others and wait for their end; return the CPU time of those that this process had to wait for.
pub fn end_all() -> Duration {
    kill_all();
    let mut total = Duration::ZERO;
    while let Some((_, _, usage)) = collect(0) {
        total += cpu_time(&usage);
    }
    total
}
