//! Nodes for tests.

use link_model::{Direction, Distribution, Fate, Impairments, Nanos, Packet, Stage, Stream};

use crate::{Node, Output, Parcel, Schedule};

/// Sends packets of given times and sizes; discards what comes back.
pub struct Source<I> {
    plan: I,
    next: Option<(Nanos, u32)>,
}

impl<I: Iterator<Item = (Nanos, u32)>> Source<I> {
    /// Sends by `plan`: times, which never decrease, and sizes in bytes.
    pub fn new(mut plan: I) -> Self {
        let next = plan.next();
        Self { plan, next }
    }
}

impl<I: Iterator<Item = (Nanos, u32)>> Node for Source<I> {
    fn process(&mut self, now: Nanos, _input: Option<Parcel>) -> Output {
        match self.next {
            Some((at, bytes)) if at <= now => {
                self.next = self.plan.next();
                Output::Send(Parcel { bytes, sent: at })
            }
            Some((at, _)) => Output::Wait(at),
            None => Output::Idle,
        }
    }
}

/// One packet of `bytes` every `gap` (ns), from 0 to before `end`.
pub fn constant(bytes: u32, gap: Nanos, end: Nanos) -> impl Iterator<Item = (Nanos, u32)> {
    (0..).map(move |n| n * gap).take_while(move |at| *at < end).map(move |at| (at, bytes))
}

/// Packets of `bytes` whose gaps are exponential with mean `gap` (ns), to before `end`.
pub fn poisson(bytes: u32, gap: f64, end: Nanos, stream: Stream) -> impl Iterator<Item = (Nanos, u32)> {
    let mut at = 0.0;
    (0..)
        .map(move |n| {
            at -= gap * (1.0 - stream.unit(n)).ln();
            whole(at)
        })
        .take_while(move |at| *at < end)
        .map(move |at| (at, bytes))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "times are positive and small")]
const fn whole(time: f64) -> Nanos {
    time as Nanos
}

/// Keeps a number of packets in flight, as a sender with a constant congestion window does.
pub struct Window {
    bytes: u32,
    room: u64,
    /// Packets that came back.
    pub returned: u64,
    /// Time from sending to return.
    pub round_trip: Distribution,
}

impl Window {
    /// At most `packets` of `bytes` in flight.
    #[must_use]
    pub fn new(packets: u64, bytes: u32) -> Self {
        Self { bytes, room: packets, returned: 0, round_trip: Distribution::new() }
    }
}

impl Node for Window {
    fn process(&mut self, now: Nanos, input: Option<Parcel>) -> Output {
        if let Some(parcel) = input {
            self.room += 1;
            self.returned += 1;
            self.round_trip.record(now - parcel.sent);
        }
        if self.room == 0 {
            return Output::Idle;
        }
        self.room -= 1;
        Output::Send(Parcel { bytes: self.bytes, sent: now })
    }
}

/// Answers every packet at once with one of another size.
pub struct Reflector {
    bytes: u32,
}

impl Reflector {
    /// Answers with `bytes`.
    #[must_use]
    pub const fn new(bytes: u32) -> Self {
        Self { bytes }
    }
}

impl Node for Reflector {
    fn process(&mut self, _now: Nanos, input: Option<Parcel>) -> Output {
        input.map_or(Output::Idle, |parcel| Output::Send(Parcel { bytes: self.bytes, ..parcel }))
    }
}

/// One direction of a link.
pub struct Link {
    /// The model under test.
    pub direction: Direction<Parcel>,
}

impl Link {
    /// A link that counts from the beginning.
    #[must_use]
    pub fn new(impairments: Impairments) -> Self {
        Self::scheduled(impairments, &Schedule::default())
    }

    /// A link whose conditions change.
    #[must_use]
    pub fn scheduled(impairments: Impairments, schedule: &Schedule) -> Self {
        let mut direction = Direction::new(impairments);
        schedule.apply(&mut direction);
        direction.start(0);
        Self { direction }
    }
}

impl Node for Link {
    fn process(&mut self, now: Nanos, input: Option<Parcel>) -> Output {
        if let Some(parcel) = input {
            self.direction.push(now, Packet::new(parcel.bytes, parcel));
        }
        while let Some(departure) = self.direction.pop(now) {
            // The direction counts its drops.
            if departure.fate == Fate::Delivered {
                return Output::Send(departure.packet.body);
            }
        }
        self.direction.next_due().map_or(Output::Idle, Output::Wait)
    }
}

/// Receives packets and sends nothing.
#[derive(Default)]
pub struct Sink {
    /// Packets received.
    pub packets: u64,
    /// Bytes received.
    pub bytes: u64,
    /// Time from sending to arrival.
    pub transit: Distribution,
    /// Arrival of the last packet.
    pub last: Option<Nanos>,
}

impl Node for Sink {
    fn process(&mut self, now: Nanos, input: Option<Parcel>) -> Output {
        if let Some(parcel) = input {
            self.packets += 1;
            self.bytes += u64::from(parcel.bytes);
            self.transit.record(now - parcel.sent);
            self.last = Some(now);
        }
        Output::Idle
    }
}
