//! Statistics of the random impairments: shares, run lengths, means and spreads against theory.
//!
//! Every test uses a new, printed seed (`SIMULATION_SEED` repeats it) and has a bound that a correct model exceeds
//! with a probability of about 1e-9. [`Z`] is that of a normal distribution. Where the law is known for any number
//! of draws (Hoeffding 1963; Dvoretzky, Kiefer and Wolfowitz 1956 with Massart's constant), the test uses it
//! instead.

use std::sync::Arc;

use link_model::{
    Chance, Direction, Fate, GilbertElliott, Impairments, Jitter, JitterShape, LossModel, Nanos, Packet,
    Reordering, Stage,
};
use link_sim::Seed;

/// A false alarm of each two-sided test.
const FALSE_ALARM: f64 = 1e-9;

/// The value that a standard normal variable exceeds in absolute value with that probability.
const Z: f64 = 6.109;

const PACKETS: u32 = 200_000;
const MS: Nanos = 1_000_000;

/// Packets this far apart never wait for one another's jitter.
const APART: Nanos = 3_600_000 * MS;

/// The delay of each packet of one byte, or `None` for a drop, in order of the numbers; copies are left out.
fn carry(impairments: Impairments, gap: Nanos) -> (Direction<()>, Vec<Option<Nanos>>) {
    let mut direction = Direction::new(impairments);
    direction.start(0);
    let mut delays = vec![None; PACKETS as usize];
    for number in 0..u64::from(PACKETS) {
        direction.push(number * gap, Packet::new(1, ()));
    }
    while let Some(departure) = direction.pop(Nanos::MAX) {
        let number = usize::try_from(departure.packet.number.expect("counted")).expect("small");
        if departure.fate == Fate::Delivered && !departure.packet.copy {
            delays[number] = Some(departure.at - departure.packet.arrived);
        }
    }
    (direction, delays)
}

#[expect(clippy::cast_precision_loss, reason = "counts and delays here are far below 2^53")]
const fn float(count: u64) -> f64 {
    count as f64
}

/// The bound on the error of the mean of `draws` values between 0 and `range` (Hoeffding).
fn hoeffding(draws: f64, range: f64) -> f64 {
    range * ((2.0 / FALSE_ALARM).ln() / (2.0 * draws)).sqrt()
}

fn assert_near(what: &str, seen: f64, expected: f64, bound: f64) {
    assert!((seen - expected).abs() <= bound, "{what}: {seen} instead of {expected} +- {bound}");
}

/// Checks that chance can explain `successes` of `trials`. The probability of so many or more, or so few or fewer,
/// is bounded by Chernoff and Hoeffding: exp(-n KL(share, p)), for any n and p.
fn assert_share(what: &str, successes: u64, trials: u64, p: f64) {
    let share = float(successes) / float(trials);
    let part = |a: f64, b: f64| if a == 0.0 { 0.0 } else { a * (a / b).ln() };
    let divergence = part(share, p) + part(1.0 - share, 1.0 - p);
    let likelihood = 2.0 * (-float(trials) * divergence).exp();
    assert!(likelihood >= FALSE_ALARM, "{what}: {share} of {trials} instead of {p}: {likelihood:.1e}");
}

#[test]
fn loss_damage_copies_and_reordering_have_their_shares() {
    let seed = Seed::choose();
    for (purpose, probability) in (0_u64..).zip([0.0001, 0.01, 0.5, 0.99]) {
        let chance = |n| Chance { probability, key: seed.key(4 * purpose + n) };
        let (direction, delays) = carry(
            Impairments {
                loss: Some(LossModel::Bernoulli(chance(0))),
                corruption: Some(chance(1)),
                duplication: Some(chance(2)),
                reordering: Some(Reordering { probability, key: chance(3).key, hold: MS }),
                ..Impairments::default()
            },
            1,
        );
        let account = direction.account();
        let passed = account.arrived.packets - account.dropped(link_model::Cause::Chance).tally.packets;
        assert_share(
            "lost",
            account.dropped(link_model::Cause::Chance).tally.packets,
            account.arrived.packets,
            probability,
        );
        assert_share("corrupted", account.corrupted.packets, passed, probability);
        assert_share("duplicated", account.duplicated.packets, passed, probability);
        let held = delays.iter().flatten().filter(|delay| **delay == MS).count() as u64;
        assert_share("held back", held, passed, probability);
    }
}

