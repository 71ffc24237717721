//! What the emulator decides: frames and arrival times in, frames with due times out. No socket, no clock.

use std::io::{self, Write};

use link_model::{Direction, Dropped, Packet, Stage};
use wire::{ConnectionTable, ETHERNET_HEADER_BYTES, Frame, Sighting, Transport};

use crate::capture::Capture;
use crate::clock::Nanos;
use crate::config::Config;

/// Links with their state. Interface `2 n + side` is link *n*'s towards its host *side*; frames that arrive
/// there travel in the direction of the same number and leave by [`Emulator::exit`].
pub struct Emulator {
    directions: Vec<Direction<Vec<u8>>>,
    connections: ConnectionTable,
    capture: Option<Capture<Box<dyn Write>>>,
    longest_frame: usize,
    started: Option<Nanos>,
    oddities: Oddities,
}

/// A frame as it came from an interface.
pub struct Arrival {
    /// When.
    pub at: Nanos,
    /// The same on the realtime clock, in nanoseconds since 1970.
    pub stamp: i64,
    /// Whether the kernel told the time; else it is the time at which the frame was read.
    pub stamped: bool,
    /// Whether its checksum is complete.
    pub finished: bool,
    /// True length in bytes, of which `frame` may be only the beginning.
    pub length: usize,
    /// The bytes.
    pub frame: Vec<u8>,
}

/// Frames that should not have been there, since the start.
#[derive(Clone, Copy, Debug, Default)]
pub struct Oddities {
    /// Longer than the MTU allows. They are dropped: a link never carries what a wire would not.
    pub oversize: u64,
    /// Without a kernel stamp.
    pub unstamped: u64,
    /// Not IP, or IPv6 neighbour or multicast listener discovery. They are dropped.
    pub stray: u64,
    /// IP with headers that cannot be read: dropped if it is the IP header itself, else carried. Or with a
    /// checksum that was left to a network card, which means that offloads are on: carried, to nobody's use.
    pub malformed: u64,
}

/// What became of an arrival.
pub struct Admission {
    /// The buffer, if the frame was not carried.
    pub returned: Option<Vec<u8>>,
    /// Something to tell the orchestrator.
    pub sighting: Option<Sighting>,
}

/// A frame that is due.
pub struct Departure {
    /// When it should leave.
    pub due: Nanos,
    /// Whether it arrived after the start.
    pub counted: bool,
    /// The bytes.
    pub frame: Vec<u8>,
}

impl Emulator {
    /// The links of a configuration, in the probe phase.
    pub fn new(config: &Config, capture: Option<Capture<Box<dyn Write>>>) -> Self {
        let directions = config.links.iter().flat_map(|link| &link.directions);
        Self {
            directions: directions.map(|direction| Direction::new(direction.impairments())).collect(),
            connections: ConnectionTable::default(),
            capture,
            longest_frame: config.mtu + ETHERNET_HEADER_BYTES,
            started: None,
            oddities: Oddities::default(),
        }
    }

    /// The interface by which frames leave that came in by `interface`.
    pub const fn exit(interface: usize) -> usize {
        interface ^ 1
    }

    /// Ends the probe phase: what arrives at `at` or later counts.
    pub fn start(&mut self, at: Nanos) {
        self.started = Some(at);
        self.directions.iter_mut().for_each(|direction| direction.start(at));
    }

    /// When the probe phase ended.
    pub const fn started(&self) -> Option<Nanos> {
        self.started
    }

    /// The directions, two for each link.
    pub fn directions(&self) -> &[Direction<Vec<u8>>] {
        &self.directions
    }

    /// The connections seen since the start.
    pub const fn connections(&self) -> &ConnectionTable {
        &self.connections
    }

    /// What was odd since the start.
    pub const fn oddities(&self) -> Oddities {
        self.oddities
    }

    /// Takes a frame that arrived on an interface.
    ///
    /// # Errors
    /// When the capture cannot be written.
    pub fn arrive(&mut self, interface: usize, arrival: Arrival) -> io::Result<Admission> {
        let counts = self.started.is_some_and(|start| arrival.at >= start);
        let mut oddities = Oddities { unstamped: u64::from(!arrival.stamped), ..Oddities::default() };
        let (bytes, sighting) = if arrival.length > self.longest_frame {
            oddities.oversize = 1;
            (None, None)
        } else {
            self.inspect(interface, &arrival, counts, &mut oddities)
        };
        if counts {
            self.oddities.add(oddities);
        }
        let returned = match bytes {
            Some(bytes) => self.admit(interface, arrival, bytes, counts)?,
            None => Some(arrival.frame),
        };
        Ok(Admission { returned, sighting })
    }

    /// The size of the packet if it is to be carried.
    fn inspect(
        &mut self,
        interface: usize,
        arrival: &Arrival,
        counts: bool,
        oddities: &mut Oddities,
    ) -> (Option<u32>, Option<Sighting>) {
        match Frame::parse(&arrival.frame) {
            Frame::Stray => oddities.stray = 1,
            Frame::Malformed => oddities.malformed = 1,
            Frame::Ip(packet) => {
                let malformed = packet.transport == Transport::Malformed || !arrival.finished;
                oddities.malformed = u64::from(malformed);
                let link = interface / 2;
                let sighting = counts.then(|| self.connections.observe(link, arrival.at, &packet)).flatten();
                return (Some(packet.bytes), sighting);
            }
        }
        (None, None)
    }

    fn admit(
        &mut self,
        interface: usize,
        arrival: Arrival,
        bytes: u32,
        counts: bool,
    ) -> io::Result<Option<Vec<u8>>> {
        let recorded = if counts && self.capture.is_some() { arrival.frame.clone() } else { Vec::new() };
        let dropped = self.directions[interface].push(arrival.at, Packet::new(bytes, arrival.frame)).err();
        if let Some(capture) = self.capture.as_mut().filter(|_| counts) {
            let side = u32::try_from(interface).unwrap_or(u32::MAX);
            let stamp = u64::try_from(arrival.stamp).unwrap_or(0);
            capture.packet(side, stamp, &recorded, dropped.as_ref().map(|dropped| dropped.cause))?;
        }
        Ok(dropped.map(|Dropped { packet, .. }| packet.body))
    }

    /// When the next frame is due.
    pub fn next_due(&self) -> Option<Nanos> {
        self.directions.iter().filter_map(Stage::next_due).min()
    }

    /// How many directions hold frames.
    pub fn busy_directions(&self) -> usize {
        self.directions.iter().filter(|direction| direction.next_due().is_some()).count()
    }

    /// The first frame of a direction that is due.
    pub fn depart(&mut self, direction: usize, now: Nanos) -> Option<Departure> {
        let direction = &mut self.directions[direction];
        let due = direction.next_due()?;
        let packet = direction.pop(now)?;
        Some(Departure { due, counted: packet.number.is_some(), frame: packet.body })
    }

    /// Completes the capture.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(&mut self) -> io::Result<()> {
        self.capture.as_mut().map_or(Ok(()), Capture::finish)
    }
}

impl Oddities {
    const fn add(&mut self, other: Self) {
        self.oversize += other.oversize;
        self.unstamped += other.unstamped;
        self.stray += other.stray;
        self.malformed += other.malformed;
    }
}

#[cfg(test)]
mod tests;
