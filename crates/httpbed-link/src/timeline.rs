//! What a direction carried over time, in few numbers: throughput, queue, round trips, bytes in flight.
//!
//! A timeline has at most [`MAX_BINS`] bins. When a packet comes after the last one, bins are joined in pairs, and each
//! is then twice as long. So its size is bounded, however long the run is.
//!
//! The *answer* to a packet is the first packet of the opposite direction that entered the link after the packet had
//! left it, and that was delivered. If there are further links up to the receiver, the answer cannot enter earlier than
//! a round trip over these after the packet left. Receivers of TCP and of QUIC acknowledge what arrives, so the
//! answer's delivery is what a sender behind the link can know first, whether or not the packets are encrypted. From a
//! packet's arrival to its answer's delivery is its round-trip time, and its bytes are in flight. A dropped packet has no answer; its bytes
//! are in flight until a later packet is answered, by which a sender detects the loss (RFC 9002 section 6.1).

use std::collections::VecDeque;
use std::ops::AddAssign;

use link_model::{Fate, Nanos};
use serde::Serialize;

use crate::config::Link;

const MAX_BINS: usize = 256;
const FIRST_WIDTH: Nanos = 1_000_000;
/// Packets without an answer that are remembered: the round trip of 60 ms at 10 Gbit/s.
const MAX_WAITING: usize = 1 << 16;

/// The timelines of all directions that have one.
#[derive(Debug, Default)]
pub struct Timelines(Vec<Option<Timeline>>);

/// One direction over time.
#[derive(Debug)]
pub struct Timeline {
    /// The round trip beyond the link.
    beyond: Nanos,
    width: Nanos,
    bins: Vec<Bin>,
    /// Delivered packets without an answer yet, in the order in which they left.
    delivered: VecDeque<Waiting>,
    /// Dropped packets that no later packet's answer has revealed yet.
    dropped: VecDeque<Waiting>,
    /// When the last answered packet arrived.
    answered: Nanos,
}

/// A packet that settled: what happened to it, and when.
#[derive(Clone, Copy, Debug)]
pub struct Settled {
    /// When it entered the link.
    pub arrived: Nanos,
    /// When it left, or was dropped.
    pub at: Nanos,
    /// How long it waited in the queue.
    pub waited: Nanos,
    /// Length of the IP packet.
    pub bytes: u32,
    /// What became of it.
    pub fate: Fate,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    arrived: Nanos,
    left: Nanos,
    bytes: u32,
}

/// Sums over the packets of a bin.
#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    sent_bytes: u64,
    delivered_bytes: u64,
    answered_bytes: u64,
    dropped: u64,
    left: u64,
    waited: Nanos,
    round_trips: u64,
    round_trip: Nanos,
}

/// A timeline in the result: a value for each bin, from the start on.
#[derive(Debug, Serialize)]
pub struct TimelineReport {
    bin_ns: Nanos,
    /// Bytes of IP packets that entered the link.
    sent_bytes: Vec<u64>,
    /// Bytes of those that left it.
    delivered_bytes: Vec<u64>,
    /// Bytes that are no longer in flight.
    answered_bytes: Vec<u64>,
    dropped_packets: Vec<u64>,
    /// Mean time in the queue of the packets that left; null without any.
    queue_us: Vec<Option<u64>>,
    /// Mean round-trip time of the packets that were answered; null without any.
    rtt_us: Vec<Option<u64>>,
}

impl Timelines {
    /// Timelines of the directions that the links name.
    pub fn new(links: &[Link]) -> Self {
        let wanted = links.iter().flat_map(|link| link.timelines);
        Self(wanted.map(|beyond| beyond.map(Timeline::new)).collect())
    }

    /// Notes a packet of a direction, which may be the answer to packets of the opposite one.
    pub fn settled(&mut self, direction: usize, packet: Settled) {
        if let Some(own) = &mut self.0[direction] {
            own.carried(packet);
        }
        if let (Fate::Delivered, Some(opposite)) = (packet.fate, &mut self.0[direction ^ 1]) {
            opposite.answer(packet.arrived, packet.at);
        }
    }

    /// The timeline of a direction, if it has one.
    pub fn report(&self, direction: usize) -> Option<TimelineReport> {
        self.0[direction].as_ref().map(Timeline::report)
    }
}

impl Timeline {
    const fn new(beyond: Nanos) -> Self {
        Self {
            beyond,
            width: FIRST_WIDTH,
            bins: Vec::new(),
            delivered: VecDeque::new(),
            dropped: VecDeque::new(),
            answered: 0,
        }
    }