/// Losses of a channel that loses everything in the bad state and nothing in the good one: runs of lost packets.
fn runs(lost: &[u64]) -> Vec<u64> {
    lost.chunk_by(|a, b| a + 1 == *b).map(|run| run.len() as u64).collect()
}

/// The share of the bad state is p / (p + r). Successive packets are correlated by 1 - p - r, which multiplies the
/// variance of the mean by (2 - p - r) / (p + r). A stay in the bad state lasts 1 / r packets on average, with
/// variance (1 - r) / r^2.
#[test]
fn bursts_of_loss_have_their_share_and_length() {
    let seed = Seed::choose();
    for (purpose, (to_bad, to_good)) in (0_u64..).zip([(0.01, 0.3), (0.02, 0.1), (0.2, 0.8), (0.005, 0.5)]) {
        let key = seed.key(purpose);
        let channel = GilbertElliott { to_bad, to_good, loss_good: 0.0, loss_bad: 1.0, key };
        let model = Some(LossModel::GilbertElliott(channel));
        let (direction, _) = carry(Impairments { loss: model, ..Impairments::default() }, 1);
        let lost = &direction.account().dropped(link_model::Cause::Chance).numbers;
        let (both, draws) = (to_bad + to_good, f64::from(PACKETS));
        let bad = to_bad / both;
        let deviation = (bad * (1.0 - bad) * (2.0 - both) / both / draws).sqrt();
        assert_near("loss", float(lost.len() as u64) / draws, bad, Z * deviation);
        let runs = runs(lost);
        let count = float(runs.len() as u64);
        let mean = float(runs.iter().sum()) / count;
        let spread = ((1.0 - to_good) / to_good.powi(2) / count).sqrt();
        assert_near("run length", mean, 1.0 / to_good, Z * spread);
        let longer = runs.iter().filter(|length| **length > 1).count() as u64;
        assert_share("runs longer than 1", longer, runs.len() as u64, 1.0 - to_good);
    }
}

/// Both states lose some packets: the expected share is the mean of their probabilities, weighted by the time spent
/// in each. The draw of the loss adds its own variance to that of the state.
#[test]
fn a_channel_loses_the_mean_of_its_states() {
    let seed = Seed::choose();
    let channel =
        GilbertElliott { to_bad: 0.05, to_good: 0.2, loss_good: 0.01, loss_bad: 0.6, key: seed.key(0) };
    let (direction, _) =
        carry(Impairments { loss: Some(LossModel::GilbertElliott(channel)), ..Impairments::default() }, 1);
    let bad = 0.05 / 0.25;
    let share = (1.0 - bad) * 0.01 + bad * 0.6;
    let of_state = 0.59_f64.powi(2) * bad * (1.0 - bad) * (2.0 - 0.25) / 0.25;
    let of_draw = (1.0 - bad) * 0.01 * 0.99 + bad * 0.6 * 0.4;
    let draws = f64::from(PACKETS);
    let lost = float(direction.account().dropped(link_model::Cause::Chance).tally.packets) / draws;
    assert_near("loss", lost, share, Z * ((of_state + of_draw) / draws).sqrt());
}

const SPREAD: Nanos = 5 * MS;

/// How far the delays are from their mean, in spreads.
fn jitters(shape: JitterShape, key: u64) -> Vec<f64> {
    let delay = 100_000 * MS;
    let jitter = Some(Jitter { shape, key });
    let (_, delays) = carry(Impairments { delay, jitter, ..Impairments::default() }, APART);
    let offset = |seen: Nanos| (float(seen) - float(delay)) / float(SPREAD);
    delays.into_iter().map(|delay| offset(delay.expect("delivered"))).collect()
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    values.sum::<f64>() / f64::from(PACKETS)
}

