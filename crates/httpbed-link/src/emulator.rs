//! The emulator's decisions: frames with arrival times in, frames with due times out, without sockets or clock.

mod changes;
mod connections;
mod sent;

use std::collections::VecDeque;
use std::io;

use link_model::{Departure, Direction, Ecn, Fate, Nanos, Packet, Stage, Witness};
use wire::{Codepoint, ConnectionTable, Delivery, ETHERNET_HEADER_BYTES, Frame};

use crate::changes::{By, Changed};
use crate::config::{Config, Link};
use crate::heads::Heads;
use crate::nat::Nat;
use crate::records::{Carried, Records};
use crate::timeline::{Settled, Timelines};
use crate::triggers::Triggers;

pub use sent::Sent;

/// Links with their state. Interface `2 n + side` is link *n*'s towards its host *side*; frames that arrive
/// there travel in the direction of the same number and leave by [`Emulator::exit`].
pub struct Emulator {
    directions: Vec<Direction<Carried>>,
    /// A witness for each direction, which checks that its link could have delivered what it did.
    witnesses: Vec<Witness>,
    overheads: Vec<u32>,
    /// Stamps of one interface never decrease; this is the last one.
    last_arrivals: Vec<Nanos>,
    heads: Heads,
    links: Vec<Link>,
    /// The NAT of each link that has one.
    nats: Vec<Option<Nat>>,
    connections: ConnectionTable,
    triggers: Triggers,
    /// When each direction has to be advanced only because of a change.
    turns: Heads,
    /// What caused each change of each direction, in the order of the requests.
    askers: Vec<Vec<By>>,
    changes: Vec<Changed>,
    happenings: VecDeque<Happening>,
    records: Records,
    timelines: Timelines,
    longest_frame: usize,
    started: Option<Nanos>,
    oddities: Oddities,
    /// What each host sent into each direction beside its connections' packets.
    sent: Vec<Sent>,
}

/// A frame as it arrived on an interface.
pub struct Arrival {
    /// When it arrived.
    pub at: Nanos,
    /// The same on the realtime clock, in nanoseconds since 1970.
    pub stamp: i64,
    /// Whether the backend's stamp can be right; otherwise `at` is when the frame was read.
    pub stamped: bool,
    /// Whether its checksum is complete.
    pub finished: bool,
    /// True length in bytes, of which `frame` may be only the beginning.
    pub length: usize,
    /// The bytes.
    pub frame: Vec<u8>,
}

/// Unexpected frames since the start.
#[derive(Clone, Copy, Debug, Default)]
pub struct Oddities {
    /// Frames longer than the MTU allows, which are dropped: a link never carries what a wire would not.
    pub oversize: u64,
    /// Frames with a kernel stamp in the future, which means that the clock was set back.
    pub unstamped: u64,
    /// Packets whose checksum was left to a network card, which means that offloads are on: carried, but no host
    /// accepts them.
    pub unfinished: u64,
}

/// Something to report to the orchestrator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// A server sent its first payload, on the connection at this place in the table.
    ServerSpoke(usize),
    /// A trigger fired.
    Triggered {
        /// The link.
        link: usize,
        /// The trigger's place among those of the link.
        trigger: usize,
        /// When, since the start.
        at: Nanos,
    },
    /// A condition changed; the place among [`Emulator::changes`].
    Changed(usize),
}

/// Frames on their way out, and buffers for reuse.
#[derive(Default)]
pub struct Outbox {
    /// The frames to send, in order.
    pub frames: Vec<Vec<u8>>,
    /// When each counted frame was due.
    pub due: Vec<Nanos>,
    /// Buffers of dropped frames.
    pub returned: Vec<Vec<u8>>,
}

