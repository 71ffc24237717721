//! CPU time and scheduling class of this process.

use std::fs;

use nix::libc;
use nix::time::ClockId;

use crate::clock;

/// The usage at one time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    cpu: i64,
    /// Nanoseconds for which this process was ready to run but had no CPU; `None` where the kernel does not measure it.
    run_delay: Option<u64>,
}

impl Usage {
    /// The usage up to now.
    pub fn now() -> Self {
        Self { cpu: clock::read(ClockId::CLOCK_PROCESS_CPUTIME_ID), run_delay: run_delay() }
    }

    /// CPU time since an earlier reading, in ns.
    pub fn cpu_since(self, earlier: Self) -> u64 {
        u64::try_from(self.cpu - earlier.cpu).unwrap_or(0)
    }

    /// Time since an earlier reading in which the process was ready to run but had no CPU, in ns.
    pub fn run_delay_since(self, earlier: Self) -> Option<u64> {
        self.run_delay.zip(earlier.run_delay).map(|(now, then)| now.saturating_sub(then))
    }
}

fn run_delay() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/schedstat").ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok()
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
