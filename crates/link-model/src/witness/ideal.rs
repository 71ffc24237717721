//! The ideal transmitter: the earliest times at which packets can leave in a given order.
//!
//! Each kind is the greedy schedule of its constraint. Greedy is earliest: sending a packet earlier never delays a
//! later one, because every constraint limits the total sent up to a time. Bytes count as work of one bit/s times
//! one ns, a bit as 10^9 units, so only the final time is rounded.

use std::num::NonZeroU64;
use std::sync::Arc;

use super::{Window, difference};
use crate::{Nanos, Policing, Rate, Trace};

const WORK_OF_BYTE: u128 = 8_000_000_000;
const NANOS_PER_MS: u64 = 1_000_000;

#[derive(Debug)]
pub(super) enum Ideal {
    Line(Line),
    Bucket(Bucket),
    Opportunities(Opportunities),
}

/// When a packet leaves at the earliest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Finish {
    /// In whole ns: nothing that leaves before it is possible.
    pub at: Nanos,
    /// Begin of the window, if a new one begins with this packet.
    pub begins: Option<Nanos>,
}

impl Ideal {
    pub(super) fn new(rate: &Rate) -> Self {
        match rate {
            Rate::Constant(rate) => Self::Line(Line { course: Course::new(*rate), free: 0, owed: 0 }),
            Rate::TokenBucket { rate, burst } => {
                let capacity = u128::from(burst.get()) * WORK_OF_BYTE;
                Self::Bucket(Bucket { course: Course::new(*rate), capacity, level: capacity, at: 0 })
            }
            Rate::Trace(trace) => Self::Opportunities(Opportunities::new(Arc::clone(trace))),
        }
    }

    pub(super) fn start(&mut self, at: Nanos) {
        if let Self::Opportunities(opportunities) = self {
            opportunities.origin = at;
        }
    }

    pub(super) fn change(&mut self, at: Nanos, rate: NonZeroU64) {
        match self {
            Self::Line(line) => line.course.change(at, rate),
            Self::Bucket(bucket) => bucket.course.change(at, rate),
            Self::Opportunities(_) => {}
        }
    }

    pub(super) fn finish(&mut self, arrived: Nanos, bytes: u32) -> Finish {
        match self {
            Self::Line(line) => line.finish(arrived, bytes),
            Self::Bucket(bucket) => bucket.finish(arrived, bytes),
            Self::Opportunities(opportunities) => opportunities.finish(arrived, bytes),
        }
    }
}

/// The rates of a link, each with the time from which it is in force.
#[derive(Debug)]
struct Course {
    steps: Vec<(Nanos, NonZeroU64)>,
    /// The step in force at the last time asked for.
    place: usize,
}

impl Course {
    fn new(rate: NonZeroU64) -> Self {
        Self { steps: vec![(0, rate)], place: 0 }
    }

    fn change(&mut self, at: Nanos, rate: NonZeroU64) {
        self.steps.push((at, rate));
    }

    /// The rate in force at `at`, and the work that it does until the next change, with that change's time. Times
    /// that are asked for never decrease.
    fn at(&mut self, at: Nanos) -> (u128, Nanos, u128) {
        while self.steps.get(self.place + 1).is_some_and(|(from, _)| *from <= at) {
            self.place += 1;
        }
        let rate = u128::from(self.steps[self.place].1.get());
        let until = self.steps.get(self.place + 1).map_or(Nanos::MAX, |(from, _)| *from);
        (rate, until, u128::from(until - at) * rate)
    }
}

/// A constant rate.
#[derive(Debug)]
pub(super) struct Line {
    course: Course,
    /// When it is free but for `owed`, which takes less than one ns.
    free: Nanos,
    owed: u128,
}

impl Line {
    fn finish(&mut self, arrived: Nanos, bytes: u32) -> Finish {
        let begins = (arrived > self.free).then_some(arrived);
        if begins.is_some() {
            (self.free, self.owed) = (arrived, 0);
        }
        self.owed += u128::from(bytes) * WORK_OF_BYTE;
        loop {
            let (rate, until, work) = self.course.at(self.free);
            if self.owed < work || until == Nanos::MAX {
                self.free = after(self.free, self.owed / rate);
                self.owed %= rate;
                return Finish { at: self.free, begins };
            }
            self.owed -= work;
            self.free = until;
        }
    }
}

/// A token bucket.
#[derive(Debug)]
pub(super) struct Bucket {
    course: Course,
    capacity: u128,
    /// What it holds at `at`.
    level: u128,
    at: Nanos,
}