impl Emulator {
    /// The links of a configuration, in the idle phase.
    pub fn new(config: &Config, records: Records) -> Self {
        let described: Vec<_> = config.links.iter().flat_map(|link| &link.directions).collect();
        Self {
            directions: described.iter().map(|of| Direction::new((*of).clone())).collect(),
            witnesses: described.iter().map(|of| Witness::new(of)).collect(),
            overheads: described.iter().map(|of| of.overhead_bytes).collect(),
            last_arrivals: vec![0; described.len()],
            heads: Heads::new(described.len()),
            links: config.links.clone(),
            nats: config.links.iter().map(|link| link.nat.then(Nat::new)).collect(),
            connections: ConnectionTable::default(),
            triggers: Triggers::new(&config.links),
            turns: Heads::new(described.len()),
            askers: vec![Vec::new(); described.len()],
            changes: Vec::new(),
            happenings: VecDeque::new(),
            records,
            timelines: Timelines::new(&config.links),
            longest_frame: usize::from(config.mtu) + ETHERNET_HEADER_BYTES,
            started: None,
            oddities: Oddities::default(),
            sent: vec![Sent::default(); described.len()],
        }
    }

    /// The interface by which frames leave that arrived on `interface`.
    pub const fn exit(interface: usize) -> usize {
        interface ^ 1
    }

    /// Ends the idle phase: packets that arrive at `at` or later count, and the schedules begin.
    pub fn start(&mut self, at: Nanos) {
        self.started = Some(at);
        self.records.start(at);
        self.directions.iter_mut().for_each(|direction| direction.start(at));
        self.witnesses.iter_mut().for_each(|witness| witness.start(at));
        for link in 0..self.links.len() {
            for place in 0..self.links[link].schedule.len() {
                let scheduled = self.links[link].schedule[place];
                self.plan(link, at.saturating_add(scheduled.at), scheduled.target, By::Schedule);
            }
        }
    }

    /// When the idle phase ended.
    pub const fn started(&self) -> Option<Nanos> {
        self.started
    }

    /// A time of the caller's clock as time since the start, 0 before it.
    pub fn since_start(&self, at: Nanos) -> Nanos {
        self.started.map_or(0, |start| at.saturating_sub(start))
    }

    /// The directions, two for each link.
    pub fn directions(&self) -> &[Direction<Carried>] {
        &self.directions
    }

    /// The witness of each direction.
    pub fn witnesses(&self) -> &[Witness] {
        &self.witnesses
    }

    /// What the directions carried over time.
    pub const fn timelines(&self) -> &Timelines {
        &self.timelines
    }

    /// The connections seen since the start.
    pub const fn connections(&self) -> &ConnectionTable {
        &self.connections
    }

    /// The changes made and known up to now.
    pub fn changes(&self) -> &[Changed] {
        &self.changes
    }

    /// The unexpected frames since the start.
    pub const fn oddities(&self) -> Oddities {
        self.oddities
    }

    /// What each direction's host sent into it beside its connections' packets, since the start.
    pub fn sent(&self) -> &[Sent] {
        &self.sent
    }

    /// Takes a frame that arrived on an interface; returns its buffer if the frame is not carried.
    pub fn arrive(&mut self, interface: usize, mut arrival: Arrival) -> Option<Vec<u8>> {
        arrival.at = arrival.at.max(self.last_arrivals[interface]);
        self.last_arrivals[interface] = arrival.at;
        let counts = self.started.is_some_and(|start| arrival.at >= start);
        let wanted = self.translate_back(interface, &mut arrival);
        let Some((packet, delivery)) = self.inspect(interface, &arrival, counts, wanted) else {
            return Some(arrival.frame);
        };
        let place = if counts { self.records.arrived(interface, arrival.stamp, &arrival.frame) } else { 0 };
        let body = Carried { frame: arrival.frame, place, delivery };
        let packet = with_body(&packet, body);
        if wanted {
            self.directions[interface].push(arrival.at, packet);
        } else {
            self.directions[interface].refuse(arrival.at, packet);
        }
        self.note_changes(interface);
        self.look_again(interface);
        // Only now: what a packet triggers happens after it.
        self.set_off();
        None
    }

