//! What a direction counts.

use crate::{Cause, Distribution, Nanos, Packet, Tally};

/// Everything a direction counted since its start.
///
/// In packets and in bytes, at any moment:
/// `arrived + duplicated = delivered + lost + queue_dropped + aqm_dropped + down_dropped + nat_dropped + in
/// flight`.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// What arrived.
    pub arrived: Tally,
    /// The copies that duplication made.
    pub duplicated: Tally,
    /// What was carried to the far end, copies included.
    pub delivered: Tally,
    /// What was lost by chance, or because it was listed.
    pub lost: Tally,
    /// What found no room in the queue.
    pub queue_dropped: Tally,
    /// What active queue management dropped.
    pub aqm_dropped: Tally,
    /// What arrived at a link that was down, or waited when it went down.
    pub down_dropped: Tally,
    /// What was turned away before the link, because a network address translator knew nobody for it.
    pub nat_dropped: Tally,
    /// What was damaged, whatever became of it later.
    pub corrupted: Tally,
    /// What was delivered with a congestion mark that this direction set.
    pub marked: Tally,
    /// What was delivered behind a packet with a higher number (RFC 4737 section 3.3); copies are not counted.
    pub reordered: Tally,
    /// Numbers of the packets lost by chance, ascending.
    pub lost_numbers: Vec<u64>,
    /// Numbers of the packets that found no room, in the order of the drops.
    pub queue_dropped_numbers: Vec<u64>,
    /// Numbers of the packets dropped by active queue management, in the order of the drops.
    pub aqm_dropped_numbers: Vec<u64>,
    /// Numbers of the packets dropped because the link was down, in the order of the drops.
    pub down_dropped_numbers: Vec<u64>,
    /// Numbers of the packets turned away before the link, ascending.
    pub nat_dropped_numbers: Vec<u64>,
    /// Numbers of the packets of which a copy was made, ascending.
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
        let (tally, numbers) = match cause {
            Cause::Chance => (&mut self.lost, &mut self.lost_numbers),
            Cause::Queue => (&mut self.queue_dropped, &mut self.queue_dropped_numbers),
            Cause::Aqm => (&mut self.aqm_dropped, &mut self.aqm_dropped_numbers),
            Cause::Down => (&mut self.down_dropped, &mut self.down_dropped_numbers),
            Cause::Nat => (&mut self.nat_dropped, &mut self.nat_dropped_numbers),
        };
        tally.add(packet);
        numbers.push(number);
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