    fn carried(&mut self, packet: Settled) {
        self.bin(packet.arrived).sent_bytes += u64::from(packet.bytes);
        let bin = self.bin(packet.at);
        let waiting = Waiting { arrived: packet.arrived, left: packet.at, bytes: packet.bytes };
        if packet.fate == Fate::Delivered {
            bin.delivered_bytes += u64::from(packet.bytes);
            bin.left += 1;
            bin.waited += packet.waited;
            self.delivered.push_back(waiting);
        } else {
            bin.dropped += 1;
            self.dropped.push_back(waiting);
        }
        if self.delivered.len() > MAX_WAITING {
            self.delivered.pop_front();
        }
        if self.dropped.len() > MAX_WAITING {
            self.dropped.pop_front();
        }
    }

    /// Notes a packet of the opposite direction that entered the link and was delivered at these times.
    fn answer(&mut self, entered: Nanos, at: Nanos) {
        let mut found = Bin::default();
        let last = entered.saturating_sub(self.beyond);
        while let Some(packet) = front(&self.delivered, |packet| packet.left <= last) {
            self.delivered.pop_front();
            self.answered = self.answered.max(packet.arrived);
            found.answered_bytes += u64::from(packet.bytes);
            found.round_trips += 1;
            found.round_trip += at.saturating_sub(packet.arrived);
        }
        while let Some(packet) = front(&self.dropped, |packet| packet.arrived <= self.answered) {
            self.dropped.pop_front();
            found.answered_bytes += u64::from(packet.bytes);
        }
        if found.answered_bytes > 0 {
            *self.bin(at) += found;
        }
    }

    fn bin(&mut self, at: Nanos) -> &mut Bin {
        while at / self.width >= MAX_BINS as Nanos {
            self.join();
        }
        let place = usize::try_from(at / self.width).unwrap_or(MAX_BINS - 1);
        if self.bins.len() <= place {
            self.bins.resize(place + 1, Bin::default());
        }
        &mut self.bins[place]
    }

    /// Joins bins in pairs.
    fn join(&mut self) {
        self.width *= 2;
        let joined = self.bins.chunks(2).map(|pair| {
            let (mut sum, second) = (pair[0], pair.get(1).copied().unwrap_or_default());
            sum += second;
            sum
        });
        self.bins = joined.collect();
    }

    fn report(&self) -> TimelineReport {
        let column = |of: fn(&Bin) -> u64| self.bins.iter().map(of).collect();
        let mean = |sum: Nanos, count: u64| sum.checked_div(count).map(|mean| mean / 1000);
        TimelineReport {
            bin_ns: self.width,
            sent_bytes: column(|bin| bin.sent_bytes),
            delivered_bytes: column(|bin| bin.delivered_bytes),
            answered_bytes: column(|bin| bin.answered_bytes),
            dropped_packets: column(|bin| bin.dropped),
            queue_us: self.bins.iter().map(|bin| mean(bin.waited, bin.left)).collect(),
            rtt_us: self.bins.iter().map(|bin| mean(bin.round_trip, bin.round_trips)).collect(),
        }
    }
}

fn front(queue: &VecDeque<Waiting>, is_wanted: impl Fn(&Waiting) -> bool) -> Option<Waiting> {
    queue.front().copied().filter(is_wanted)
}

impl AddAssign for Bin {
    fn add_assign(&mut self, other: Self) {
        self.sent_bytes += other.sent_bytes;
        self.delivered_bytes += other.delivered_bytes;
        self.answered_bytes += other.answered_bytes;
        self.dropped += other.dropped;
        self.left += other.left;
        self.waited += other.waited;
        self.round_trips += other.round_trips;
        self.round_trip += other.round_trip;
    }
}

#[cfg(test)]
mod tests {
    use link_model::{Cause, Fate, Nanos};
    use serde_json::{Value, json};

    use super::{FIRST_WIDTH, MAX_BINS, Settled, Timeline, Timelines};

    const MS: Nanos = 1_000_000;

    fn timelines() -> Timelines {
        Timelines(vec![None, Some(Timeline::new(0))])
    }

    fn passing(arrived: Nanos, at: Nanos, bytes: u32) -> Settled {
        Settled { arrived, at, waited: (at - arrived) / 2, bytes, fate: Fate::Delivered }
    }

    fn column(timelines: &Timelines, name: &str) -> Value {
        serde_json::to_value(timelines.report(1)).expect("JSON")[name].clone()
    }

    fn sum(timelines: &Timelines, name: &str) -> u64 {
        column(timelines, name).as_array().expect("a column").iter().filter_map(Value::as_u64).sum()
    }

    #[test]
    fn bytes_stand_in_the_bins_of_their_times() {
        let mut seen = timelines();
        seen.settled(1, passing(0, 2 * MS, 1500));
        seen.settled(1, passing(MS, 4 * MS, 100));
        assert_eq!(column(&seen, "sent_bytes"), json!([1500, 100, 0, 0, 0]));
        assert_eq!(column(&seen, "delivered_bytes"), json!([0, 0, 1500, 0, 100]));
        assert_eq!(column(&seen, "queue_us"), json!([null, null, 1000, null, 1500]));
        assert_eq!(column(&seen, "rtt_us"), json!([null, null, null, null, null]));
    }

