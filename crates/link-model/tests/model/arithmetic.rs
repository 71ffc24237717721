//! What each impairment must do, computed from its definition for whole flows, in virtual time and to the nanosecond.
//!
//! The calibration sends such flows over the machine's real links for rate, delay, loss, queue and address translation.
//! The impairments here differ from those only in their arithmetic, so no real link can show more than these tests.

use std::collections::VecDeque;
use std::num::{NonZeroU32, NonZeroU64};

use crate::scene::{Changes, Departed, Run, run};
use link_model::{
    Cause, Chance, Change, CoDel, Corruption, Discipline, Fate, FqCoDel, Impairments, Jitter, JitterShape,
    LossModel, Nanos, Pie, Queue, QueueLimit, Rate, Reordering, Stream,
};

const MS: Nanos = 1_000_000;
const S: Nanos = 1_000 * MS;
const PACKETS: u64 = 4_000;
const CHANCE: f64 = 0.05;

/// Packets of one size at equal distances, all delivered or dropped at the end.
fn carry(impairments: &Impairments, changes: &Changes, packets: u64, bytes: u32, gap: Nanos) -> Run {
    let arrivals = vec![(gap, bytes); usize::try_from(packets).expect("few")];
    run(impairments, changes, &arrivals, &[true], true)
}

fn chance(key: u64) -> Chance {
    Chance { probability: CHANCE, key }
}

/// The numbers whose draw is below the chance.
fn drawn(key: u64) -> Vec<u64> {
    (0..PACKETS).filter(|number| Stream::new(key).unit(*number) < CHANCE).collect()
}

fn numbers<'a>(seen: impl Iterator<Item = &'a Departed>) -> Vec<u64> {
    seen.map(|seen| seen.number).collect()
}

fn arrived(run: &Run, seen: &Departed) -> Nanos {
    run.arrived_at[usize::try_from(seen.number).expect("few")]
}

fn constant(bit_s: u64) -> Option<Rate> {
    NonZeroU64::new(bit_s).map(Rate::Constant)
}

#[test]
fn exactly_the_drawn_packets_are_copied_and_the_copy_follows_at_once() {
    let run = carry(
        &Impairments { duplication: Some(chance(3)), ..Impairments::default() },
        &Vec::new(),
        PACKETS,
        1000,
        MS,
    );
    assert_eq!(numbers(run.delivered().filter(|seen| seen.copy)), drawn(3));
    assert_eq!(numbers(run.delivered().filter(|seen| !seen.copy)), (0..PACKETS).collect::<Vec<_>>());
    assert!(run.delivered().all(|seen| seen.at == arrived(&run, seen)));
}

#[test]
fn exactly_the_drawn_packets_are_damaged() {
    let run = carry(
        &Impairments { corruption: Some(chance(4)), ..Impairments::default() },
        &Vec::new(),
        PACKETS,
        1000,
        MS,
    );
    // Two draws for each packet: the first decides, the second selects the bit.
    let stream = Stream::new(4);
    let word = |number: u64| (stream.unit(2 * number) < CHANCE).then(|| stream.word(2 * number + 1));
    assert_eq!(run.delivered().count(), 4_000);
    assert!(run.delivered().all(|seen| seen.damage == word(seen.number)));
    assert!(run.delivered().all(|seen| seen.damage == Corruption::new(chance(4)).damage(seen.number)));
}

/// Held for ten gaps, a packet is overtaken by those of ten gaps; nobody else waits.
#[test]
fn exactly_the_drawn_packets_are_held_back_and_no_other_waits_for_them() {
    let hold = 10 * MS;
    let reordering = Some(Reordering { probability: CHANCE, key: 5, hold });
    let run = carry(
        &Impairments { delay: 10 * MS, reordering, ..Impairments::default() },
        &Vec::new(),
        PACKETS,
        1000,
        MS,
    );
    let delayed = drawn(5);
    for seen in run.delivered() {
        let extra = if delayed.contains(&seen.number) { hold } else { 0 };
        assert_eq!(seen.at - arrived(&run, seen), 10 * MS + extra, "packet {}", seen.number);
    }
    assert_eq!(run.delivered().count(), 4_000);
}

