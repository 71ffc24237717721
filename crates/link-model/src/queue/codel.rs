//! Controlled delay, `CoDel` (RFC 8289).
//!
//! [`Control::dequeue`] and [`Control::next`] are `dequeue` and `dodequeue` of the pseudo-code in section 5, name
//! by name. Choices that the RFC leaves open:
//!
//! * `MAXPACKET`, the interface's MTU, is the largest packet seen.
//! * A packet is marked where it would be dropped, as in Linux: it leaves with the mark, and the next drop is
//!   scheduled as if it had been dropped.

use serde::Deserialize;

use super::{Entry, Fifo, mark};
use crate::Nanos;
use crate::bounds::interval;

/// Parameters of `CoDel` (RFC 8289).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoDel {
    /// Acceptable standing queue delay.
    #[serde(rename = "target_ns", deserialize_with = "interval")]
    pub target: Nanos,
    /// Time in which the delay must fall below the target.
    #[serde(rename = "interval_ns", deserialize_with = "interval")]
    pub interval: Nanos,
    /// Whether packets of ECN-capable flows are marked instead of dropped.
    pub ecn: bool,
}

#[derive(Debug)]
pub(crate) struct CoDelQueue<B> {
    settings: CoDel,
    control: Control,
    largest: u32,
    pub(super) fifo: Fifo<B>,
}

impl<B> CoDelQueue<B> {
    pub(super) const fn new(settings: CoDel) -> Self {
        Self { settings, control: Control::new(), largest: 0, fifo: Fifo::new() }
    }

    pub(super) fn enqueue(&mut self, entry: Entry<B>) {
        self.largest = self.largest.max(entry.packet.bytes);
        self.fifo.push(entry);
    }

    pub(super) fn dequeue(&mut self, now: Nanos, dropped: &mut Vec<Entry<B>>) -> Option<Entry<B>> {
        let terms = Terms { settings: self.settings, max_packet: self.largest.into(), now };
        self.control.dequeue(&terms, &mut self.fifo, dropped)
    }
}

/// What a decision depends on besides the state.
pub(super) struct Terms {
    pub settings: CoDel,
    /// If no more than this is left in the queue, nothing is dropped.
    pub max_packet: u64,
    pub now: Nanos,
}

/// The state of one queue.
#[derive(Debug)]
pub(super) struct Control {
    /// When the delay will have been above the target for an interval.
    first_above: Option<Nanos>,
    drop_next: Nanos,
    count: u64,
    last_count: u64,
    dropping: bool,
}

impl Control {
    pub(super) const fn new() -> Self {
        Self { first_above: None, drop_next: 0, count: 0, last_count: 0, dropping: false }
    }

    pub(super) fn dequeue<B>(
        &mut self,
        terms: &Terms,
        fifo: &mut Fifo<B>,
        dropped: &mut Vec<Entry<B>>,
    ) -> Option<Entry<B>> {
        let (entry, ok_to_drop) = self.next(terms, fifo)?;
        if !self.dropping {
            return if ok_to_drop { self.enter(terms, entry, fifo, dropped) } else { Some(entry) };
        }
        self.dropping = ok_to_drop;
        self.go_on(terms, entry, fifo, dropped)
    }

    /// The next packet, and whether the delay has been above the target for an interval. An empty queue ends the
    /// dropping state.
    fn next<B>(&mut self, terms: &Terms, fifo: &mut Fifo<B>) -> Option<(Entry<B>, bool)> {
        let Some(entry) = fifo.pop() else {
            self.first_above = None;
            self.dropping = false;
            return None;
        };
        let sojourn = terms.now.saturating_sub(entry.arrived);
        let mut ok_to_drop = false;
        if sojourn < terms.settings.target || fifo.bytes() <= terms.max_packet {
            self.first_above = None;
        } else if let Some(first_above) = self.first_above {
            ok_to_drop = terms.now >= first_above;
        } else {
            self.first_above = Some(terms.now.saturating_add(terms.settings.interval));
        }
        Some((entry, ok_to_drop))
    }

    /// Starts dropping. If the delay was below the target only briefly, the drop rate continues where it was.
    fn enter<B>(
        &mut self,
        terms: &Terms,
        mut entry: Entry<B>,
        fifo: &mut Fifo<B>,
        dropped: &mut Vec<Entry<B>>,
    ) -> Option<Entry<B>> {
        let sent = if terms.settings.ecn && mark(&mut entry) {
            Some(entry)
        } else {
            dropped.push(entry);
            self.next(terms, fifo).map(|(entry, _)| entry)
        };
        self.dropping = true;
        let delta = self.count.saturating_sub(self.last_count);
        let recently = terms.now.saturating_sub(self.drop_next) < terms.settings.interval.saturating_mul(16);
        self.count = if delta > 1 && recently { delta } else { 1 };
        self.drop_next = control_law(terms.now, terms.settings.interval, self.count);
        self.last_count = self.count;
        sent
    }

    /// Drops as many packets as are due; with a large backlog several at once.
    fn go_on<B>(
        &mut self,
        terms: &Terms,
        mut entry: Entry<B>,
        fifo: &mut Fifo<B>,
        dropped: &mut Vec<Entry<B>>,
    ) -> Option<Entry<B>> {
        while self.dropping && terms.now >= self.drop_next {
            self.count += 1;
            if terms.settings.ecn && mark(&mut entry) {
                self.drop_next = control_law(self.drop_next, terms.settings.interval, self.count);
                break;
            }
            dropped.push(entry);
            let (next, ok_to_drop) = self.next(terms, fifo)?;
            entry = next;
            self.dropping = ok_to_drop;
            if ok_to_drop {
                self.drop_next = control_law(self.drop_next, terms.settings.interval, self.count);
            }
        }
        Some(entry)
    }
}

/// The time of the next drop after one at `time`. The interval shrinks with the square root of the number of drops,
/// by which the throughput of TCP falls linearly (RFC 8289 section 3.3).
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "positive, no more than the interval, and 53 bits of it suffice"
)]
fn control_law(time: Nanos, interval: Nanos, count: u64) -> Nanos {
    time.saturating_add((interval as f64 / (count as f64).sqrt()) as Nanos)
}
