//! One direction of a link: its stages in order, what changes them, and the account of what passed.
//!
//! # Theory of operation
//!
//! A packet meets, in this order: refusal by the caller ([`Direction::refuse`]), the link being down, the arrival
//! stages (loss, corruption, duplication), the queue with its rate, and the delay line with jitter and reordering.
//! The direction decides all of this at the packet's arrival, except what the queue does with it later.
//!
//! **Time** advances only in [`Direction::settle`], to the stamp of an arrival or to the time of a `pop`. Every
//! scheduled change takes effect at exactly its time. First the packets that leave the queue by then move to the
//! delay line; a packet whose last bit leaves at the time of the change has left. Then the change is made, and time
//! advances further. A change therefore does not depend on how late the caller wakes up. An arrival at the time of
//! a change meets the new condition.
//!
//! **Past events are final.** A caller that reads its clock before its sockets may pop and then push a packet that
//! arrived earlier. The packet keeps its own stamp, but not one before the packet ahead or before the last change.
//! A change by the caller is also not made before the last packet that left the queue.
//!
//! **Changes are reported** by [`Direction::next_applied`] as they were made, with the number of the first packet
//! that meets the new condition. The request alone does not tell: a change may be moved to a later time, or never
//! come.

use std::collections::VecDeque;

use crate::schedule::{Numbered, Schedule};
use crate::{
    Account, Applied, Arrival, ArrivalStage, Bottleneck, Cause, Change, DelayLine, Departure, Fate,
    Impairments, Nanos, Packet, Stage, Tally, Verdict,
};

/// One direction of a link.
///
/// It begins in the idle phase: rate, queue and delay apply, but packets have no number, use no draw and are not
/// counted. [`Direction::start`] ends the idle phase.
#[derive(Debug)]
pub struct Direction<B> {
    arrival: Vec<Box<dyn ArrivalStage>>,
    bottleneck: Option<Bottleneck<B>>,
    delay: DelayLine<B>,
    dropped: VecDeque<Dropped<B>>,
    schedule: Schedule,
    /// How many changes were requested.
    requested: usize,
    applied: VecDeque<Applied>,
    down: bool,
    started: Option<Nanos>,
    last_arrival: Nanos,
    last_change: Nanos,
    /// When the last packet left the queue.
    last_departure: Nanos,
    account: Account,
}

/// A drop that `pop` has not returned yet.
#[derive(Debug)]
struct Dropped<B> {
    departure: Departure<B>,
    /// How many packets had entered the delay line before it; of equal times, `pop` returns these first.
    behind: u64,
}

impl<B> Direction<B> {
    /// An empty direction in the idle phase.
    #[must_use]
    pub fn new(impairments: Impairments) -> Self {
        let (arrival, delay) = (impairments.arrival_stages(), DelayLine::new(&impairments));
        let Impairments { rate, queue, .. } = impairments;
        Self {
            arrival,
            bottleneck: rate.map(|rate| Bottleneck::new(rate, queue)),
            delay,
            dropped: VecDeque::new(),
            schedule: Schedule::default(),
            requested: 0,
            applied: VecDeque::new(),
            down: false,
            started: None,
            last_arrival: 0,
            last_change: 0,
            last_departure: 0,
            account: Account::default(),
        }
    }

    /// Ends the idle phase: the first packet that arrives at `at` or later is number 0, and the times of the schedule
    /// and of a trace count from `at`.
    pub fn start(&mut self, at: Nanos) {
        self.started = Some(at);
        self.account = Account::default();
        self.schedule = std::mem::take(&mut self.schedule).shifted_by(at);
        if let Some(bottleneck) = &mut self.bottleneck {
            bottleneck.start(at);
            bottleneck.forget_peak();
        }
    }

    /// What was counted since the start.
    #[must_use]
    pub const fn account(&self) -> &Account {
        &self.account
    }

    /// The counted packets that are inside now.
    #[must_use]
    pub fn in_flight(&self) -> Tally {
        let queued = self.bottleneck.iter().flat_map(Bottleneck::held);
        let mut tally = Tally::default();
        for packet in queued.chain(self.delay.held()).filter(|packet| packet.number.is_some()) {
            tally.add(packet);
        }
        tally
    }

    /// The most packets that waited or were in service at once.
    #[must_use]
    pub fn queue_packets_max(&self) -> u64 {
        self.bottleneck.as_ref().map_or(0, Bottleneck::peak_packets)
    }

