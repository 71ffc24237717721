//! Whether processes of this machine wait for a CPU, so that the loop must not poll.
//!
//! Polling takes a CPU that other trials may need. The kernel's pressure stall information
//! (Documentation/accounting/psi.rst, "some" of cpu) gives the time during which at least one task waited. On a kernel
//! without it, the loop polls as if no process waited.
//!
//! Pressure that ends when emulators stop polling would begin again if they resumed at once, and many emulators
//! would poll half of the time. So the loop polls again only after a second without pressure.

use std::fs::File;
use std::os::unix::fs::FileExt;

use link_model::Nanos;

const COUNTER: &str = "/proc/pressure/cpu";
/// Time between two readings. A reading takes some microseconds.
const LOOK: Nanos = 100_000_000;
/// A download alone on two CPUs keeps a task waiting for a few percent of the time.
const BUSY_PERCENT: u64 = 20;
/// Time from the last pressure until the loop may poll again.
const REST: Nanos = 1_000_000_000;
const NANOS_PER_MICRO: u64 = 1000;

/// The machine's CPU pressure, read now and then.
#[derive(Debug)]
pub struct Pressure {
    file: Option<File>,
    at: Nanos,
    waited: Nanos,
    /// When the last pressure is far enough in the past.
    calm_from: Nanos,
}

impl Pressure {
    /// Opens the kernel's counter.
    pub fn new(now: Nanos) -> Self {
        let mut pressure = Self { file: File::open(COUNTER).ok(), at: now, waited: 0, calm_from: 0 };
        pressure.waited = pressure.read().unwrap_or_default();
        pressure
    }

    /// Whether a task waited during more than a fifth of the time between two readings of the last second.
    pub const fn busy(&self, now: Nanos) -> bool {
        now < self.calm_from
    }

    /// Reads the counter if it is time.
    pub fn look(&mut self, now: Nanos) {
        if now.saturating_sub(self.at) < LOOK {
            return;
        }
        if let Some(waited) = self.read() {
            self.judge(now, waited);
        }
    }

    /// Takes the counter's value at a time.
    const fn judge(&mut self, now: Nanos, waited: Nanos) {
        let (passed, more) = (now.saturating_sub(self.at), waited.saturating_sub(self.waited));
        if more * 100 > passed * BUSY_PERCENT {
            self.calm_from = now.saturating_add(REST);
        }
        (self.at, self.waited) = (now, waited);
    }

    fn read(&self) -> Option<Nanos> {
        let mut buffer = [0; 256];
        let length = self.file.as_ref()?.read_at(&mut buffer, 0).ok()?;
        waited(std::str::from_utf8(&buffer[..length]).ok()?)
    }
}

/// The total of the line "some".
fn waited(text: &str) -> Option<Nanos> {
    let line = text.lines().find(|line| line.starts_with("some "))?;
    let micros: u64 = line.rsplit_once("total=")?.1.trim().parse().ok()?;
    Some(micros * NANOS_PER_MICRO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_of_some_is_read() {
        let text = "some avg10=0.00 avg60=1.50 avg300=2.00 total=1234\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=9\n";
        assert_eq!(waited(text), Some(1_234_000));
        assert_eq!(waited(""), None);
    }

    #[test]
    fn polling_resumes_a_second_after_the_last_pressure() {
        let mut pressure = Pressure { file: None, at: 0, waited: 0, calm_from: 0 };
        pressure.judge(LOOK, LOOK / 5);
        assert!(!pressure.busy(LOOK), "a fifth of the time is allowed");
        let waited = LOOK / 5 + LOOK / 4;
        pressure.judge(2 * LOOK, waited);
        assert!(pressure.busy(2 * LOOK));
        pressure.judge(3 * LOOK, waited);
        assert!(pressure.busy(2 * LOOK + REST - 1));
        assert!(!pressure.busy(2 * LOOK + REST));
    }

    #[test]
    fn a_kernel_without_the_counter_is_never_busy() {
        let mut pressure = Pressure { file: None, at: 0, waited: 0, calm_from: 0 };
        pressure.look(10 * LOOK);
        assert!(!pressure.busy(10 * LOOK));
    }
}
