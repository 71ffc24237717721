//! Proportional integral controller enhanced, PIE (RFC 8033).
//!
//! The code follows the pseudo-code of appendix A with the tuning of section 4.2 and the marking of section 5.1. It
//! leaves out the other optional parts of section 5: rate estimation, turning PIE off, de-randomisation and capped
//! adjustment. Choices that the RFC leaves open:
//!
//! * The queue delay comes from time stamps (the second method of section 4.3, which needs no rate estimate). It is
//!   the delay of the packet that the server began with last, or 0 if none waited behind that.
//! * `MEAN_PKTSIZE` is the largest packet seen, as Linux uses the MTU.
//! * The probability is updated at whole multiples of the period from the first arrival on.
//! * A packet is dropped when draw `2 n` of its number is below the probability, a copy when draw `2 n + 1` is.
//!   Packets without a number are not dropped at random.
//!
//! All decisions are made on arrival. They depend on the packets that the server began with *before*, but a caller
//! that looks early has let it begin with later ones, too. So these are recorded and read up to the time of each
//! arrival, and the result does not depend on when the caller looks.

use std::collections::VecDeque;

use serde::Deserialize;

use super::{Entry, Fifo, mark};
use crate::bounds::{HOUR_NS, interval, key, whole};
use crate::{Nanos, Stream};

/// PIE counts its updates also while no packet arrives; a shorter period is a mistake of unit.
const SHORTEST_UPDATE_NS: Nanos = 1_000_000;

/// Parameters of PIE (RFC 8033).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pie {
    /// Target of the queue delay.
    #[serde(rename = "target_ns", deserialize_with = "interval")]
    pub target: Nanos,
    /// How often the drop probability is updated.
    #[serde(rename = "update_ns", deserialize_with = "whole::<_, _, SHORTEST_UPDATE_NS, HOUR_NS>")]
    pub update: Nanos,
    /// Whether packets of ECN-capable flows are marked instead of dropped while the probability is at most 10 %.
    pub ecn: bool,
    /// Of its random stream.
    #[serde(deserialize_with = "key")]
    pub key: u64,
}

/// Per second of delay above the target (section 4.2).
const ALPHA: f64 = 0.125;
/// Per second by which the delay grew in a period.
const BETA: f64 = 1.25;
const MAX_BURST: Nanos = 150_000_000;
/// Above it even packets that could be marked are dropped (section 5.1).
const MARKING_THRESHOLD: f64 = 0.1;
/// The adjustment is divided by the second while the probability is below the first.
const TUNING: [(f64, f64); 6] =
    [(0.000_001, 2048.0), (0.000_01, 512.0), (0.000_1, 128.0), (0.001, 32.0), (0.01, 8.0), (0.1, 2.0)];

#[derive(Debug)]
pub(crate) struct PieQueue<B> {
    settings: Pie,
    drop_probability: f64,
    burst_allowance: Nanos,
    delay_before: Nanos,
    next_update: Option<Nanos>,
    /// What the server began with: the last packet at or before the last arrival, and all after it.
    sent: VecDeque<Sent>,
    largest: u32,
    pub(super) fifo: Fifo<B>,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    arrived: Nanos,
    at: Nanos,
    bytes: u32,
}

impl<B> PieQueue<B> {
    pub(super) const fn new(settings: Pie) -> Self {
        Self {
            settings,
            drop_probability: 0.0,
            burst_allowance: MAX_BURST,
            delay_before: 0,
            next_update: None,
            sent: VecDeque::new(),
            largest: 0,
            fifo: Fifo::new(),
        }
    }

    pub(super) const fn drop_probability(&self) -> f64 {
        self.drop_probability
    }

    pub(super) fn enqueue(&mut self, mut entry: Entry<B>) -> Option<Entry<B>> {
        self.largest = self.largest.max(entry.packet.bytes);
        self.update_until(entry.arrived);
        let delay = self.delay_at(entry.arrived);
        if self.drop_probability <= 0.0 && self.is_low(delay) && self.is_low(self.delay_before) {
            self.burst_allowance = MAX_BURST;
        }
        if self.burst_allowance == 0 && self.drops_early(&entry) && !self.marks(&mut entry) {
            return Some(entry);
        }
        self.fifo.push(entry);
        None
    }