    /// Whether arriving packets are dropped, as of the last arrival or `pop`.
    #[must_use]
    pub const fn is_down(&self) -> bool {
        self.down
    }

    /// Changes a condition at `at`, or at the last arrival, change or departure from the queue if that was later.
    /// Returns the change's [`Applied::id`].
    pub fn change(&mut self, at: Nanos, change: Change) -> usize {
        let at = at.max(self.last_arrival).max(self.last_change).max(self.last_departure);
        self.settle(at);
        let id = self.next_id();
        self.apply(at, (id, change));
        self.advance(at);
        id
    }

    /// Schedules a change for exactly `after_start` ns after the start. Changes for one time are made in the order
    /// in which they were scheduled. Returns the change's [`Applied::id`].
    pub fn schedule(&mut self, after_start: Nanos, change: Change) -> usize {
        let id = self.next_id();
        self.schedule.add(self.started.unwrap_or(0).saturating_add(after_start), (id, change));
        id
    }

    /// The next change that was made and not returned yet, in the order of the changes.
    pub fn next_applied(&mut self) -> Option<Applied> {
        self.applied.pop_front()
    }

    /// When the next scheduled change is due; `None` before the start and without one.
    #[must_use]
    pub fn next_change(&self) -> Option<Nanos> {
        self.schedule.next().filter(|_| self.started.is_some())
    }

    fn next_id(&mut self) -> usize {
        self.requested += 1;
        self.requested - 1
    }

    fn apply(&mut self, at: Nanos, (id, change): Numbered) {
        self.last_change = at;
        self.applied.push_back(Applied { id, at, change, next_number: self.account.arrived.packets });
        self.arrival.iter_mut().for_each(|stage| stage.change(change));
        match change {
            Change::Rate(rate) => {
                if let Some(bottleneck) = &mut self.bottleneck {
                    bottleneck.set_rate(at, rate);
                }
            }
            Change::Delay(delay) => self.delay.set_delay(delay),
            Change::Down => self.go_down(at),
            Change::Up => self.down = false,
            Change::Loss(_) | Change::Rebind => {}
        }
    }

    fn go_down(&mut self, at: Nanos) {
        self.down = true;
        if let Some(bottleneck) = &mut self.bottleneck {
            bottleneck.flush(at, Cause::Down);
        }
    }

    /// Advances to `now` and makes due changes at their own times. Packets that leave by then still wait for `pop`.
    pub fn settle(&mut self, now: Nanos) {
        while self.next_change().is_some_and(|due| due <= now) {
            let Some((due, request)) = self.schedule.take_first() else { break };
            let at = due.max(self.last_arrival).max(self.last_change).max(self.last_departure);
            self.advance(at);
            self.apply(at, request);
        }
        self.advance(now);
    }

    /// Moves what has left the bottleneck into the delay line, each packet at its own departure.
    fn advance(&mut self, now: Nanos) {
        let Some(bottleneck) = &mut self.bottleneck else { return };
        while let Some(departure) = bottleneck.pop(now) {
            match departure.fate {
                Fate::Delivered => {
                    self.last_departure = departure.at;
                    self.delay.push(departure.at, departure.packet);
                }
                Fate::Dropped(cause) => {
                    self.account.note_drop(cause, &departure.packet);
                    self.dropped.push_back(Dropped { departure, behind: self.delay.entered() });
                }
            }
        }
    }

    /// Refuses a packet that arrived at `now`: it gets its number, is counted, and leaves at once as dropped. It
    /// uses no draw. Other packets keep theirs, because every draw belongs to a number.
    pub fn refuse(&mut self, now: Nanos, mut packet: Packet<B>) {
        let now = self.arrive(now, &mut packet);
        self.drop_now(now, Cause::Nat, packet);
    }

    /// Advances to an arrival and returns its time. A stamp before that of the packet ahead or of the last change
    /// is raised to it, because the order of arrival is known to be right.
    fn arrive(&mut self, now: Nanos, packet: &mut Packet<B>) -> Nanos {
        let mut now = now.max(self.last_arrival).max(self.last_change);
        self.settle(now);
        // A change that was due by then may itself have been moved beyond it.
        if self.last_change > now {
            now = self.last_change;
            self.settle(now);
        }
        self.last_arrival = now;
        self.enter(now, packet);
        now
    }

