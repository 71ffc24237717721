//! The reports of a direction about its changes.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use crate::scene::{any_impairments, arrivals, change, changes, packet, run};
use link_model::{Applied, Cause, Change, Direction, Fate, Impairments, Nanos, Rate, Stage};
use proptest::collection::vec;
use proptest::prelude::*;

/// A step of the caller, with its time.
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
    // Round times, so that events coincide, in any order: a late caller may use times in the past.
    (what, (0..50_u64).prop_map(|time| time * 1_000_000))
}

/// Takes the steps in order; returns all reported changes, and the arrival time that each packet got.
fn take(impairments: &Impairments, steps: &[(Step, Nanos)]) -> (Vec<Applied>, BTreeMap<u64, Nanos>) {
    let mut direction = Direction::new(impairments.clone());
    direction.start(0);
    let (mut applied_changes, mut arrived) = (Vec::new(), BTreeMap::new());
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
            applied_changes.extend(std::iter::from_fn(|| direction.next_applied()));
        }
    }
    look(&mut direction, Nanos::MAX);
    applied_changes.extend(std::iter::from_fn(|| direction.next_applied()));
    (applied_changes, arrived)
}

proptest! {
    /// Each change scheduled before the start is made at its exact time, between the arrivals before and after it.
    #[test]
    fn scheduled_changes_are_reported_as_requested(
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

    /// For any request, however late: each change is reported once, in order of time, and separates the packets
    /// that arrived before it from those after it.
    #[test]
    fn every_change_is_reported_once_and_separates_the_packets(
        impairments in any_impairments(),
        steps in vec(step(), 0..60),
    ) {
        let (applied_changes, arrived) = take(&impairments, &steps);
        let requested = steps.iter().filter(|(step, _)| matches!(step, Step::Change(_) | Step::Schedule(_))).count();
        let mut ids: Vec<usize> = applied_changes.iter().map(|applied| applied.id).collect();
        ids.sort_unstable();
        prop_assert!(ids.into_iter().eq(0..requested));
        prop_assert!(applied_changes.is_sorted_by_key(|applied| (applied.at, applied.next_number)));
        for Applied { at, next_number, .. } in applied_changes {
            prop_assert!(arrived.range(..next_number).all(|(_, arrived)| *arrived <= at));
            prop_assert!(arrived.range(next_number..).all(|(_, arrived)| *arrived >= at));
        }
    }
}

/// A delay is requested at 3, after an arrival at 7: it is made at 7, and the packet of 9 is its first.
#[test]
fn a_late_change_is_reported_with_the_time_at_which_it_was_made() {
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

/// Without packets and pops, `settle` makes the change.
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

/// The link is asked to go down at 0.2 ms but goes down at 1 ms, when the packet ahead has left. A packet stamped
/// 0.5 ms that meets this change has not arrived before it.
#[test]
fn a_packet_that_meets_a_raised_change_has_not_arrived_before_it() {
    let rate = Some(Rate::Constant(NonZeroU64::new(4_000_000).expect("not 0")));
    let mut direction = Direction::new(Impairments { rate, ..Impairments::default() });
    direction.start(0);
    direction.push(0, packet(0, 500));
    assert_eq!(direction.pop(5_000_000).map(|departure| departure.at), Some(1_000_000));
    direction.schedule(200_000, Change::Down);
    direction.push(500_000, packet(1, 500));
    let down = Applied { id: 0, at: 1_000_000, change: Change::Down, next_number: 1 };
    assert_eq!(direction.next_applied(), Some(down));
    let dropped = direction.pop(5_000_000).expect("it was down");
    assert_eq!((dropped.fate, dropped.packet.arrived), (Fate::Dropped(Cause::Down), 1_000_000));
}
