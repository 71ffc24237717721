//! The scenes of the properties: any link, any arrivals, any changes, and a caller that looks at any time.
//!
//! Arrivals are pushed with their own stamps, while the caller looks at the direction at times of its own
//! (`looks`), as under a scheduler: early, late, or long after many packets are due.

use std::num::{NonZeroU32, NonZeroU64};
use std::sync::Arc;

use link_model::{
    Applied, Chance, Change, CoDel, Departure, Direction, Discipline, Ecn, Fate, FqCoDel, GilbertElliott,
    Impairments, Jitter, JitterShape, LossModel, Nanos, Packet, Pie, Policing, Queue, QueueLimit, Rate,
    Reordering, Stage, Trace,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// Gap to the packet before (ns) and size (bytes).
pub type Arrivals = Vec<(Nanos, u32)>;

/// Times after the start, and the changes due then.
pub type Changes = Vec<(Nanos, Change)>;

/// A packet that left, delivered or dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departed {
    pub at: Nanos,
    pub number: u64,
    pub copy: bool,
    pub bytes: u32,
    pub fate: Fate,
    pub damage: Option<u64>,
}

impl From<Departure<()>> for Departed {
    fn from(Departure { at, fate, packet }: Departure<()>) -> Self {
        let number = packet.number.expect("counted");
        Self { at, number, copy: packet.copy, bytes: packet.bytes, fate, damage: packet.damage }
    }
}

/// The observations of a run.
pub struct Run {
    pub direction: Direction<()>,
    pub arrived_at: Vec<Nanos>,
    pub seen: Vec<Departed>,
    pub applied: Vec<Applied>,
}

impl Run {
    pub fn delivered(&self) -> impl Iterator<Item = &Departed> {
        self.seen.iter().filter(|seen| seen.fate == Fate::Delivered)
    }

    pub fn dropped(&self) -> impl Iterator<Item = &Departed> {
        self.seen.iter().filter(|seen| seen.fate != Fate::Delivered)
    }

    fn look(&mut self, now: Nanos) {
        self.seen.extend(std::iter::from_fn(|| self.direction.pop(now)).map(Departed::from));
        self.applied.extend(std::iter::from_fn(|| self.direction.next_applied()));
    }
}

/// A direction that counts from time 0, with its schedule.
pub fn started(impairments: &Impairments, changes: &Changes) -> Direction<()> {
    let mut direction = Direction::new(impairments.clone());
    for &(at, change) in changes {
        direction.schedule(at, change);
    }
    direction.start(0);
    direction
}

/// Pushes all arrivals. Before the one with index `i` the caller takes out everything that is due, if `looks[i %
/// len]`. At the end it takes out the rest if `empty`.
pub fn run(
    impairments: &Impairments,
    changes: &Changes,
    arrivals: &Arrivals,
    looks: &[bool],
    empty: bool,
) -> Run {
    let direction = started(impairments, changes);
    let mut run = Run { direction, arrived_at: Vec::new(), seen: Vec::new(), applied: Vec::new() };
    let mut now = 0;
    for (index, &(gap, bytes)) in arrivals.iter().enumerate() {
        now += gap;
        run.arrived_at.push(now);
        if looks[index % looks.len()] {
            run.look(now);
        }
        run.direction.push(now, packet(index, bytes));
    }
    if empty {
        run.look(Nanos::MAX);
    }
    run
}

/// Flows and ECN fields vary, because some disciplines depend on them.
pub fn packet(index: usize, bytes: u32) -> Packet<()> {
    let mut packet = Packet::new(bytes, ());
    packet.flow = index as u64 % 3;
    packet.ecn = [Ecn::NotCapable, Ecn::Capable, Ecn::Capable, Ecn::Ce][index % 4];
    packet
}

/// Runs a careful caller: it pushes arrivals and looks exactly when `next_due` says.
pub fn run_as_due(
    impairments: &Impairments,
    changes: &Changes,
    arrivals: &Arrivals,
) -> Vec<(Nanos, Departed)> {
    let mut direction = started(impairments, changes);
    let mut seen = Vec::new();
    let mut now = 0;
    for (index, &(gap, bytes)) in arrivals.iter().enumerate() {
        now += gap;
        wake_until(&mut direction, now, &mut seen);
        direction.push(now, packet(index, bytes));
    }
    wake_until(&mut direction, Nanos::MAX, &mut seen);
    seen
}

fn wake_until(direction: &mut Direction<()>, end: Nanos, seen: &mut Vec<(Nanos, Departed)>) {
    let mut last = None;
    while let Some(due) = direction.next_due().filter(|due| *due <= end) {
        assert!(last < Some(due), "asked again for {due}, when nothing was left to do");
        while let Some(departure) = direction.pop(due) {
            seen.push((due, Departed::from(departure)));
        }
        last = Some(due);
    }
}

const MS: Nanos = 1_000_000;

/// Up to `most` ms, and often a whole number of them, so that events coincide.
fn time(most: u64) -> impl Strategy<Value = Nanos> {
    prop_oneof![0..most * MS, (0..most).prop_map(|ms| ms * MS)]
}

pub fn arrivals() -> impl Strategy<Value = Arrivals> {
    // Bursts and pauses: most gaps are far below the serialisation time of a packet.
    let gap = prop_oneof![3 => Just(0), 5 => 0..200_000_u64, 1 => time(50)];
    let round = (prop_oneof![Just(0), Just(MS)], Just(125));
    prop_oneof![3 => vec((gap, 1..=1500_u32), 0..400), 1 => vec(round, 0..100)]
}

