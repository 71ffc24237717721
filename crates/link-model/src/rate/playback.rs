//! Playback of a trace, as in mahimahi's link queue (`src/frontend/link_queue.cc`).
//!
//! Each opportunity sends up to [`Trace::OPPORTUNITY_BYTES`] of the waiting bytes: several small packets, or a part
//! of a large one, which leaves at the opportunity that takes its last byte. Capacity that no packet needs is lost.
//! An opportunity in the nanosecond of an arrival is too early for that packet.

use std::sync::Arc;

use super::{Demand, NANOS_PER_MS, Trace};
use crate::Nanos;

#[derive(Debug)]
pub(crate) struct Playback {
    trace: Arc<Trace>,
    /// When the trace began.
    origin: Nanos,
    /// The opportunity that took the last byte so far.
    used: Option<Opportunity>,
}

#[derive(Clone, Copy, Debug)]
struct Opportunity {
    lap: u64,
    index: usize,
    bytes_left: u32,
}

impl Playback {
    pub(super) const fn new(trace: Arc<Trace>) -> Self {
        Self { trace, origin: 0, used: None }
    }

    /// Bits in a lap and its length in ns.
    pub(super) fn pace(&self) -> (u128, u128) {
        (self.trace.bits().into(), self.period().into())
    }

    pub(super) const fn restart(&mut self, origin: Nanos) {
        self.origin = origin;
        self.used = None;
    }

    pub(super) const fn cancel(&mut self) {
        self.used = None;
    }

    pub(super) fn serve(&mut self, demand: Demand) -> Nanos {
        let waited_for = self.used.filter(|used| self.time(*used) > demand.arrived);
        let mut opportunity = waited_for.unwrap_or_else(|| self.first_after(demand.begins));
        let mut bytes = demand.bytes;
        while bytes > opportunity.bytes_left {
            bytes -= opportunity.bytes_left;
            opportunity = self.next(opportunity);
        }
        opportunity.bytes_left -= bytes;
        self.used = Some(opportunity);
        self.time(opportunity)
    }

    fn period(&self) -> Nanos {
        u64::from(self.trace.period_ms()) * NANOS_PER_MS
    }

    fn time(&self, opportunity: Opportunity) -> Nanos {
        let begin = self.period().saturating_mul(opportunity.lap);
        let within = u64::from(self.trace.times_ms()[opportunity.index]) * NANOS_PER_MS;
        self.origin.saturating_add(begin).saturating_add(within)
    }

    /// The last line of a lap and the lines at 0 of the next are at the same time.
    fn first_after(&self, at: Nanos) -> Opportunity {
        let Some(elapsed) = at.checked_sub(self.origin) else { return Self::fresh(0, 0) };
        let within = elapsed % self.period();
        let index = self.trace.times_ms().partition_point(|&ms| u64::from(ms) * NANOS_PER_MS <= within);
        Self::fresh(elapsed / self.period(), index)
    }

    fn next(&self, opportunity: Opportunity) -> Opportunity {
        if opportunity.index + 1 < self.trace.times_ms().len() {
            Self::fresh(opportunity.lap, opportunity.index + 1)
        } else {
            Self::fresh(opportunity.lap + 1, 0)
        }
    }

    const fn fresh(lap: u64, index: usize) -> Opportunity {
        Opportunity { lap, index, bytes_left: Trace::OPPORTUNITY_BYTES }
    }
}
