//! This process: how it ends, its timer slack, its scheduling.

use std::fs;

pub use linux_calls::process::{die_with_parent, wake_precisely};

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

/// Nanoseconds for which this process was ready to run but had no CPU; `None` where the kernel does not measure it.
pub fn run_delay() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/schedstat").ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}
