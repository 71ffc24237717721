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
mod tests {
    use link_model::Change;

    use super::{Firing, Triggers};
    use crate::config::{Link, Target, Trigger, When};

    const DOWN: Target = Target { direction: None, change: Change::Down };

    /// Links with the given triggers.
    fn links(triggers: Vec<Vec<(When, u64, Option<Target>)>>) -> Vec<Link> {
        let text = r#"{"schema": 2, "mtu": 1500, "spin_us": 0, "links": [
            {"name": "a", "hosts": ["c", "s"], "interfaces": ["l0a", "l0b"], "directions": [{}, {}]}]}"#;
        let config = crate::config::Config::parse(text, &|_| Err(String::new())).expect("valid");
        let link = |triggers: Vec<(When, u64, Option<Target>)>| {
            let trigger = |(when, after, target)| Trigger { name: String::new(), when, after, target };
            Link { triggers: triggers.into_iter().map(trigger).collect(), ..config.links[0].clone() }
        };
        triggers.into_iter().map(link).collect()
    }

    const fn delivered(direction: usize, bytes: u64) -> When {
        When::Delivered { direction, bytes }
    }

    #[test]
    fn bytes_are_summed_for_each_direction_of_each_link() {
        let mut triggers = Triggers::new(&links(vec![
            vec![(delivered(1, 3000), 5, Some(DOWN)), (delivered(0, 10), 0, None)],
            vec![(delivered(1, 1), 0, None)],
        ]));
        triggers.delivered(1, 10, 1500);
        triggers.delivered(0, 11, 9);
        triggers.delivered(2, 12, 9000);
        triggers.delivered(1, 13, 1499);
        assert_eq!(triggers.take_fired(), []);
        triggers.delivered(1, 14, 1);
        let firing = Firing { link: 0, trigger: 0, at: 14, change: Some((19, DOWN)) };
        assert_eq!(triggers.take_fired(), [firing]);
        triggers.delivered(0, 15, 1);
        triggers.delivered(3, 16, 40);
        let word = |link, trigger, at| Firing { link, trigger, at, change: None };
        assert_eq!(triggers.take_fired(), [word(0, 1, 15), word(1, 0, 16)]);
    }

    #[test]
    fn triggers_fire_once_and_in_order() {
        let mut triggers = Triggers::new(&links(vec![vec![
            (delivered(0, 200), 0, None),
            (delivered(0, 100), 0, None),
            (delivered(0, 1000), 0, None),
        ]]));
        triggers.delivered(0, 1, 500);
        let fired: Vec<usize> = triggers.take_fired().iter().map(|firing| firing.trigger).collect();
        assert_eq!(fired, [0, 1]);
        triggers.delivered(0, 2, 499);
        assert_eq!(triggers.take_fired(), []);
        triggers.delivered(0, 3, 1);
        assert_eq!(triggers.take_fired().len(), 1);
        triggers.delivered(0, 4, u64::MAX / 2);
        assert_eq!(triggers.take_fired(), []);
    }

    #[test]
    fn first_packets_and_handshakes_are_distinguished() {
        let mut triggers = Triggers::new(&links(vec![
            vec![(When::FirstPacket { direction: 1 }, 0, None), (When::Handshake, 7, Some(DOWN))],
            vec![(When::Handshake, 0, None)],
        ]));
        triggers.payload(0, 1);
        assert_eq!(triggers.take_fired(), []);
        triggers.payload(1, 2);
        triggers.payload(1, 3);
        assert_eq!(triggers.take_fired(), [Firing { link: 0, trigger: 0, at: 2, change: None }]);
        triggers.handshake(0, 4);
        triggers.handshake(0, 5);
        assert_eq!(triggers.take_fired(), [Firing { link: 0, trigger: 1, at: 4, change: Some((11, DOWN)) }]);
    }
}
