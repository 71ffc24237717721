//! How long the loop may poll for a due time without sleeping.
//!
//! # Theory of operation
//!
//! A sleeping thread wakes up some tens of microseconds late, so the loop wakes up early and polls the clock for
//! the rest. It cannot poll all the time: Linux takes the CPU from a `SCHED_FIFO` thread that used it for 0.95 of a
//! second (`sched_rt_runtime_us`, or the fair server since 6.12), and no frame is read for the next 50 ms. At 100
//! Mbit/s a packet comes every 120 us, and at 1 Gbit/s every 12.
//!
//! So each nanosecond of polling must be earned by a nanosecond of sleep. A link that is idle between packets has
//! enough credit. A busy link wakes up later, and the busiest one sleeps until something is due and then sends
//! everything that has become due. Polling and work together stay below the limit.
//!
//! Each link has its own due times and would poll for each of them. With *n* links a nanosecond of polling costs
//! *n*, so that a chain of three links does not take CPU time from the programs at its ends.
//!
//! Both times lie between two readings of the clock (see `runner`). A turn that polled in vain does nothing else. A
//! turn that slept may have handled a few frames too, which is little beside the sleep.

use link_model::Nanos;

/// The most credit that a long sleep earns: little compared with the second to which the limit applies.
const MAX_CREDIT: Nanos = 5_000_000;

/// The balance of polling and sleeping.
#[derive(Debug)]
pub struct Spin {
    longest: Nanos,
    /// The cost of polling for a nanosecond.
    price: Nanos,
    credit: Nanos,
}

impl Spin {
    /// Polls for at most `longest` before a due time of any of `links`.
    pub const fn new(longest: Nanos, links: usize) -> Self {
        Self { longest, price: if links == 0 { 1 } else { links as Nanos }, credit: MAX_CREDIT }
    }

    /// How long before a due time to wake up.
    pub fn lead(&self) -> Nanos {
        self.longest.min(self.credit / self.price)
    }

    /// Adds time spent asleep.
    pub fn slept(&mut self, time: Nanos) {
        self.credit = self.credit.saturating_add(time).min(MAX_CREDIT);
    }

    /// Subtracts time spent polling in vain.
    pub fn looked(&mut self, time: Nanos) {
        self.credit = self.credit.saturating_sub(time.saturating_mul(self.price));
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::{MAX_CREDIT, Spin};

    const LONGEST: u64 = 150_000;

    #[test]
    fn an_idle_link_may_poll_as_long_as_it_needs() {
        let mut spin = Spin::new(LONGEST, 1);
        for _ in 0..1000 {
            assert_eq!(spin.lead(), LONGEST);
            spin.looked(LONGEST);
            spin.slept(2 * LONGEST);
        }
    }

    proptest! {
        /// Polling never exceeds sleep plus the initial credit, and several links get no more than the share of
        /// one.
        #[test]
        fn looking_is_paid_for(steps in vec((0..400_000_u64, any::<bool>()), 0..500), links in 1..9_u64) {
            let mut spin = Spin::new(LONGEST, usize::try_from(links).expect("few"));
            let (mut looked, mut slept) = (0, 0);
            for (time, sleeps) in steps {
                if sleeps {
                    spin.slept(time);
                    slept += time;
                } else {
                    let time = time.min(spin.lead());
                    spin.looked(time);
                    looked += time;
                }
                prop_assert!(links * looked <= slept + MAX_CREDIT);
            }
        }
    }
}