    fn drop_now(&mut self, at: Nanos, cause: Cause, packet: Packet<B>) {
        self.account.note_drop(cause, &packet);
        let departure = Departure { at, fate: Fate::Dropped(cause), packet };
        self.dropped.push_back(Dropped { departure, behind: self.delay.entered() });
    }

    fn enter(&mut self, now: Nanos, packet: &mut Packet<B>) {
        packet.number = None;
        packet.copy = false;
        packet.damage = None;
        packet.arrived = now;
        packet.ecn_arrived = packet.ecn;
        (packet.waited, packet.serialised) = (0, 0);
        if self.started.is_some_and(|start| now >= start) {
            self.account.note_arrival(packet);
        }
    }

    /// Passes a counted packet through the arrival stages. Returns whether a copy follows it, or why it is dropped.
    fn judge(&mut self, at: Nanos, packet: &mut Packet<B>) -> Result<bool, Cause> {
        let Some(number) = packet.number else { return Ok(false) };
        let mut is_copied = false;
        for stage in &mut self.arrival {
            match stage.judge(Arrival { at, number, bytes: packet.bytes }) {
                Verdict::Pass => {}
                Verdict::Drop(cause) => return Err(cause),
                Verdict::Damage(word) => {
                    packet.damage = Some(word);
                    self.account.note_corruption(packet);
                }
                Verdict::Copy => is_copied = true,
            }
        }
        Ok(is_copied)
    }

    fn carry(&mut self, now: Nanos, packet: Packet<B>) {
        match &mut self.bottleneck {
            Some(bottleneck) => bottleneck.push(now, packet),
            None => self.delay.push(now, packet),
        }
    }
}

impl<B: Clone> Direction<B> {
    fn copy(&mut self, packet: &Packet<B>) -> Packet<B> {
        let copy = Packet { copy: true, ..packet.clone() };
        self.account.note_copy(&copy);
        copy
    }

    fn pass(&mut self, now: Nanos, mut packet: Packet<B>) {
        if self.down {
            return self.drop_now(now, Cause::Down, packet);
        }
        let copy = match self.judge(now, &mut packet) {
            Err(cause) => return self.drop_now(now, cause, packet),
            Ok(is_copied) => is_copied.then(|| self.copy(&packet)),
        };
        self.carry(now, packet);
        if let Some(copy) = copy {
            self.carry(now, copy);
        }
        // Advance now, so that a drop by a full queue is reported at once and not at the next delivery.
        self.advance(now);
    }

    fn pop_dropped(&mut self, now: Nanos) -> Option<Departure<B>> {
        let first = self.dropped.front().filter(|first| first.departure.at <= now)?;
        let comes_first = self.delay.next().is_none_or(|next| (first.departure.at, first.behind) <= next);
        if comes_first { self.dropped.pop_front().map(|dropped| dropped.departure) } else { None }
    }
}

impl<B: Clone> Stage<B> for Direction<B> {
    fn push(&mut self, now: Nanos, mut packet: Packet<B>) {
        let now = self.arrive(now, &mut packet);
        self.pass(now, packet);
    }

    /// Returns deliveries and drops in the order of their times.
    fn pop(&mut self, now: Nanos) -> Option<Departure<B>> {
        self.settle(now);
        if let Some(dropped) = self.pop_dropped(now) {
            return Some(dropped);
        }
        let departure = self.delay.pop(now)?;
        self.account.note_delivery(departure.at, &departure.packet);
        Some(departure)
    }

    /// The next delivery at the latest, also that of a packet that is still queued: a caller need not wake up when
    /// a packet moves between stages. A drop inside the queue is reported with the next delivery.
    fn next_due(&self) -> Option<Nanos> {
        let next_drop = self.dropped.front().map(|first| first.departure.at);
        let under_way = self.delay.next_due();
        // A packet that keeps its order holds up everything that is still queued.
        let queued = if self.delay.next_in_order().is_some() { None } else { self.queued_due() };
        next_drop.into_iter().chain(under_way).chain(queued).min()
    }
}

impl<B> Direction<B> {
    /// When a queued packet can be at the far end at the earliest. A change may make that earlier, so the caller
    /// has to ask again when a change is due.
    fn queued_due(&self) -> Option<Nanos> {
        let due = self.delay.earliest(self.bottleneck.as_ref()?.next_due()?);
        Some(self.next_change().map_or(due, |change| due.min(change)))
    }
}
