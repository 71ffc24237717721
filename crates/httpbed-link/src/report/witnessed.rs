//! What the witness of a direction has seen; see [`link_model::Witness`].

use link_model::{Nanos, Observation, Transit, Window};
use serde::Serialize;

/// What a direction delivered, beside what any link of its description could deliver. A slack below 0 is impossible.
#[derive(Debug, Serialize)]
pub struct Witnessed {
    packets: u64,
    /// Those that reordering held back, compared with the delay only.
    skipped: u64,
    window: Option<WindowReport>,
    delay_slack_ns: Option<i64>,
    quickest: Option<Quickest>,
}

/// The window in which the rate left the least room. Times are since the emulator was ready.
#[derive(Debug, Serialize)]
struct WindowReport {
    slack_ns: i64,
    from_ns: Nanos,
    to_ns: Nanos,
    bytes: u64,
}

/// The packet that was under way for the shortest time.
#[derive(Debug, Serialize)]
struct Quickest {
    took_ns: Nanos,
    bytes: u32,
}

impl Witnessed {
    /// Of one direction.
    pub fn new(observation: Observation) -> Self {
        let Observation { packets, skipped, window, delay_slack_ns, quickest } = observation;
        let told =
            |Window { slack_ns, from, to, bytes }| WindowReport { slack_ns, from_ns: from, to_ns: to, bytes };
        let quickest = quickest.map(|Transit { took, bytes }| Quickest { took_ns: took, bytes });
        Self { packets, skipped, window: window.map(told), delay_slack_ns, quickest }
    }
}
