//! What a direction counts.

use crate::{Cause, Distribution, Nanos, Packet, Tally};

/// The packets that one cause dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drops {
    /// How many.
    pub tally: Tally,
    /// Their numbers, in the order of the drops.
    pub numbers: Vec<u64>,
}

/// Everything a direction counted since its start.
///
/// In packets and in bytes, at any moment: `arrived + duplicated = delivered + dropped + in flight`, where `dropped` is
/// the sum over all causes.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// Packets that arrived.
    pub arrived: Tally,
    /// Copies that duplication made.
    pub duplicated: Tally,
    /// Packets carried to the far end, copies included.
    pub delivered: Tally,
    /// Packets that were damaged, whether delivered or dropped later.
    pub corrupted: Tally,
    /// Packets delivered with a congestion mark that this direction set.
    pub marked: Tally,
    /// Packets delivered behind one with a higher number (RFC 4737 section 3.3); copies are not counted.
    pub reordered: Tally,
    drops: [Drops; Cause::ALL.len()],
    /// Numbers of the packets that were copied, ascending.
    pub duplicated_numbers: Vec<u64>,
    /// Numbers of the damaged packets, ascending.
    pub corrupted_numbers: Vec<u64>,
    /// Time that delivered packets spent behind others, without their own serialisation.
    pub queue_delay: Distribution,
    /// Serialisation time of the delivered packets.
    pub busy: Nanos,
    /// First arrival.
    pub first_arrival: Option<Nanos>,
    /// When the last delivered packet was due at the far end.
    pub last_delivery: Option<Nanos>,
    /// The number after the highest that was delivered.
    next_expected: u64,
}

impl Account {
    /// Share of the time from the first arrival to the last delivery in which the link was sending.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a share needs no more than 53 bits")]
    pub fn utilisation(&self) -> Option<f64> {
        let span = self.last_delivery?.checked_sub(self.first_arrival?)?;
        (span > 0).then(|| self.busy as f64 / span as f64)
    }

    /// The packets that `cause` dropped.
    #[must_use]
    pub const fn dropped(&self, cause: Cause) -> &Drops {
        &self.drops[cause as usize]
    }

    /// Counts an arrival and gives it its number.
    pub(crate) fn note_arrival<B>(&mut self, packet: &mut Packet<B>) {
        packet.number = Some(self.arrived.packets);
        self.arrived.add(packet);
        self.first_arrival.get_or_insert(packet.arrived);
    }

    pub(crate) fn note_corruption<B>(&mut self, packet: &Packet<B>) {
        self.corrupted.add(packet);
        self.corrupted_numbers.extend(packet.number);
    }

    pub(crate) fn note_copy<B>(&mut self, copy: &Packet<B>) {
        self.duplicated.add(copy);
        self.duplicated_numbers.extend(copy.number);
    }

    pub(crate) fn note_drop<B>(&mut self, cause: Cause, packet: &Packet<B>) {
        let Some(number) = packet.number else { return };
        let drops = &mut self.drops[cause as usize];
        drops.tally.add(packet);
        drops.numbers.push(number);
    }

    pub(crate) fn note_delivery<B>(&mut self, at: Nanos, packet: &Packet<B>) {
        let Some(number) = packet.number else { return };
        self.delivered.add(packet);
        if packet.is_marked() {
            self.marked.add(packet);
        }
        if number < self.next_expected && !packet.copy {
            self.reordered.add(packet);
        }
        self.next_expected = self.next_expected.max(number + 1);
        self.busy += packet.serialised;
        self.queue_delay.record(packet.waited);
        self.last_delivery = Some(at);
    }
}
