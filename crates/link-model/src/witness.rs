//! Checks the deliveries of a direction: whether any link with this description could have made them.
//!
//! # Theory of operation
//!
//! The stages compute *when* packets leave. The witness shares no code with them. It takes each delivered packet with
//! the time at which it arrived, the time at which it left the transmitter, and the time at which it was due at the far
//! end, and compares these with two bounds of network calculus (Cruz, IEEE Trans. Inf. Theory 37, 1991; Le Boudec and
//! Thiran, *Network Calculus*, 2001, sections 1.2 and 1.3).
//!
//! **Bytes in any window.** In no window can more leave the transmitter than its burst and the integral of its
//! rate; for a trace, than the window's opportunities carry. One recursion checks all windows (Lindley 1952; the
//! virtual scheduling algorithm of ITU-T I.371). `F(i)` is when an *ideal* transmitter, which is never idle while a
//! packet waits, would have sent packet `i` after the packets that left before it. The rate was exceeded in some
//! window that ends with packet `i` if and only if the packet left before `F(i)`. The ideal transmitter knows the
//! arrivals, so the bound holds for every busy period, also for a single packet, which cannot leave before its own
//! transmission time. The order is that of the departures: a discipline may choose another packet, but cannot send
//! two at once.
//!
//! **Bytes that a policer passes.** In no window of *arrivals* may more pass a policer than its burst and its rate. The
//! same bucket, given each delivered packet at its arrival, must hold the packet's bytes then. What the policer passed
//! and a later stage dropped is missing here, which makes the bound weaker and never wrong; so is a packet that comes
//! to the witness after one with a higher number.
//!
//! **Transit time.** A packet is not due before it left plus the least delay in force then.
//!
//! The check is sound in both directions. *No valid run violates it:* queueing, drops, a link that is down and the
//! packets of the idle phase only make packets later than the ideal. All arithmetic is exact, in work of one bit/s
//! times one ns as in [`crate::Rate`], and every departure is a whole ns not before the ideal one. So the tolerance
//! is 0 ns. *A run that passes is possible:* the departures obey the rate, and each due time follows its departure
//! by the delay at least. The caller compares real send times with due times, so lateness changes no bound, and a
//! frame sent before it was due is a separate fault.
//!
//! A packet that reordering held back reaches the witness after packets that left later, or that left at the same
//! time and arrived later. It counts as skipped and is in no window. This weakens the bound, but never makes it
//! wrong.

mod ideal;

use ideal::{Allowance, Ideal};
use serde::Serialize;

use crate::{Change, Impairments, Jitter, Nanos, Packet};

/// Checks the delivered packets of one direction, with a few operations for each packet and without allocation.
#[derive(Debug)]
pub struct Witness {
    ideal: Option<Ideal>,
    allowance: Option<Allowance>,
    /// Delays, each with the time from which it is in force; ascending.
    delays: Vec<(Nanos, Nanos)>,
    least_jitter: i64,
    /// Whether reordering holds packets back.
    reorders: bool,
    /// The last departure, and the number of its packet.
    last: (Nanos, u64),
    /// The ideal transmitter's present busy period: its begin, and the bytes that left since.
    busy: (Nanos, u64),
    observation: Observation,
}

/// What a witness has seen. In JSON, times are in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Observation {
    /// Delivered packets that were compared.
    pub packets: u64,
    /// Packets out of order, for which only the delay was checked.
    pub skipped: u64,
    /// The window in which the rate left the least room; `None` without a rate or a packet.
    pub window: Option<Window>,
    /// The window of arrivals in which the policer left the least room; `None` without one or a packet.
    pub policed: Option<Window>,
    /// Due time less departure and least delay, of the packet for which that is least (ns). A negative value is
    /// impossible.
    pub delay_slack_ns: Option<i64>,
    /// The packet with the shortest transit.
    pub quickest: Option<Transit>,
}

/// A window that begins with a busy period of the ideal transmitter, and ends when a packet left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Window {
    /// How much later than the ideal transmitter allows the packet left (ns). A negative value is impossible.
    pub slack_ns: i64,
    /// Begin.
    #[serde(rename = "from_ns")]
    pub from: Nanos,
    /// End.
    #[serde(rename = "to_ns")]
    pub to: Nanos,
    /// Bytes that left in it, as the rate counts them.
    pub bytes: u64,
}

impl Window {
    /// Of equally tight windows the largest counts: it says most about the rate when the bound is computed again.
    fn is_tighter(&self, known: Self) -> bool {
        (self.slack_ns, u64::MAX - self.bytes) < (known.slack_ns, u64::MAX - known.bytes)
    }
}

