//! How long the loop may look for a due time without sleeping.
//!
//! # Theory of operation
//!
//! A sleeping thread is woken some tens of microseconds late, so the loop wakes up early and looks at the clock for
//! the rest. But who looks all the time has no right to: Linux takes the CPU from a `SCHED_FIFO` thread that has used
//! it for 0.95 of a second (`sched_rt_runtime_us`, or the fair server since 6.12), and for the 50 ms that follow no
//! frame is read. At 100 Mbit/s there is a packet every 120 us, and at 1 Gbit/s every 12.
//!
//! So looking is paid for by sleeping, a nanosecond for a nanosecond. A link that is idle between packets has
//! credit for all it wants; a busy one wakes up later, and the busiest sleeps until something is due and then sends
//! what has become due meanwhile. Together with its work the thread stays below the limit.
//!
//! Several links have due times of their own, and each would want its own looking: with *n* links a nanosecond costs
//! *n*, so that a chain of three does not take from the programs at its ends what they are to be measured with.

use link_model::Nanos;

/// The most that a long sleep pays for: little beside the second that the limit is about.
const MOST_CREDIT: Nanos = 5_000_000;

/// The account of looking and sleeping.
#[derive(Debug)]
pub struct Spin {
    longest: Nanos,
    /// What looking for a nanosecond costs.
    price: Nanos,
    credit: Nanos,
}

impl Spin {
    /// Looks for at most `longest` before a due time of any of `links`.
    pub const fn new(longest: Nanos, links: usize) -> Self {
        Self { longest, price: if links == 0 { 1 } else { links as Nanos }, credit: MOST_CREDIT }
    }

    /// How long before a due time to wake up.
    pub fn lead(&self) -> Nanos {
        self.longest.min(self.credit / self.price)
    }

    /// Takes account of time spent asleep.
    pub fn slept(&mut self, time: Nanos) {
        self.credit = self.credit.saturating_add(time).min(MOST_CREDIT);
    }

    /// Takes account of time spent looking in vain.
    pub fn looked(&mut self, time: Nanos) {
        self.credit = self.credit.saturating_sub(time.saturating_mul(self.price));
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::{MOST_CREDIT, Spin};

    const LONGEST: u64 = 150_000;

    #[test]
    fn an_idle_link_is_looked_for_as_long_as_wanted() {
        let mut spin = Spin::new(LONGEST, 1);
        for _ in 0..1000 {
            assert_eq!(spin.lead(), LONGEST);
            spin.looked(LONGEST);
            spin.slept(2 * LONGEST);
        }
    }

    proptest! {
        /// However it is asked, more is never looked than was slept, but for the credit it began with; and
        /// of several links no more than the share of one.
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
                prop_assert!(links * looked <= slept + MOST_CREDIT);
            }
        }
    }
}
