//! Every draw depends only on its key and the packet's number: checked against values that another program computed
//! from the formulas, and with any other impairments.

use std::sync::Arc;

use crate::scene;
use crate::scene::{Run, any_impairments, arrivals, chance, changes, jitter, loss, run};
use link_model::{
    Cause, Chance, Corruption, Direction, Duplication, GilbertElliott, Impairments, Jitter, JitterShape,
    Loss, LossModel, Nanos, Packet, Stage, Stream,
};
use proptest::prelude::*;

/// Lines of the four probabilities in the order of [`GilbertElliott`], the key, and the numbers lost among the first
/// 2000. The Python side checks the same file.
const GILBERT_ELLIOTT: &str = include_str!("golden/gilbert_elliott.txt");

/// Lines of distribution, delay (ns), spread (ns) or samples, key, and the delays of the first 20 packets (ns) when
/// they are far apart.
const JITTER: &str = include_str!("golden/jitter.txt");

const S: Nanos = 1_000_000_000;

fn floats<const N: usize>(fields: &[&str]) -> [f64; N] {
    std::array::from_fn(|index| fields[index].parse().expect("a number"))
}

fn whole(fields: &[&str]) -> Vec<u64> {
    fields.iter().map(|field| field.parse().expect("a whole number")).collect()
}

#[test]
fn gilbert_elliott_loses_what_the_golden_file_says() {
    for line in GILBERT_ELLIOTT.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let [to_bad, to_good, loss_good, loss_bad] = floats(&fields);
        let key = fields[4].parse().expect("key");
        let channel = GilbertElliott { to_bad, to_good, loss_good, loss_bad, key };
        let mut channel_loss = Loss::new(&LossModel::GilbertElliott(channel));
        let lost: Vec<u64> = (0..2000).filter(|number| channel_loss.loses(*number)).collect();
        assert_eq!(lost, whole(&fields[5..]), "{channel:?}");
    }
}

/// The state belongs to the number: asking only about some numbers does not change the answers.
#[test]
fn gilbert_elliott_does_not_depend_on_which_numbers_are_asked() {
    let channel = GilbertElliott { to_bad: 0.1, to_good: 0.3, loss_good: 0.01, loss_bad: 0.9, key: 5 };
    let model = LossModel::GilbertElliott(channel);
    let (mut all, mut some) = (Loss::new(&model), Loss::new(&model));
    let all: Vec<bool> = (0..1000).map(|number| all.loses(number)).collect();
    for number in (0..1000).step_by(7) {
        assert_eq!(some.loses(number), all[usize::try_from(number).expect("small")]);
    }
}

fn shape(distribution: &str, parameter: &str) -> JitterShape {
    let spread = || parameter.parse().expect("a spread");
    match distribution {
        "uniform" => JitterShape::Uniform(spread()),
        "normal" => JitterShape::Normal(spread()),
        "pareto" => JitterShape::Pareto(spread()),
        "table" => {
            JitterShape::Table(parameter.split(',').map(|sample| sample.parse().expect("a sample")).collect())
        }
        other => panic!("no distribution: {other}"),
    }
}

/// Delays of `count` packets that are ten seconds apart.
fn delays(impairments: &Impairments, count: usize) -> Vec<Nanos> {
    let run = run(impairments, &Vec::new(), &vec![(10 * S, 1); count], &[true], true);
    run.delivered().zip(&run.arrived_at).map(|(seen, arrived)| seen.at - arrived).collect()
}

/// One nanosecond of tolerance for the mathematical library.
#[test]
fn jitter_delays_by_what_the_golden_file_says() {
    for line in JITTER.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let [distribution, delay, parameter, key, expected @ ..] = &fields[..] else { panic!("{line}") };
        let jitter = Jitter { shape: shape(distribution, parameter), key: key.parse().expect("key") };
        let delay = delay.parse().expect("delay");
        let delays = delays(&Impairments { delay, jitter: Some(jitter), ..Impairments::default() }, 20);
        assert_eq!(delays.len(), expected.len(), "{line}");
        for (delay, expected) in delays.iter().zip(whole(expected)) {
            assert!(delay.abs_diff(expected) <= 1, "{delay} instead of {expected}: {line}");
        }
    }
}

