//! What the witness of a direction observed; see [`link_model::Witness`].

use link_model::{Nanos, Observation, Transit, Window};
use serde::Serialize;

/// The deliveries of a direction, compared with what a link of its description can do. A slack below 0 is
/// impossible.
#[derive(Debug, Serialize)]
pub struct Witnessed {
    packets: u64,
    /// Packets that reordering held back; only their delay was checked.
    skipped: u64,
    window: Option<WindowReport>,
    /// The window of arrivals in which the policer left the least room.
    policed: Option<WindowReport>,
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

/// The packet with the shortest transit.
#[derive(Debug, Serialize)]
struct Quickest {
    took_ns: Nanos,
    bytes: u32,
}

impl Witnessed {
    /// The report of one direction.
    pub fn new(observation: Observation) -> Self {
        let Observation { packets, skipped, window, policed, delay_slack_ns, quickest } = observation;
        let report =
            |Window { slack_ns, from, to, bytes }| WindowReport { slack_ns, from_ns: from, to_ns: to, bytes };
        let quickest = quickest.map(|Transit { took, bytes }| Quickest { took_ns: took, bytes });
        Self {
            packets,
            skipped,
            window: window.map(report),
            policed: policed.map(report),
            delay_slack_ns,
            quickest,
        }
    }
}