pub fn bit_s() -> impl Strategy<Value = NonZeroU64> {
    // A packet of 125 bytes takes 1 ms at 1 Mbit/s.
    prop_oneof![4 => 10_000..10_000_000_000_u64, 1 => Just(1_000_000)]
        .prop_map(|rate| NonZeroU64::new(rate).expect("not 0"))
}

pub fn limit() -> impl Strategy<Value = QueueLimit> {
    prop_oneof![
        (1..50_u64).prop_map(QueueLimit::Packets),
        (1_500..50_000_u64).prop_map(QueueLimit::Bytes),
        time(100).prop_map(QueueLimit::Time),
        Just(QueueLimit::Unlimited),
    ]
}

pub fn chance() -> impl Strategy<Value = Chance> {
    let probability = prop_oneof![0.0..=1.0, Just(0.01), Just(1.0)];
    (probability, any::<u64>()).prop_map(|(probability, key)| Chance { probability, key })
}

fn gilbert_elliott() -> impl Strategy<Value = GilbertElliott> {
    (0.0..=1.0, 0.0..=1.0, 0.0..=1.0, 0.0..=1.0, any::<u64>()).prop_map(
        |(to_bad, to_good, loss_good, loss_bad, key)| GilbertElliott {
            to_bad,
            to_good,
            loss_good,
            loss_bad,
            key,
        },
    )
}

pub fn loss() -> impl Strategy<Value = LossModel> {
    prop_oneof![
        chance().prop_map(LossModel::Bernoulli),
        gilbert_elliott().prop_map(LossModel::GilbertElliott),
        proptest::collection::btree_set(0..400_u64, 0..100)
            .prop_map(|numbers| LossModel::Listed(numbers.into_iter().collect())),
    ]
}

pub fn constant_rate() -> impl Strategy<Value = Rate> {
    bit_s().prop_map(Rate::Constant)
}

pub fn rate() -> impl Strategy<Value = Rate> {
    let trace = vec(0..200_u64, 1..50).prop_map(|mut times| {
        times.sort_unstable();
        times.push(200);
        let text: Vec<String> = times.iter().map(u64::to_string).collect();
        Rate::Trace(Arc::new(Trace::parse(text.join("\n").as_bytes()).expect("a trace")))
    });
    let burst = (1_500..100_000_u32).prop_map(|burst| NonZeroU32::new(burst).expect("not 0"));
    let bucket = (bit_s(), burst).prop_map(|(rate, burst)| Rate::TokenBucket { rate, burst });
    prop_oneof![constant_rate(), bucket, trace]
}

fn codel() -> impl Strategy<Value = CoDel> {
    (1..20_000_000_u64, 1_000_000..200_000_000_u64, any::<bool>()).prop_map(|(target, interval, ecn)| CoDel {
        target,
        interval,
        ecn,
    })
}

fn discipline() -> impl Strategy<Value = Discipline> {
    let (flows, quantum) = (NonZeroU32::new(16).expect("not 0"), NonZeroU32::new(1514).expect("not 0"));
    prop_oneof![
        Just(Discipline::DropTail),
        codel().prop_map(Discipline::CoDel),
        codel().prop_map(move |codel| Discipline::FqCoDel(FqCoDel { codel, flows, quantum })),
        (codel(), any::<u64>()).prop_map(|(CoDel { target, ecn, .. }, key)| {
            Discipline::Pie(Pie { target, update: 15_000_000, ecn, key })
        }),
    ]
}

pub fn jitter() -> impl Strategy<Value = Jitter> {
    let spread = 0..50_000_000_u64;
    let shape = prop_oneof![
        spread.clone().prop_map(JitterShape::Uniform),
        spread.clone().prop_map(JitterShape::Normal),
        spread.prop_map(JitterShape::Pareto),
        vec(-50_000_000..50_000_000_i64, 1..9).prop_map(|samples| JitterShape::Table(samples.into())),
    ];
    (shape, any::<u64>()).prop_map(|(shape, key)| Jitter { shape, key })
}

pub fn policing() -> impl Strategy<Value = Policing> {
    let burst = (100..50_000_u32).prop_map(|burst| NonZeroU32::new(burst).expect("not 0"));
    (bit_s(), burst).prop_map(|(rate, burst)| Policing { rate, burst })
}

fn reordering() -> impl Strategy<Value = Reordering> {
    (chance(), time(50)).prop_map(|(Chance { probability, key }, hold)| Reordering { probability, key, hold })
}

prop_compose! {
    /// Every impairment, on or off.
    pub fn any_impairments()(
        loss in option::of(loss()),
        policing in option::of(policing()),
        corruption in option::of(chance()),
        duplication in option::of(chance()),
        rate in option::of(rate()),
        limit in limit(),
        discipline in discipline(),
        delay in time(100),
        jitter in option::of(jitter()),
        reordering in option::of(reordering()),
    ) -> Impairments {
        let queue = Queue { discipline, limit };
        Impairments { overhead_bytes: 0, loss, policing, corruption, duplication, rate, queue, delay, jitter, reordering }
    }
}

/// Every impairment, but only the queue whose drops are decided at arrival.
pub fn drop_tail_impairments() -> impl Strategy<Value = Impairments> {
    any_impairments().prop_map(|mut impairments| {
        impairments.queue.discipline = Discipline::DropTail;
        impairments
    })
}

pub fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        bit_s().prop_map(Change::Rate),
        time(100).prop_map(Change::Delay),
        (0.0..=1.0).prop_map(Change::Loss),
        Just(Change::Down),
        Just(Change::Rebind),
        Just(Change::Up),
        Just(Change::Up),
    ]
}

pub fn changes() -> impl Strategy<Value = Changes> {
    vec((time(200), change()), 0..8)
}