    /// The packet without its frame, if it is to be carried, and what its delivery will prove. Unless it `counts`, it
    /// is in no account; unless it is `wanted`, its connection does not get it.
    fn inspect(
        &mut self,
        interface: usize,
        arrival: &Arrival,
        counts: bool,
        wanted: bool,
    ) -> Option<(Packet<()>, Option<Delivery>)> {
        let is_oversize = arrival.length > self.longest_frame;
        if counts {
            self.oddities.note(arrival, is_oversize);
        }
        if is_oversize {
            return None;
        }
        let frame = Frame::parse(&arrival.frame);
        if counts {
            self.sent[interface].note(&frame);
        }
        let Frame::Ip(packet) = frame else { return None };
        let delivery = if counts && wanted { self.follow(interface, arrival.at, &packet) } else { None };
        let mut seen = Packet::new(packet.bytes + self.overheads[interface], ());
        seen.flow = packet.flow();
        seen.ecn = match packet.ecn {
            Codepoint::NotEct => Ecn::NotCapable,
            Codepoint::Ect0 | Codepoint::Ect1 => Ecn::Capable,
            Codepoint::Ce => Ecn::Ce,
        };
        Some((seen, delivery))
    }

    /// When something has to be done next.
    pub fn next_due(&self) -> Option<Nanos> {
        let first = self.heads.first().map(|(due, _)| due);
        let turn = self.turns.first().map(|(due, _)| due);
        first.into_iter().chain(turn).min()
    }

    /// Makes changes that have long been due; returns a direction in which something is due.
    pub fn look(&mut self, now: Nanos) -> Option<usize> {
        self.take_turns(now);
        self.heads.first().filter(|(due, _)| *due <= now).map(|(_, direction)| direction)
    }

    /// Puts the due frames of a direction into `outbox`, until that holds `most` frames.
    ///
    /// # Errors
    /// When capture or log cannot be written.
    pub fn depart(
        &mut self,
        direction: usize,
        now: Nanos,
        most: usize,
        outbox: &mut Outbox,
    ) -> io::Result<()> {
        while outbox.frames.len() < most {
            let departure = self.directions[direction].pop(now);
            self.note_changes(direction);
            let Some(departure) = departure else {
                // The direction has nothing now, whatever `next_due` said; asking again at once would be useless.
                let due = self.directions[direction].next_due();
                self.heads.set(direction, due.map(|due| due.max(now + 1)));
                return Ok(());
            };
            self.settle(direction, departure, outbox)?;
        }
        self.look_again(direction);
        Ok(())
    }

    /// Records the fate of a packet and passes its frame on.
    fn settle(
        &mut self,
        direction: usize,
        departure: Departure<Carried>,
        outbox: &mut Outbox,
    ) -> io::Result<()> {
        let Departure { at, fate, packet } = departure;
        let bytes = packet.bytes - self.overheads[direction];
        self.records.settled(direction, bytes, at, fate, &packet)?;
        let counts = packet.number.is_some();
        if counts && !packet.copy {
            let [arrived, at] = [packet.arrived, at].map(|time| self.since_start(time));
            self.timelines.settled(direction, Settled { arrived, at, waited: packet.waited, bytes, fate });
        }
        if fate == Fate::Delivered {
            self.note_delivery(direction, at, &packet);
        }
        let mut frame = packet.body.frame;
        if fate != Fate::Delivered {
            outbox.returned.push(frame);
            return Ok(());
        }
        if let Some(word) = packet.damage {
            wire::damage(&mut frame, word);
        }
        if packet.ecn == Ecn::Ce && packet.ecn_arrived != Ecn::Ce {
            wire::mark(&mut frame);
        }
        self.translate(direction, at, &mut frame);
        outbox.frames.push(frame);
        if counts {
            outbox.due.push(at);
            self.triggers.delivered(direction, at, bytes.into());
            self.set_off();
        }
        Ok(())
    }

    fn look_again(&mut self, direction: usize) {
        self.heads.set(direction, self.directions[direction].next_due());
    }

    /// The next thing to report.
    pub fn next_happening(&mut self) -> Option<Happening> {
        self.happenings.pop_front()
    }

    /// Completes capture and log.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn finish(&mut self) -> io::Result<()> {
        self.records.finish()
    }
}

fn with_body(packet: &Packet<()>, body: Carried) -> Packet<Carried> {
    Packet { flow: packet.flow, ecn: packet.ecn, ..Packet::new(packet.bytes, body) }
}

impl Oddities {
    fn note(&mut self, arrival: &Arrival, is_oversize: bool) {
        self.unstamped += u64::from(!arrival.stamped);
        self.oversize += u64::from(is_oversize);
        self.unfinished += u64::from(!arrival.finished && !is_oversize);
    }
}

#[cfg(test)]
pub(crate) mod tests;
