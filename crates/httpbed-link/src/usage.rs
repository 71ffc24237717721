//! CPU time of this process.

use crate::sys::{process, time};

/// The usage at one time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    cpu: i64,
    run_delay: Option<u64>,
}

impl Usage {
    /// The usage up to now.
    pub fn now() -> Self {
        Self { cpu: time::process_cpu(), run_delay: process::run_delay() }
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