    #[test]
    fn the_answer_is_the_first_packet_that_entered_after_the_delivery() {
        let mut seen = timelines();
        seen.settled(1, passing(0, 5 * MS, 1500));
        seen.settled(0, passing(4 * MS, 7 * MS, 40));
        assert_eq!(sum(&seen, "answered_bytes"), 0, "it entered before, and answers something else");
        seen.settled(0, passing(5 * MS, 8 * MS, 40));
        seen.settled(0, passing(6 * MS, 9 * MS, 40));
        assert_eq!(column(&seen, "answered_bytes"), json!([0, 0, 0, 0, 0, 0, 0, 0, 1500]));
        assert_eq!(column(&seen, "rtt_us")[8], json!(8000));
    }

    #[test]
    fn what_was_under_way_beyond_the_link_is_no_answer() {
        let mut seen = Timelines(vec![None, Some(Timeline::new(2 * MS))]);
        seen.settled(1, passing(0, 5 * MS, 1500));
        seen.settled(0, passing(6 * MS, 7 * MS, 40));
        assert_eq!(sum(&seen, "answered_bytes"), 0);
        seen.settled(0, passing(7 * MS, 8 * MS, 40));
        assert_eq!(column(&seen, "rtt_us")[8], json!(8000));
    }

    #[test]
    fn one_answer_may_be_to_several_packets() {
        let mut seen = timelines();
        seen.settled(1, passing(0, 5 * MS, 1000));
        seen.settled(1, passing(2 * MS, 6 * MS, 1000));
        seen.settled(0, passing(6 * MS, 10 * MS, 40));
        assert_eq!(column(&seen, "answered_bytes")[10], json!(2000));
        assert_eq!(column(&seen, "rtt_us")[10], json!(9000), "the mean of 10 and 8 ms");
    }

    #[test]
    fn a_dropped_answer_is_none() {
        let mut seen = timelines();
        seen.settled(1, passing(0, MS, 1000));
        let lost = Settled { fate: Fate::Dropped(Cause::Chance), ..passing(2 * MS, 2 * MS, 40) };
        seen.settled(0, lost);
        assert_eq!(sum(&seen, "answered_bytes"), 0);
    }

    #[test]
    fn dropped_bytes_are_in_flight_until_a_later_packet_is_answered() {
        let mut seen = timelines();
        seen.settled(1, passing(0, 5 * MS, 1000));
        let lost = Settled { fate: Fate::Dropped(Cause::Queue), ..passing(MS, MS, 700) };
        seen.settled(1, lost);
        seen.settled(1, passing(2 * MS, 6 * MS, 1000));
        seen.settled(0, passing(5 * MS, 9 * MS, 40));
        assert_eq!(sum(&seen, "answered_bytes"), 1000, "the first answer reveals nothing of the loss");
        seen.settled(0, passing(6 * MS, 10 * MS, 40));
        assert_eq!(sum(&seen, "answered_bytes"), 2700);
        assert_eq!(sum(&seen, "sent_bytes"), 2700);
        assert_eq!(sum(&seen, "dropped_packets"), 1);
    }

    #[test]
    fn a_long_run_has_longer_bins_and_the_same_sums() {
        let mut seen = timelines();
        for number in 0..10_000 {
            let arrived = number * MS;
            seen.settled(1, passing(arrived, arrived + 2 * MS, 1000));
            seen.settled(0, passing(arrived + 2 * MS, arrived + 4 * MS, 40));
        }
        assert_eq!(column(&seen, "bin_ns"), json!(64 * FIRST_WIDTH));
        let bins = column(&seen, "sent_bytes").as_array().expect("a column").len();
        assert!((MAX_BINS / 2..=MAX_BINS).contains(&bins), "{bins}");
        for name in ["sent_bytes", "delivered_bytes", "answered_bytes"] {
            assert_eq!(sum(&seen, name), 10_000_000, "{name}");
        }
        let times = column(&seen, "rtt_us");
        assert!(times.as_array().expect("a column").iter().all(|time| *time == json!(4000)));
    }

    #[test]
    fn a_direction_without_answers_uses_bounded_memory() {
        let mut seen = timelines();
        for number in 0..200_000 {
            seen.settled(1, passing(number, number + 1, 100));
        }
        let own = seen.0[1].as_ref().expect("a timeline");
        assert!(own.delivered.len() <= super::MAX_WAITING);
        assert_eq!(sum(&seen, "delivered_bytes"), 20_000_000);
    }

    #[test]
    fn a_direction_has_a_timeline_only_if_it_is_wanted() {
        let mut seen = timelines();
        seen.settled(0, passing(0, MS, 100));
        assert!(seen.report(0).is_none());
    }
}