proptest! {
    #[test]
    fn no_jitter_is_below_the_least(jitter in jitter(), number in any::<u64>()) {
        prop_assert!(jitter.offset(number) >= jitter.least());
    }

    #[test]
    fn other_impairments_shift_no_loss(
        loss in loss(),
        others in any_impairments(),
        arrivals in arrivals(),
    ) {
        let alone = Impairments { loss: Some(loss.clone()), ..Impairments::default() };
        let among = Impairments { loss: Some(loss), ..others };
        let [alone, among] = [alone, among].map(|link| run(&link, &Vec::new(), &arrivals, &[true], true));
        prop_assert_eq!(&alone.direction.account().dropped(Cause::Chance).numbers, &among.direction.account().dropped(Cause::Chance).numbers);
    }

    /// A packet that a stage before dropped is neither damaged nor copied; the others are as before.
    #[test]
    fn other_impairments_shift_no_damage_and_no_copy(
        corruption in chance(),
        duplication in chance(),
        others in any_impairments(),
        changes in changes(),
        arrivals in arrivals(),
    ) {
        let impairments = Impairments {
            corruption: Some(corruption), duplication: Some(duplication), ..others
        };
        let run = run(&impairments, &changes, &arrivals, &[true], true);
        let account = run.direction.account();
        let went_down_before: Vec<u64> = on_arrival(&run);
        let later = [Cause::Queue, Cause::Aqm, Cause::Down, Cause::Nat];
        let before: Vec<Cause> = Cause::ALL.into_iter().filter(|cause| !later.contains(cause)).collect();
        let passed = |number: &u64| before.iter().all(|cause| !account.dropped(*cause).numbers.contains(number)) && !went_down_before.contains(number);
        let numbers = || (0..arrivals.len() as u64).filter(passed);
        let damage = Corruption::new(corruption);
        let damaged: Vec<u64> = numbers().filter(|number| damage.damage(*number).is_some()).collect();
        prop_assert_eq!(&account.corrupted_numbers, &damaged);
        for seen in run.seen.iter().filter(|seen| damaged.contains(&seen.number)) {
            prop_assert_eq!(seen.damage, damage.damage(seen.number));
        }
        let copied: Vec<u64> = numbers().filter(|number| Duplication::new(duplication).copies(*number)).collect();
        prop_assert_eq!(&account.duplicated_numbers, &copied);
    }

    /// Packets ten seconds apart do not hold up each other: each is delayed by its own draw.
    #[test]
    fn other_impairments_shift_no_jitter(
        jitter in jitter(),
        loss in loss(),
        duplication in chance(),
        delay in 0..100_000_000_u64,
    ) {
        let impairments = Impairments {
            loss: Some(loss), duplication: Some(duplication), delay, jitter: Some(jitter.clone()),
            ..Impairments::default()
        };
        let run = run(&impairments, &Vec::new(), &vec![(10 * S, 1); 50], &[false], true);
        for seen in run.delivered() {
            let arrived = run.arrived_at[usize::try_from(seen.number).expect("small")];
            prop_assert_eq!(seen.at - arrived, delay.saturating_add_signed(jitter.offset(seen.number)));
        }
    }

    /// From its time on the new probability applies, with the same draws.
    #[test]
    fn changed_loss_keeps_its_stream(
        before in chance(), after in 0.0..=1.0, at in 0..200_u64,
    ) {
        let loss = Some(LossModel::Bernoulli(before));
        let mut direction = Direction::new(Impairments { loss, ..Impairments::default() });
        direction.schedule(at, link_model::Change::Loss(after));
        direction.start(0);
        for now in 0..200 {
            direction.push(now, Packet::new(1, ()));
        }
        let stream = Stream::new(before.key);
        let probability = |number| if number < at { before.probability } else { after };
        let expected: Vec<u64> = (0..200).filter(|number| stream.unit(*number) < probability(*number)).collect();
        prop_assert_eq!(&direction.account().dropped(Cause::Chance).numbers, &expected);
    }
}

/// Numbers of packets dropped on arrival because the link was down; flushed packets had waited before.
fn on_arrival(run: &Run) -> Vec<u64> {
    let down = |seen: &&scene::Departed| seen.fate == link_model::Fate::Dropped(Cause::Down);
    let on_arrival =
        |seen: &&scene::Departed| seen.at == run.arrived_at[usize::try_from(seen.number).expect("small")];
    run.dropped().filter(down).filter(on_arrival).map(|seen| seen.number).collect()
}

/// Listed numbers are lost and no others.
#[test]
fn listed_numbers_are_lost() {
    let loss = Some(LossModel::Listed(Arc::from([3, 17])));
    let run =
        run(&Impairments { loss, ..Impairments::default() }, &Vec::new(), &vec![(1, 1); 30], &[true], true);
    assert_eq!(run.direction.account().dropped(Cause::Chance).numbers, [3, 17]);
}

/// The word that selects the damaged bit is independent of the word that decided.
#[test]
fn damage_is_spread_over_the_whole_packet() {
    let damage = Corruption::new(Chance { probability: 0.01, key: 1 });
    let words: Vec<u64> = (0..100_000).filter_map(|number| damage.damage(number)).collect();
    let upper = words.iter().filter(|word| **word >= 1 << 63).count();
    // About 1000 words; 8 standard deviations of a fair coin are 126.
    assert!(upper.abs_diff(words.len() / 2) < 126, "{upper} of {}", words.len());
}
