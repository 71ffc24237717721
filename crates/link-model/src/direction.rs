//! One direction of a link: its stages in order, and the account of what passed them.

use std::num::NonZeroU64;

use crate::{
    Account, Bottleneck, Cause, Delay, Dropped, Loss, Nanos, Packet, QueueLimit, Stage, Stream, Tally,
};

/// What a direction does to packets; absent parts do nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Impairments {
    /// Probability of independent loss in `[0, 1]`, and the key of its random stream.
    pub loss: Option<(f64, u64)>,
    /// Rate in bit/s and the limit of the queue before it.
    pub bottleneck: Option<(NonZeroU64, QueueLimit)>,
    /// One-way delay.
    pub delay: Nanos,
}

/// One direction of a link.
///
/// It begins in the probe phase: rate, queue and delay act, but packets have no number, meet no draw
/// and enter no count. [`Direction::start`] ends it.
#[derive(Debug)]
pub struct Direction<B> {
    loss: Option<Loss<B>>,
    bottleneck: Option<Bottleneck<B>>,
    delay: Delay<B>,
    last_arrival: Nanos,
    started: Option<Nanos>,
    account: Account,
}

impl<B> Direction<B> {
    /// An empty direction in the probe phase.
    #[must_use]
    pub fn new(impairments: Impairments) -> Self {
        Self {
            loss: impairments.loss.map(|(probability, key)| Loss::new(probability, Stream::new(key))),
            bottleneck: impairments.bottleneck.map(|(rate, limit)| Bottleneck::new(rate, limit)),
            delay: Delay::new(impairments.delay),
            last_arrival: 0,
            started: None,
            account: Account::default(),
        }
    }

    /// Ends the probe phase: the first packet that arrives at `at` or later is number 0.
    pub fn start(&mut self, at: Nanos) {
        self.started = Some(at);
        self.account = Account::default();
        if let Some(bottleneck) = &mut self.bottleneck {
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

    fn enter(&mut self, now: Nanos, packet: &mut Packet<B>) {
        packet.number = None;
        if self.started.is_some_and(|start| now >= start) {
            packet.number = Some(self.account.arrived.packets);
            self.account.arrived.add(packet);
            self.account.first_arrival.get_or_insert(now);
        }
    }

    fn pass(&mut self, now: Nanos, packet: Packet<B>) -> Result<(), Dropped<B>> {
        let packet = match &mut self.loss {
            Some(loss) => {
                loss.push(now, packet)?;
                loss.pop(now).expect("a packet passes the loss stage at once")
            }
            None => packet,
        };
        match &mut self.bottleneck {
            Some(bottleneck) => bottleneck.push(now, packet),
            None => self.delay.push(now, packet),
        }
    }

    fn note_drop(&mut self, dropped: &Dropped<B>) {
        let Some(number) = dropped.packet.number else { return };
        let (tally, numbers) = match dropped.cause {
            Cause::Chance => (&mut self.account.lost, &mut self.account.lost_numbers),
            Cause::Queue => (&mut self.account.queue_dropped, &mut self.account.queue_dropped_numbers),
        };
        tally.add(&dropped.packet);
        numbers.push(number);
    }

    fn note_delivery(&mut self, due: Nanos, packet: &Packet<B>) {
        if packet.number.is_none() {
            return;
        }
        self.account.delivered.add(packet);
        self.account.busy += packet.serialised;
        self.account.queue_delay.record(packet.waited);
        self.account.last_delivery = Some(due);
    }

    /// Moves what has left the bottleneck into the delay, each packet at its own departure.
    fn advance(&mut self, now: Nanos) {
        let Some(bottleneck) = &mut self.bottleneck else { return };
        while let Some(departs) = bottleneck.next_due().filter(|departs| *departs <= now) {
            let Some(packet) = bottleneck.pop(departs) else { return };
            let Ok(()) = self.delay.push(departs, packet) else { return };
        }
    }
}

impl<B> Stage<B> for Direction<B> {
    /// A stamp before that of the packet ahead is raised to it: the order of arrival is the truth.
    fn push(&mut self, now: Nanos, mut packet: Packet<B>) -> Result<(), Dropped<B>> {
        let now = now.max(self.last_arrival);
        self.last_arrival = now;
        self.enter(now, &mut packet);
        self.pass(now, packet).inspect_err(|dropped| self.note_drop(dropped))
    }

    fn pop(&mut self, now: Nanos) -> Option<Packet<B>> {
        self.advance(now);
        let due = self.delay.next_due()?;
        let packet = self.delay.pop(now)?;
        self.note_delivery(due, &packet);
        Some(packet)
    }

    /// The due time at the far end, also for a packet that is still queued: a caller need not wake up
    /// for the step from one stage to the next.
    fn next_due(&self) -> Option<Nanos> {
        self.delay.next_due().or_else(|| {
            let departs = self.bottleneck.as_ref()?.next_due()?;
            Some(departs.saturating_add(self.delay.latency()))
        })
    }
}