/// 200 bytes take 160 us at 10 Mbit/s and come every millisecond, so only a copy waits, for its original.
#[test]
fn impairments_together_do_what_each_does_alone() {
    let (delay, hold, service) = (25 * MS, 10 * MS, 160_000);
    let link = Impairments {
        loss: Some(LossModel::Bernoulli(Chance { probability: 0.02, key: 6 })),
        duplication: Some(chance(7)),
        rate: constant(10_000_000),
        delay,
        reordering: Some(Reordering { probability: CHANCE, key: 8, hold }),
        ..Impairments::default()
    };
    let run = carry(&link, &Vec::new(), PACKETS, 200, MS);
    let (copied, delayed) = (drawn(7), drawn(8));
    let mut expected = Vec::new();
    for number in (0..PACKETS).filter(|number| Stream::new(6).unit(*number) >= 0.02) {
        let extra = if delayed.contains(&number) { hold } else { 0 };
        let at = (number + 1) * MS + service + delay + extra;
        expected.push((at, number, false));
        if copied.contains(&number) {
            expected.push((at + service, number, true));
        }
    }
    expected.sort_unstable();
    let mut seen: Vec<_> = run.delivered().map(|seen| (seen.at, seen.number, seen.copy)).collect();
    seen.sort_unstable();
    assert_eq!(seen, expected);
}

/// As many packets under way as a window may hold: each leaves a transmitter of this rate, and then the delay follows.
#[test]
fn a_rate_before_a_delay_gives_each_packet_its_transmission_and_then_the_delay() {
    let (service, delay, gap) = (120_000, 100 * MS, 96_000);
    let run = carry(
        &Impairments { rate: constant(100_000_000), delay, queue: unlimited(), ..Impairments::default() },
        &Vec::new(),
        PACKETS,
        1500,
        gap,
    );
    let mut free = 0;
    for seen in run.delivered() {
        free = free.max(arrived(&run, seen)) + service;
        assert_eq!(seen.at, free + delay, "packet {}", seen.number);
    }
    assert_eq!(run.delivered().count(), 4_000);
}

fn unlimited() -> Queue {
    Queue { limit: QueueLimit::Unlimited, ..Queue::default() }
}

/// The shares of packets below some quantiles, against the distributions' own: tables of the normal distribution, and
/// `1 - x^-3` of Pareto's. The key is fixed; five standard errors of 200,000 draws are 0.0056.
#[test]
fn jitter_has_the_distribution_of_its_name() {
    let (delay, spread, draws) = (15 * MS, 2 * MS, 200_000_u64);
    // Quantile in spreads, and the share of packets below it.
    let uniform = [(-0.9, 0.05), (-0.5, 0.25), (0.0, 0.5), (0.6, 0.8)];
    let normal = [(-2.0, 0.022_750), (-1.0, 0.158_655), (0.0, 0.5), (0.5, 0.691_462), (2.0, 0.977_250)];
    let deviation = 0.75_f64.sqrt();
    let pareto = [1.1_f64, 1.5, 2.0, 4.0].map(|x| ((x - 1.5) / deviation, 1.0 - x.powi(-3)));
    for (shape, quantiles) in [
        (JitterShape::Uniform(spread), &uniform[..]),
        (JitterShape::Normal(spread), &normal[..]),
        (JitterShape::Pareto(spread), &pareto[..]),
    ] {
        let name = format!("{shape:?}");
        let jitter = Some(Jitter { shape, key: 9 });
        let link = Impairments { delay, jitter, ..Impairments::default() };
        // So far apart that keeping the order changes no delay.
        let run = carry(&link, &Vec::new(), draws, 200, 10 * spread);
        let offsets: Vec<f64> =
            run.delivered().map(|seen| spreads(seen.at - arrived(&run, seen), delay, spread)).collect();
        assert_eq!(offsets.len() as u64, draws);
        for (quantile, share) in quantiles {
            let below = offsets.iter().filter(|offset| **offset < *quantile).count();
            let found = float(below as u64) / float(draws);
            assert!((found - share).abs() < 0.0056, "{name}: {found} below {quantile}, not {share}");
        }
    }
}

