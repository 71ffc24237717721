//! Triggers: wait for deliveries, first packets and handshakes, and start changes.
//!
//! A delivery is noticed when the loop takes the packet out, at or after its due time. The trigger counts from the
//! due time. If that is before the present state of a direction, the direction makes the change at once (see
//! `link_model::Direction::schedule`).
//!
//! A change without delay is made right after the packet that triggers it. A first packet, or the last one of a
//! handshake, therefore meets the link as it was on arrival: a new loss probability or a link that goes down does
//! not affect its admission. It is then inside the link. Where there is a rate, it still waits or is in service
//! like other packets: a new rate sends it, a new delay delays it, and a link that goes down drops it.

use link_model::Nanos;

use crate::config::{Link, Target, When};

/// The triggers of all links.
pub struct Triggers {
    waiting: Vec<Waiting>,
    /// Bytes delivered in each direction, and how many the next trigger waits for.
    delivered: Vec<Progress>,
    /// Whether a trigger waits for the first payload of each direction.
    awaited: Vec<bool>,
    fired: Vec<Firing>,
}

/// A trigger that fired.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Firing {
    /// The link.
    pub link: usize,
    /// The trigger's place among those of the link.
    pub trigger: usize,
    /// When it fired.
    pub at: Nanos,
    /// The change, and when it is due.
    pub change: Option<(Nanos, Target)>,
}

struct Waiting {
    link: usize,
    trigger: usize,
    when: When,
    after: Nanos,
    target: Option<Target>,
}

#[derive(Clone, Copy, Debug)]
struct Progress {
    bytes: u64,
    next: u64,
}

impl Triggers {
    /// The triggers of a configuration, none of which has fired.
    pub fn new(links: &[Link]) -> Self {
        let waiting = links.iter().enumerate().flat_map(|(link, described)| {
            described.triggers.iter().enumerate().map(move |(trigger, of)| Waiting {
                link,
                trigger,
                when: of.when,
                after: of.after,
                target: of.target,
            })
        });
        let directions = 2 * links.len();
        let mut triggers = Self {
            waiting: waiting.collect(),
            delivered: vec![Progress { bytes: 0, next: u64::MAX }; directions],
            awaited: vec![false; directions],
            fired: Vec::new(),
        };
        (0..directions).for_each(|direction| triggers.look_ahead(direction));
        triggers
    }

    /// `bytes` of an IP packet were delivered.
    pub fn delivered(&mut self, direction: usize, at: Nanos, bytes: u64) {
        let progress = &mut self.delivered[direction];
        progress.bytes += bytes;
        if progress.bytes >= progress.next {
            let bytes = progress.bytes;
            let side = direction % 2;
            let reached = |when| matches!(when, When::Delivered { direction, bytes: least } if direction == side && least <= bytes);
            self.fire(direction / 2, at, reached);
            self.look_ahead(direction);
        }
    }

    /// A packet with payload arrived.
    pub fn payload(&mut self, direction: usize, at: Nanos) {
        if std::mem::take(&mut self.awaited[direction]) {
            self.fire(direction / 2, at, |when| when == When::FirstPacket { direction: direction % 2 });
        }
    }

    /// A connection's handshake is complete.
    pub fn handshake(&mut self, link: usize, at: Nanos) {
        self.fire(link, at, |when| when == When::Handshake);
    }

    /// The triggers that fired since the last call, in the order of the configuration.
    pub fn take_fired(&mut self) -> Vec<Firing> {
        std::mem::take(&mut self.fired)
    }

    fn fire(&mut self, link: usize, at: Nanos, holds: impl Fn(When) -> bool) {
        let fired = &mut self.fired;
        self.waiting.retain(|waiting| {
            let due = waiting.link == link && holds(waiting.when);
            if due {
                let change = waiting.target.map(|target| (at.saturating_add(waiting.after), target));
                fired.push(Firing { link, trigger: waiting.trigger, at, change });
            }
            !due
        });
    }

    fn look_ahead(&mut self, direction: usize) {
        let own = self.waiting.iter().filter(|waiting| waiting.link == direction / 2);
        let mut next = u64::MAX;
        for waiting in own {
            match waiting.when {
                When::Delivered { direction: side, bytes } if side == direction % 2 => next = next.min(bytes),
                When::FirstPacket { direction: side } if side == direction % 2 => {
                    self.awaited[direction] = true;
                }
                _ => {}
            }
        }
        self.delivered[direction].next = next;
    }
}

#[cfg(test)]
mod tests;
