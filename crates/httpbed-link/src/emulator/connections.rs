//! What packets say of their connections, which triggers wait for that, and who compares what is delivered.

use link_model::{Nanos, Packet};
use wire::{Delivery, Sighting};

use super::{Emulator, Happening};
use crate::changes::By;
use crate::records::Carried;
use crate::triggers::Firing;

impl Emulator {
    /// What a packet says of its connection, and which triggers wait for that. Gives what its delivery will prove.
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
        match observed.sighting {
            Some(Sighting::ServerSpoke(place)) => self.happenings.push_back(Happening::ServerSpoke(place)),
            Some(Sighting::HandshakeOver(_)) => self.triggers.handshake(link, at),
            None => {}
        }
        observed.delivery
    }

    /// Does what triggers have set off.
    pub(super) fn set_off(&mut self) {
        for Firing { link, trigger, at, change } in self.triggers.take_fired() {
            let at = self.since_start(at);
            self.happenings.push_back(Happening::Triggered { link, trigger, at });
            if let Some((due, target)) = change {
                self.plan(link, due, target, By::Trigger(trigger));
            }
        }
    }

    /// Shows a packet that is due at the far end to those who compare.
    pub(super) fn note_delivery(&mut self, direction: usize, at: Nanos, packet: &Packet<Carried>) {
        self.witnesses[direction].see(at, packet);
        if let Some(delivery) = packet.body.delivery {
            self.connections.deliver(delivery);
        }
    }
}