/// How far a delay is from the configured one, in spreads.
fn spreads(measured: Nanos, delay: Nanos, spread: Nanos) -> f64 {
    (float(measured) - float(delay)) / float(spread)
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
const fn float(number: u64) -> f64 {
    number as f64
}

#[test]
fn a_table_gives_each_packet_the_sample_of_its_draw() {
    let samples = [-3_000_000_i64, 0, 1_000_000, 4_000_000];
    let jitter = Some(Jitter { shape: JitterShape::Table(samples.into()), key: 10 });
    let run = carry(
        &Impairments { delay: 10 * MS, jitter, ..Impairments::default() },
        &Vec::new(),
        80,
        200,
        8 * MS,
    );
    for seen in run.delivered() {
        let quarter = Stream::new(10).unit(seen.number) * 4.0;
        let place = (0..4).rev().find(|place| quarter >= f64::from(*place)).expect("0 is below");
        let delay = (10 * MS).saturating_add_signed(samples[usize::try_from(place).expect("positive")]);
        assert_eq!(seen.at - arrived(&run, seen), delay, "packet {}", seen.number);
    }
}

/// Zhang and Song's published link: 0.5 Mbit/s, a bucket of 32 KiB, and 70 ms at the rate beside it for the queue.
const BUCKET_BIT_S: u64 = 500_000;
const BUCKET_BYTES: u32 = 32 << 10;
const BUCKET_LIMIT_BYTES: u64 = 37_143;

#[test]
fn a_bucket_and_its_queue_admit_what_their_definition_admits() {
    let bucket = NonZeroU64::new(BUCKET_BIT_S).zip(NonZeroU32::new(BUCKET_BYTES));
    let link = Impairments {
        rate: bucket.map(|(rate, burst)| Rate::TokenBucket { rate, burst }),
        queue: Queue { limit: QueueLimit::Bytes(BUCKET_LIMIT_BYTES), ..Queue::default() },
        ..Impairments::default()
    };
    // 1475 bytes and an Ethernet header, in a burst; and faster than the rate, once the queue has drained.
    let size = 1489;
    let mut arrivals = vec![(0, size); 60];
    arrivals.push((2 * S, size));
    arrivals.extend([(MS, size); 40]);
    let run = run(&link, &Vec::new(), &arrivals, &[true], true);
    let seen: Vec<_> = run.delivered().map(|seen| (seen.number, seen.at)).collect();
    assert_eq!(seen, admitted_to_a_bucket(&run.arrived_at, size.into()));
    // 22 packets empty the bucket but for 10 bytes, and 24 wait.
    assert_eq!(seen.iter().filter(|(number, _)| *number < 60).count(), 46);
}

/// The packets that the queue before a bucket admits, and when each leaves. One that leaves at once takes no room.
fn admitted_to_a_bucket(arrived_at: &[Nanos], size: u64) -> Vec<(u64, Nanos)> {
    // A byte costs 16 us; tokens are counted in the time that fills them.
    let cost = |bytes: u64| bytes * 8 * S / BUCKET_BIT_S;
    let (mut tokens, mut counted) = (cost(BUCKET_BYTES.into()), 0);
    let mut waiting: VecDeque<Nanos> = VecDeque::new();
    let mut admitted = Vec::new();
    for (number, at) in (0_u64..).zip(arrived_at) {
        while waiting.front().is_some_and(|leaves| leaves <= at) {
            waiting.pop_front();
        }
        if (waiting.len() as u64 + 1) * size > BUCKET_LIMIT_BYTES {
            continue;
        }
        let now = counted.max(*at);
        tokens = cost(BUCKET_BYTES.into()).min(tokens + (now - counted));
        let waits = cost(size).saturating_sub(tokens);
        tokens = tokens + waits - cost(size);
        counted = now + waits;
        waiting.push_back(counted);
        admitted.push((number, counted));
    }
    admitted
}

/// Each packet has the delay in force when it arrived: nothing holds it up.
#[test]
fn a_schedule_of_delays_changes_each_packet_at_its_time() {
    let steps = [(0, 5 * MS), (300 * MS, 25 * MS), (600 * MS, 60 * MS)];
    let changes = steps[1..].iter().map(|(at, delay)| (*at, Change::Delay(*delay))).collect();
    let run = carry(&Impairments { delay: 5 * MS, ..Impairments::default() }, &changes, 1800, 200, MS / 2);
    for seen in run.delivered() {
        let at = arrived(&run, seen);
        let (_, delay) = steps.iter().rev().find(|(since, _)| *since <= at).expect("from 0 on");
        assert_eq!(seen.at - at, *delay, "at {at}");
    }
    assert_eq!(run.delivered().count(), 1800);
}

#[test]
fn a_schedule_of_losses_changes_the_probability_and_not_the_draws() {
    let steps = [(0, 0.01), (300 * MS, 0.3), (600 * MS, 0.0)];
    let changes = steps[1..].iter().map(|(at, loss)| (*at, Change::Loss(*loss))).collect();
    let loss = Some(LossModel::Bernoulli(Chance { probability: 0.01, key: 11 }));
    let run = carry(&Impairments { loss, ..Impairments::default() }, &changes, 1800, 200, MS / 2);
    let is_lost = |number: &u64| {
        let at = (number + 1) * MS / 2;
        let (_, loss) = steps.iter().rev().find(|(since, _)| *since <= at).expect("from 0 on");
        Stream::new(11).unit(*number) < *loss
    };
    assert_eq!(numbers(run.dropped()), (0..1800).filter(is_lost).collect::<Vec<_>>());
}

#[test]
fn exactly_the_packets_that_arrive_during_an_outage_are_dropped() {
    let changes = vec![(300 * MS, Change::Down), (500 * MS, Change::Up)];
    let run = carry(&Impairments::default(), &changes, 1400, 200, MS / 2);
    let dropped: Vec<Nanos> = run.dropped().map(|seen| seen.at).collect();
    let during: Vec<Nanos> =
        run.arrived_at.iter().copied().filter(|at| (300 * MS..500 * MS).contains(at)).collect();
    assert_eq!(dropped, during);
    assert!(run.dropped().all(|seen| seen.fate == Fate::Dropped(Cause::Down)));
}

/// A busy transmitter sends what its rate allows in each step: 4, then 12, then 2 Mbit/s.
#[test]
fn a_schedule_of_rates_sends_each_packet_when_its_bits_have_passed() {
    let steps = [(0, 4_000_000), (300 * MS, 12_000_000), (500 * MS, 2_000_000)];
    let changes = steps[1..]
        .iter()
        .map(|(at, bit_s)| (*at, Change::Rate(NonZeroU64::new(*bit_s).expect("not 0"))))
        .collect();
    let link = Impairments { rate: constant(4_000_000), queue: unlimited(), ..Impairments::default() };
    let mut arrivals = vec![(0, 1500); 40];
    arrivals.extend([(2 * MS, 1500); 300]);
    let run = run(&link, &changes, &arrivals, &[true], true);
    // Bits that the transmitter could have sent by a time, in units of a bit divided by 10^9.
    let sent = |until: Nanos| -> u64 {
        let ends = steps[1..].iter().map(|(at, _)| *at).chain([Nanos::MAX]);
        steps.iter().zip(ends).map(|((at, bit_s), end)| until.min(end).saturating_sub(*at) * bit_s).sum()
    };
    let work = 1500 * 8 * S;
    let mut free = 0;
    for seen in run.delivered() {
        let begins = arrived(&run, seen).max(free);
        // The first nanosecond by which all its bits have passed.
        assert!(sent(seen.at) - sent(begins) >= work, "packet {} is early", seen.number);
        assert!(sent(seen.at - 1) - sent(begins) <= work, "packet {} is late", seen.number);
        free = seen.at;
    }
    assert_eq!(run.delivered().count(), 340);
}

const OVERLOAD_GAP: Nanos = 960_000; // 1500 bytes take 1.2 ms at 10 Mbit/s
const CODEL: CoDel = CoDel { target: 5 * MS, interval: 20 * MS, ecn: false };

/// A quarter more than the rate for 2 s, which does not react to drops.
fn overloaded(discipline: Discipline) -> Run {
    let queue = Queue { discipline, limit: QueueLimit::Packets(1_000_000) };
    let link = Impairments { rate: constant(10_000_000), queue, ..Impairments::default() };
    carry(&link, &Vec::new(), 2 * S / OVERLOAD_GAP, 1500, OVERLOAD_GAP)
}

/// A queue that only overflows would have the second half wait for 375 ms.
#[test]
fn a_discipline_under_overload_keeps_the_rate_and_a_short_queue() {
    let codel_mean = 2_500_000..25 * MS;
    let pie = Pie { target: 15 * MS, update: 15 * MS, ecn: false, key: 12 };
    for (discipline, mean) in
        [(Discipline::CoDel(CODEL), codel_mean), (Discipline::Pie(pie), 5 * MS..60 * MS)]
    {
        let run = overloaded(discipline);
        let times: Vec<Nanos> = run.delivered().map(|seen| seen.at).collect();
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] == 1_200_000), "{discipline:?} is never idle");
        assert!(run.dropped().all(|seen| seen.fate == Fate::Dropped(Cause::Aqm)), "{discipline:?}");
        let half = run.arrived_at.len() as u64 / 2;
        let waits: Vec<Nanos> = run
            .delivered()
            .filter(|seen| seen.number >= half)
            .map(|seen| seen.at - arrived(&run, seen) - 1_200_000)
            .collect();
        let found = waits.iter().sum::<Nanos>() / waits.len() as u64;
        assert!(mean.contains(&found), "{discipline:?}: {found}");
    }
}

/// ECN-capable packets are marked in place of every drop; those that arrived marked count as capable.
#[test]
fn a_discipline_that_marks_drops_no_packet_that_can_be_marked() {
    let marking = CoDel { ecn: true, ..CODEL };
    let count = |number| NonZeroU32::new(number).expect("not 0");
    let fair = FqCoDel { codel: marking, flows: count(1024), quantum: count(1514) };
    for discipline in [Discipline::CoDel(marking), Discipline::FqCoDel(fair)] {
        let run = overloaded(discipline);
        // The scene's packets are incapable of ECN where their number divides by 4.
        assert!(run.dropped().all(|seen| seen.number % 4 == 0), "{discipline:?}");
        assert!(run.direction.account().marked.packets > 20, "{discipline:?}");
    }
}
