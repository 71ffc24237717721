//! Counts packets that the kernel carries: those that arrive, and those seen leaving.
//!
//! A packet that arrived and was not seen leaving waits in the kernel or was dropped there. Only the kernel's own
//! counters tell which, so lost and dropped packets are not counted here.

use link_model::Nanos;
use wire::{Frame, Packet};

use super::{Arrival, Emulator};

impl Emulator {
    /// Whether the kernel carries the packets.
    pub fn observes(&self) -> bool {
        !self.observed.is_empty()
    }

    /// Counts a packet of `bytes` that arrived and that the kernel carries on.
    pub(super) fn note_arrival(&mut self, interface: usize, bytes: u32, arrival: &Arrival) {
        self.records.passed(interface, arrival.stamp, &arrival.frame);
        let account = &mut self.observed[interface];
        account.first_arrival.get_or_insert(arrival.at);
        account.arrived.packets += 1;
        account.arrived.bytes += u64::from(bytes);
    }

    /// Takes a frame that the kernel sent by an interface, towards the host there; returns its buffer.
    pub fn leave(&mut self, interface: usize, arrival: Arrival) -> Vec<u8> {
        if self.started.is_some_and(|start| arrival.at >= start) {
            let is_oversize = arrival.length > self.longest_frame;
            self.oddities.note(&arrival, is_oversize);
            match Frame::parse(&arrival.frame) {
                Frame::Ip(packet) if !is_oversize => {
                    self.note_leaving(Self::exit(interface), arrival.at, &packet);
                }
                Frame::Ip(_) => {}
                Frame::Stray | Frame::Malformed => self.oddities.leaving += u64::from(!is_oversize),
            }
        }
        arrival.frame
    }

    fn note_leaving(&mut self, direction: usize, at: Nanos, packet: &Packet<'_>) {
        let account = &mut self.observed[direction];
        account.delivered.packets += 1;
        account.delivered.bytes += u64::from(packet.bytes);
        account.last_delivery = account.last_delivery.max(Some(at));
        if let Some(delivery) = self.connections.delivery(direction / 2, packet) {
            self.connections.deliver(at, delivery);
        }
        self.triggers.delivered(direction, at, packet.bytes.into());
        self.set_off();
    }
}