    pub(super) fn dequeue(&mut self, now: Nanos) -> Option<Entry<B>> {
        let entry = self.fifo.pop()?;
        self.sent.push_back(Sent { arrived: entry.arrived, at: now, bytes: entry.packet.bytes });
        Some(entry)
    }

    fn is_low(&self, delay: Nanos) -> bool {
        delay < self.settings.target / 2
    }

    fn drops_early(&self, entry: &Entry<B>) -> bool {
        let calm = self.is_low(self.delay_before) && self.drop_probability < 0.2;
        if calm || self.bytes_waiting(entry.arrived) <= 2 * u64::from(self.largest) {
            return false;
        }
        let stream = Stream::new(self.settings.key);
        let draw = |number: u64| stream.unit(number.wrapping_mul(2) + u64::from(entry.packet.copy));
        entry.packet.number.is_some_and(|number| draw(number) < self.drop_probability)
    }

    fn marks(&self, entry: &mut Entry<B>) -> bool {
        self.settings.ecn && self.drop_probability <= MARKING_THRESHOLD && mark(entry)
    }

    /// Makes every update that is due before an arrival at `now`, as the timer would have done.
    fn update_until(&mut self, now: Nanos) {
        let period = self.settings.update.max(1);
        let mut due = self.next_update.unwrap_or_else(|| now.saturating_add(period));
        while due <= now && due < Nanos::MAX {
            let delay = self.delay_at(due);
            let settled = self.drop_probability <= 0.0 && delay == 0 && self.delay_before == 0;
            self.update(delay);
            // An idle queue does not change any more, and it may have been idle for hours.
            let periods = if settled && self.sent.len() <= 1 { (now - due) / period } else { 0 };
            self.burst_allowance = self.burst_allowance.saturating_sub(period.saturating_mul(periods));
            due = due.saturating_add(period.saturating_mul(periods + 1));
        }
        self.next_update = Some(due);
    }

    fn update(&mut self, delay: Nanos) {
        let above = seconds(delay) - seconds(self.settings.target);
        let growth = seconds(delay) - seconds(self.delay_before);
        let tuning = TUNING.iter().find(|(below, _)| self.drop_probability < *below);
        let divisor = tuning.map_or(1.0, |(_, divisor)| *divisor);
        self.drop_probability += (ALPHA * above + BETA * growth) / divisor;
        if delay == 0 && self.delay_before == 0 {
            self.drop_probability *= 0.98;
        }
        self.drop_probability = self.drop_probability.clamp(0.0, 1.0);
        self.delay_before = delay;
        self.burst_allowance = self.burst_allowance.saturating_sub(self.settings.update);
    }

    /// The queue delay as it was known at `now`. Times never decrease from call to call.
    fn delay_at(&mut self, now: Nanos) -> Nanos {
        while self.sent.get(1).is_some_and(|second| second.at <= now) {
            self.sent.pop_front();
        }
        let Some(last) = self.sent.front().filter(|sent| sent.at <= now) else { return 0 };
        let behind = self.sent.get(1).map(|sent| sent.arrived).or(self.fifo.front().map(|next| next.arrived));
        if behind.is_some_and(|arrived| arrived < last.at) { last.at - last.arrived } else { 0 }
    }

    /// What waited at `now`, the time of the last arrival.
    fn bytes_waiting(&self, now: Nanos) -> u64 {
        let later = self.sent.iter().filter(|sent| sent.at > now);
        self.fifo.bytes() + later.map(|sent| u64::from(sent.bytes)).sum::<u64>()
    }
}

#[expect(clippy::cast_precision_loss, reason = "53 bits suffice for a delay")]
fn seconds(time: Nanos) -> f64 {
    time as f64 / 1e9
}
