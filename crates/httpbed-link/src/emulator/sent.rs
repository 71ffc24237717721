//! What a host sent into a direction beside the packets of its connections.

use serde::Serialize;
use wire::{Frame, Place, Transport};

/// Counts since the start. A kernel that nobody misuses sends hardly any of these.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Sent {
    /// Frames that are not IP, or IPv6 neighbour or multicast listener discovery. They are dropped.
    pub stray_frames: u64,
    /// IP packets with unreadable headers: dropped if it is the IP header itself, else carried.
    pub malformed_packets: u64,
    /// Packets of other protocols than TCP and UDP, and fragments without ports: carried.
    pub other_packets: u64,
    /// Their bytes.
    pub other_bytes: u64,
    /// Connections that it opened, as far as they were followed.
    pub flows: u64,
    /// Packets of connections that were too many to be followed.
    pub untracked_packets: u64,
}

impl Sent {
    /// Counts a frame that arrived.
    pub(super) fn note(&mut self, frame: &Frame<'_>) {
        match frame {
            Frame::Stray => self.stray_frames += 1,
            Frame::Malformed => self.malformed_packets += 1,
            Frame::Ip(packet) => match packet.transport {
                Transport::Malformed => self.malformed_packets += 1,
                Transport::Tcp(_) | Transport::Udp(_) => {}
                Transport::Other | Transport::Discovery => {
                    self.other_packets += 1;
                    self.other_bytes += u64::from(packet.bytes);
                }
            },
        }
    }

    /// Counts a packet by its place in the table of connections.
    pub(super) const fn place(&mut self, place: Place) {
        match place {
            Place::New(_) => self.flows += 1,
            Place::Beyond => self.untracked_packets += 1,
            Place::None | Place::Known(_) => {}
        }
    }
}
