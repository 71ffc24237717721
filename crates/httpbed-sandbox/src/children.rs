//! The ended processes that a first process collects, and their CPU time.

use std::time::Duration;

use nix::libc;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::kernel_calls::wait4;

/// CPU time of an ended process, and of those for which it had waited.
pub fn cpu_time(usage: &libc::rusage) -> Duration {
    let time = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec.unsigned_abs()) + Duration::from_micros(time.tv_usec.unsigned_abs())
    };
    time(usage.ru_utime) + time(usage.ru_stime)
}

/// Kill every process of this PID namespace except this one, its first.
pub fn kill_all() {
    // -1 means every process that this one may signal and can see, except itself.
    let _ = kill(Pid::from_raw(-1), Signal::SIGKILL);
}

/// Kill all others and wait for their end; return the CPU time of those that this process had to wait for.
pub fn end_all() -> Duration {
    kill_all();
    let mut total = Duration::ZERO;
    while let Some((_, _, usage)) = wait4(0) {
        total += cpu_time(&usage);
    }
    total
}
