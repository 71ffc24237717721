//! Calls a link's network address translator, if it has one; see [`crate::nat`].

use link_model::Nanos;

use super::{Arrival, Emulator};

impl Emulator {
    /// Writes the translator's port into a frame that is due at a second host. The link has applied everything
    /// before, damage included.
    pub(super) fn translate(&mut self, direction: usize, at: Nanos, frame: &mut [u8]) {
        if let (0, Some(nat)) = (direction % 2, &mut self.nats[direction / 2]) {
            nat.translate(at, frame);
        }
    }

    /// If a NAT is behind the interface, puts the client's own port back into an arriving frame; false if no
    /// mapping has the port. Due changes are made first.
    pub(super) fn translate_back(&mut self, interface: usize, arrival: &mut Arrival) -> bool {
        if interface % 2 == 0 || self.nats[interface / 2].is_none() {
            return true;
        }
        self.directions[interface].settle(arrival.at);
        self.note_changes(interface);
        self.look_again(interface);
        self.nats[interface / 2].as_ref().is_none_or(|nat| nat.translate_back(&mut arrival.frame))
    }
}
