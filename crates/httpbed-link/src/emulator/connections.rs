//! Connections: what packets say about them, which triggers they fire, the checks on deliveries, and
//! the ports that a network address translator gives them; see [`crate::nat`].

use link_model::{Nanos, Packet};
use wire::{Delivery, Sighting};

use super::{Arrival, Emulator, Happening};
use crate::changes::By;
use crate::records::Carried;
use crate::triggers::Firing;

impl Emulator {
    /// Records what a packet says about its connection and fires triggers. Returns what its delivery will prove.
    pub(super) fn follow(
        &mut self,
        interface: usize,
        at: Nanos,
        packet: &wire::Packet<'_>,
    ) -> Option<Delivery> {
        let link = interface / 2;
        if !packet.transport.payload().is_empty() {
            self.triggers.payload(interface, at);
        }
        let observed = self.connections.observe(link, at, packet);
        self.sent[interface].place(observed.place);
        match observed.sighting {
            Some(Sighting::ServerSpoke(place)) => self.happenings.push_back(Happening::ServerSpoke(place)),
            Some(Sighting::HandshakeOver(_)) => self.triggers.handshake(link, at),
            None => {}
        }
        observed.delivery
    }

    /// Carries out what triggers have fired.
    pub(super) fn set_off(&mut self) {
        for Firing { link, trigger, at, change } in self.triggers.take_fired() {
            let at = self.since_start(at);
            self.happenings.push_back(Happening::Triggered { link, trigger, at });
            if let Some((due, target)) = change {
                self.plan(link, due, target, By::Trigger(trigger));
            }
        }
    }

    /// Passes a packet that is due at the far end to the witness and to the table of connections.
    pub(super) fn note_delivery(&mut self, direction: usize, at: Nanos, packet: &Packet<Carried>) {
        self.witnesses[direction].see(at, packet);
        // No host accepts a damaged packet: one wrong bit makes the checksum of TCP and UDP wrong.
        if let Some(delivery) = packet.body.delivery.filter(|_| packet.damage.is_none()) {
            self.connections.deliver(at, delivery);
        }
    }

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
