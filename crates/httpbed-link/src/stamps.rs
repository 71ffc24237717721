//! When a frame arrived: its stamp, translated to the emulator's clock.

use link_model::Nanos;

use crate::clock::Clock;
use crate::emulator::Arrival;
use crate::sys::batch::{Received, Stamp};

/// How far a stamp may be ahead of the clock, because the difference between the two clocks is not known exactly.
const CLOCK_DOUBT: Nanos = 1_000_000;

/// The arrival of a frame that was copied before `now`.
///
/// A stamp in the future, from a clock that was set back, is no better than none.
pub fn arrival(clock: &Clock, now: Nanos, received: Received) -> Arrival {
    let stamp = match received.stamp {
        Stamp::Kernel(stamp) => clock.of_stamp(stamp),
        Stamp::Reading(reading) => clock.of_monotonic(reading),
    };
    let at = stamp.min(now);
    Arrival {
        at,
        stamp: clock.stamp_of(at),
        stamped: stamp - at <= CLOCK_DOUBT,
        finished: received.finished,
        length: received.length,
        frame: received.frame,
    }
}

#[cfg(test)]
mod tests {
    use super::{CLOCK_DOUBT, arrival};
    use crate::clock::{Clock, Kernel};
    use crate::sys::batch::{Received, Stamp};

    #[test]
    fn a_stamp_in_the_future_is_ignored() {
        let clock = Clock::start(Box::new(Kernel));
        let now = 7_000_000_000;
        let arrived = |at| {
            let stamp = Stamp::Kernel(clock.stamp_of(at));
            let frame = Received { frame: vec![], length: 0, stamp, finished: true };
            let arrival = arrival(&clock, now, frame);
            (arrival.at, arrival.stamped)
        };
        assert_eq!(arrived(now - 5), (now - 5, true));
        assert_eq!(arrived(now + CLOCK_DOUBT), (now, true));
        assert_eq!(arrived(now + CLOCK_DOUBT + 1), (now, false));
    }
}
