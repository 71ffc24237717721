//! What this process took of the machine.

use crate::sys::{process, time};

/// What it had used when it was looked at.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    cpu: i64,
    run_delay: Option<u64>,
}

impl Usage {
    /// Up to now.
    pub fn now() -> Self {
        Self { cpu: time::process_cpu(), run_delay: process::run_delay() }
    }

    /// CPU time since an earlier look, in ns.
    pub fn cpu_since(self, earlier: Self) -> u64 {
        u64::try_from(self.cpu - earlier.cpu).unwrap_or(0)
    }

    /// Time since an earlier look for which it was ready to run but had no CPU, in ns.
    pub fn run_delay_since(self, earlier: Self) -> Option<u64> {
        self.run_delay.zip(earlier.run_delay).map(|(now, then)| now.saturating_sub(then))
    }
}
