//! What a direction tells of the changes it has made.

mod scene;

use std::collections::BTreeMap;

use link_model::{Applied, Change, Direction, Impairments, Nanos, Stage};
use proptest::collection::vec;
use proptest::prelude::*;
use scene::{any_impairments, arrivals, change, changes, packet, run};

/// What a caller does, and the time that it says.
#[derive(Clone, Copy, Debug)]
enum Step {
    Push,
    Pop,
    Change(Change),
    Schedule(Change),
}

fn step() -> impl Strategy<Value = (Step, Nanos)> {
    let what = prop_oneof![
        4 => Just(Step::Push),
        2 => Just(Step::Pop),
        1 => change().prop_map(Step::Change),
        1 => change().prop_map(Step::Schedule),
    ];
    // Round, so that things coincide, and in no order: a late caller says what lies behind already.
    (what, (0..50_u64).prop_map(|time| time * 1_000_000))
}

/// Takes the steps in their order; all changes that were told, and when each packet was held to have arrived.
fn take(impairments: &Impairments, steps: &[(Step, Nanos)]) -> (Vec<Applied>, BTreeMap<u64, Nanos>) {
    let mut direction = Direction::new(impairments.clone());
    direction.start(0);
    let (mut told, mut arrived) = (Vec::new(), BTreeMap::new());
    let mut look = |direction: &mut Direction<()>, now| {
        let left = std::iter::from_fn(|| direction.pop(now)).map(|departure| departure.packet);
        arrived.extend(left.filter_map(|packet| Some((packet.number?, packet.arrived))));
    };
    for (index, &(step, time)) in steps.iter().enumerate() {
        match step {
            Step::Push => direction.push(time, packet(index, 500)),
            Step::Pop => look(&mut direction, time),
            Step::Change(change) => drop(direction.change(time, change)),
            Step::Schedule(change) => drop(direction.schedule(time, change)),
        }
        if index % 3 == 0 {
            told.extend(std::iter::from_fn(|| direction.next_applied()));
        }
    }
    look(&mut direction, Nanos::MAX);
    told.extend(std::iter::from_fn(|| direction.next_applied()));
    (told, arrived)
}

proptest! {
    /// Scheduled before the start, each is made at its very time, between the arrivals before it and the others.
    #[test]
    fn scheduled_changes_are_told_as_they_were_asked_for(
        impairments in any_impairments(),
        changes in changes(),
        arrivals in arrivals(),
        looks in vec(any::<bool>(), 1..20),
    ) {
        let run = run(&impairments, &changes, &arrivals, &looks, true);
        let as_told = |(id, &(at, change)): (usize, &(Nanos, Change))| {
            let next_number = run.arrived_at.iter().filter(|arrived| **arrived < at).count() as u64;
            Applied { id, at, change, next_number }
        };
        let mut expected: Vec<Applied> = changes.iter().enumerate().map(as_told).collect();
        expected.sort_by_key(|applied| applied.at);
        prop_assert_eq!(run.applied, expected);
    }

    /// Whatever is asked for, and however late: each is told once, in order of time, and parts the packets into those
    /// that arrived before and those that arrived after it.
    #[test]
    fn every_change_is_told_once_and_parts_the_packets(
        impairments in any_impairments(),
        steps in vec(step(), 0..60),
    ) {
        let (told, arrived) = take(&impairments, &steps);
        let asked = steps.iter().filter(|(step, _)| matches!(step, Step::Change(_) | Step::Schedule(_))).count();
        let mut ids: Vec<usize> = told.iter().map(|applied| applied.id).collect();
        ids.sort_unstable();
        prop_assert!(ids.into_iter().eq(0..asked));
        prop_assert!(told.is_sorted_by_key(|applied| (applied.at, applied.next_number)));
        for Applied { at, next_number, .. } in told {
            prop_assert!(arrived.range(..next_number).all(|(_, arrived)| *arrived <= at));
            prop_assert!(arrived.range(next_number..).all(|(_, arrived)| *arrived >= at));
        }
    }
}

/// A delay that follows an arrival of 7 is asked for at 3: it is made at 7, and the packet of 9 is the first of it.
#[test]
fn a_change_that_comes_too_late_is_told_when_it_was_made() {
    let mut direction = Direction::new(Impairments::default());
    direction.start(0);
    direction.push(7, packet(0, 500));
    assert_eq!(direction.schedule(3, Change::Delay(5)), 0);
    assert_eq!((direction.next_applied(), direction.next_change()), (None, Some(3)));
    direction.push(9, packet(1, 500));
    let late = Applied { id: 0, at: 7, change: Change::Delay(5), next_number: 1 };
    assert_eq!((direction.next_applied(), direction.next_applied()), (Some(late), None));
    assert_eq!(direction.change(8, Change::Down), 1);
    let raised = Applied { id: 1, at: 9, change: Change::Down, next_number: 2 };
    assert_eq!((direction.next_applied(), direction.next_change()), (Some(raised), None));
}

/// Nobody sends, nobody pops: who settles lets a change be made all the same.
#[test]
fn an_idle_direction_changes_when_it_is_settled() {
    let mut direction: Direction<()> = Direction::new(Impairments::default());
    direction.schedule(10, Change::Down);
    direction.settle(2000);
    assert_eq!((direction.next_applied(), direction.next_change()), (None, None), "not before the start");
    direction.start(1000);
    assert_eq!(direction.next_change(), Some(1010));
    direction.settle(1009);
    assert_eq!(direction.next_applied(), None);
    direction.settle(1500);
    let applied = Applied { id: 0, at: 1010, change: Change::Down, next_number: 0 };
    assert_eq!((direction.next_applied(), direction.is_down()), (Some(applied), true));
}