/// The largest distance between the distribution of `values` and `law` is above sqrt(ln(2 / a) / 2n) with a
/// probability of at most a, for any continuous law and any n.
fn assert_follows(what: &str, mut values: Vec<f64>, law: impl Fn(f64) -> f64) {
    values.sort_unstable_by(f64::total_cmp);
    let bound = hoeffding(f64::from(PACKETS), 1.0);
    for (rank, value) in (0_u32..).zip(values) {
        let seen = f64::from(rank) / f64::from(PACKETS);
        assert_near(what, seen, law(value), bound + 1.0 / f64::from(PACKETS));
    }
}

/// Mean 0 and variance 1/3 of the spread's square; each bounded, so Hoeffding's inequality holds for both.
#[test]
fn uniform_jitter_is_uniform() {
    let values = jitters(JitterShape::Uniform(SPREAD), Seed::choose().key(0));
    let draws = f64::from(PACKETS);
    assert!(values.iter().all(|value| value.abs() <= 1.0));
    assert_near("mean", mean(values.iter().copied()), 0.0, hoeffding(draws, 2.0));
    assert_near("variance", mean(values.iter().map(|value| value * value)), 1.0 / 3.0, hoeffding(draws, 1.0));
    assert_follows("uniform", values, |value| f64::midpoint(value, 1.0));
}

/// Mean 0 and variance 1; the variance of a normal variable's square is 2.
#[test]
fn normal_jitter_is_normal() {
    let values = jitters(JitterShape::Normal(SPREAD), Seed::choose().key(0));
    let draws = f64::from(PACKETS);
    assert_near("mean", mean(values.iter().copied()), 0.0, Z / draws.sqrt());
    assert_near("variance", mean(values.iter().map(|value| value * value)), 1.0, Z * (2.0 / draws).sqrt());
    assert_follows("normal", values, normal_law);
}

/// Shape 3 has no third moment, so its sample variance has no known spread. The test checks the whole distribution,
/// which fixes mean and spread, and the far tail by its shares.
#[test]
fn pareto_jitter_follows_its_law() {
    let values = jitters(JitterShape::Pareto(SPREAD), Seed::choose().key(0));
    let law = |value: f64| 1.0 - value.mul_add(0.75_f64.sqrt(), 1.5).max(1.0).powi(-3);
    for tail in [2.0, 5.0, 15.0] {
        let beyond = values.iter().filter(|value| **value > tail).count() as u64;
        assert_share("tail", beyond, u64::from(PACKETS), 1.0 - law(tail));
    }
    assert_follows("Pareto", values, law);
}

#[test]
fn samples_of_a_table_are_equally_likely() {
    let samples: [i64; 5] = [-3, -1, 0, 1, 40].map(|ms| ms * MS.cast_signed());
    let values = jitters(JitterShape::Table(Arc::from(samples)), Seed::choose().key(0));
    for sample in samples {
        let expected =
            float(sample.unsigned_abs()).copysign(if sample < 0 { -1.0 } else { 1.0 }) / float(SPREAD);
        let seen = values.iter().filter(|value| (**value - expected).abs() < 1e-9).count() as u64;
        assert_share("sample", seen, u64::from(PACKETS), 0.2);
    }
}

/// The distribution function of the standard normal, by its series: `1/2 + phi(x) (x + x^3/3 + x^5/15 + ...)`
/// (Marsaglia 2004).
fn normal_law(x: f64) -> f64 {
    let (mut sum, mut term, mut n) = (x, x, 1.0);
    while term.abs() > 1e-17 {
        n += 2.0;
        term *= x * x / n;
        sum += term;
    }
    let density = (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt();
    sum.mul_add(density, 0.5)
}