impl Bucket {
    fn finish(&mut self, arrived: Nanos, bytes: u32) -> Finish {
        self.fill_until(arrived);
        let begins = (self.level == self.capacity).then_some(self.at);
        let mut missing = (u128::from(bytes) * WORK_OF_BYTE).saturating_sub(self.level);
        self.level = self.level.saturating_sub(u128::from(bytes) * WORK_OF_BYTE);
        while missing > 0 {
            let (rate, until, work) = self.course.at(self.at);
            if missing <= work || until == Nanos::MAX {
                let wait = missing.div_ceil(rate);
                self.at = after(self.at, wait);
                self.level = (wait * rate - missing).min(self.capacity);
                break;
            }
            missing -= work;
            self.at = until;
        }
        Finish { at: self.at, begins }
    }

    fn fill_until(&mut self, end: Nanos) {
        while self.at < end {
            let (rate, until, _) = self.course.at(self.at);
            let next = until.min(end);
            self.level = (self.level + u128::from(next - self.at) * rate).min(self.capacity);
            self.at = next;
        }
    }
}

/// What a policer may let pass: a bucket that must hold a packet's bytes at its arrival.
#[derive(Debug)]
pub(super) struct Allowance {
    bucket: Bucket,
    /// The number of the last packet taken.
    last: u64,
    /// When the bucket was full for the last time, and the bytes that passed since.
    since: (Nanos, u64),
}

impl Allowance {
    pub(super) fn new(policing: Policing) -> Self {
        let capacity = u128::from(policing.burst.get()) * WORK_OF_BYTE;
        let bucket = Bucket { course: Course::new(policing.rate), capacity, level: capacity, at: 0 };
        Self { bucket, last: 0, since: (0, 0) }
    }

    /// Takes a packet that passed; gives the window that ends with its arrival, in which the slack is the time that
    /// fills the bucket by what is left in it. `None` for a packet behind one with a higher number.
    pub(super) fn take(&mut self, number: u64, arrived: Nanos, bytes: u32) -> Option<Window> {
        if number < self.last {
            return None;
        }
        self.last = number;
        let finish = self.bucket.finish(arrived, bytes);
        if let Some(begin) = finish.begins {
            self.since = (begin, 0);
        }
        self.since.1 += u64::from(bytes);
        let late = difference(arrived, finish.at);
        let (rate, ..) = self.bucket.course.at(self.bucket.at);
        let left = i64::try_from(self.bucket.level / rate).unwrap_or(i64::MAX);
        let slack_ns = if late < 0 { late } else { left };
        Some(Window { slack_ns, from: self.since.0, to: arrived, bytes: self.since.1 })
    }
}

/// Opportunities of a trace, which begins again after its last one.
#[derive(Debug)]
pub(super) struct Opportunities {
    trace: Arc<Trace>,
    origin: Nanos,
    lap: u64,
    index: usize,
    /// What the opportunity can still carry.
    bytes_left: u32,
}

impl Opportunities {
    const fn new(trace: Arc<Trace>) -> Self {
        Self { trace, origin: 0, lap: 0, index: 0, bytes_left: Trace::OPPORTUNITY_BYTES }
    }

    fn finish(&mut self, arrived: Nanos, mut bytes: u32) -> Finish {
        // An opportunity in the nanosecond of an arrival comes too early for it.
        let begins = (self.time() <= arrived).then_some(arrived);
        if begins.is_some() {
            self.go_behind(arrived);
        }
        while bytes > self.bytes_left {
            bytes -= self.bytes_left;
            self.go_on();
        }
        self.bytes_left -= bytes;
        Finish { at: self.time(), begins }
    }

    fn period(&self) -> Nanos {
        u64::from(self.trace.period_ms()) * NANOS_PER_MS
    }

    fn time(&self) -> Nanos {
        let within = u64::from(self.trace.times_ms()[self.index]) * NANOS_PER_MS;
        self.origin.saturating_add(self.lap.saturating_mul(self.period())).saturating_add(within)
    }

    fn go_behind(&mut self, at: Nanos) {
        let Some(since) = at.checked_sub(self.origin) else { return };
        let within = since % self.period();
        self.lap = since / self.period();
        // There is one: the last is at the period's end, and `within` is before that.
        self.index = self.trace.times_ms().partition_point(|&ms| u64::from(ms) * NANOS_PER_MS <= within);
        self.bytes_left = Trace::OPPORTUNITY_BYTES;
    }

    fn go_on(&mut self) {
        self.index += 1;
        if self.index == self.trace.times_ms().len() {
            (self.lap, self.index) = (self.lap + 1, 0);
        }
        self.bytes_left = Trace::OPPORTUNITY_BYTES;
    }
}

/// The time so many ns after `begin`; the end of time if that is later.
fn after(begin: Nanos, nanos: u128) -> Nanos {
    begin.saturating_add(u64::try_from(nanos).unwrap_or(Nanos::MAX))
}