/// One packet on its way from arrival to the far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Transit {
    /// From its arrival until it was due at the far end (ns).
    #[serde(rename = "took_ns")]
    pub took: Nanos,
    /// Its size, as the rate counts bytes.
    pub bytes: u32,
}

impl Witness {
    /// Of a direction with these impairments, in the idle phase.
    #[must_use]
    pub fn new(impairments: &Impairments) -> Self {
        Self {
            ideal: impairments.rate.as_ref().map(Ideal::new),
            allowance: impairments.policing.map(Allowance::new),
            delays: vec![(0, impairments.delay)],
            least_jitter: impairments.jitter.as_ref().map_or(0, Jitter::least).min(0),
            reorders: impairments.reordering.is_some(),
            last: (0, 0),
            busy: (0, 0),
            observation: Observation::default(),
        }
    }

    /// Ends the idle phase: a trace begins at `at`.
    pub fn start(&mut self, at: Nanos) {
        if let Some(ideal) = &mut self.ideal {
            ideal.start(at);
        }
    }

    /// Takes a change that was made at `at`. Call it before `see` takes a packet that the change concerns.
    pub fn change(&mut self, at: Nanos, change: Change) {
        match change {
            Change::Rate(rate) => {
                if let Some(ideal) = &mut self.ideal {
                    ideal.change(at, rate);
                }
            }
            Change::Delay(delay) => self.delays.push((at, delay)),
            Change::Loss(_) | Change::Down | Change::Up | Change::Rebind => {}
        }
    }

    /// Takes a packet that is due at the far end at `at`; packets of the idle phase do not count.
    pub fn see<B>(&mut self, at: Nanos, packet: &Packet<B>) {
        let Some(number) = packet.number else { return };
        let left = packet.arrived.saturating_add(packet.waited).saturating_add(packet.serialised);
        self.observation.packets += 1;
        self.see_delay(at, left, packet);
        self.see_policed(number, packet);
        if self.reorders && (left, number) < self.last {
            self.observation.skipped += 1;
            return;
        }
        self.last = (left, number);
        self.see_departure(left, packet);
    }

    /// What it has seen up to now.
    #[must_use]
    pub const fn observation(&self) -> Observation {
        self.observation
    }

    fn see_policed<B>(&mut self, number: u64, packet: &Packet<B>) {
        // A copy is made behind the policer.
        let allowance = self.allowance.as_mut().filter(|_| !packet.copy);
        let window = allowance.and_then(|allowance| allowance.take(number, packet.arrived, packet.bytes));
        if let Some(window) =
            window.filter(|window| self.observation.policed.is_none_or(|known| window.is_tighter(known)))
        {
            self.observation.policed = Some(window);
        }
    }

    fn see_departure<B>(&mut self, left: Nanos, packet: &Packet<B>) {
        let Some(ideal) = &mut self.ideal else { return };
        let finish = ideal.finish(packet.arrived, packet.bytes);
        if let Some(begin) = finish.begins {
            self.busy = (begin, 0);
        }
        self.busy.1 += u64::from(packet.bytes);
        let (from, bytes) = self.busy;
        let window = Window { slack_ns: difference(left, finish.at), from, to: left, bytes };
        if self.observation.window.is_none_or(|known| window.is_tighter(known)) {
            self.observation.window = Some(window);
        }
    }

    fn see_delay<B>(&mut self, at: Nanos, left: Nanos, packet: &Packet<B>) {
        let least = self.least_delay(left).saturating_add_signed(self.least_jitter);
        let slack = difference(at, left.saturating_add(least));
        self.observation.delay_slack_ns =
            Some(self.observation.delay_slack_ns.map_or(slack, |known| known.min(slack)));
        let transit = Transit { took: at.saturating_sub(packet.arrived), bytes: packet.bytes };
        if self.observation.quickest.is_none_or(|known| transit.took < known.took) {
            self.observation.quickest = Some(transit);
        }
    }

    /// The least of the delays in force at `left`. A packet that left at the time of a change may have the old
    /// delay or the new one, depending on whether there is a queue.
    fn least_delay(&self, left: Nanos) -> Nanos {
        let mut place = self.delays.partition_point(|(from, _)| *from <= left).max(1) - 1;
        let mut least = self.delays[place].1;
        while place > 0 && self.delays[place].0 == left {
            place -= 1;
            least = least.min(self.delays[place].1);
        }
        least
    }
}

fn difference(time: Nanos, than: Nanos) -> i64 {
    let signed = |nanos: Nanos| i64::try_from(nanos).unwrap_or(i64::MAX);
    signed(time.saturating_sub(than)) - signed(than.saturating_sub(time))
}
