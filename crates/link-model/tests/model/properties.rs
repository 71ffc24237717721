//! What must hold for any link, any arrivals and any changes.

use std::collections::HashMap;

use crate::scene::{any_impairments, arrivals, changes, drop_tail_impairments, run, run_as_due};
use link_model::{Change, Fate, Impairments, Nanos, Reordering, Stream, Tally};
use proptest::collection::vec;
use proptest::prelude::*;

fn sum(tallies: &[Tally]) -> Tally {
    let mut sum = Tally::default();
    for tally in tallies {
        sum.packets += tally.packets;
        sum.bytes += tally.bytes;
    }
    sum
}

const fn is_delay(change: &Change) -> bool {
    matches!(change, Change::Delay(_))
}

proptest! {
    /// In packets and in bytes, whether or not the link was emptied.
    #[test]
    fn every_arrival_is_delivered_or_dropped_or_inside(
        impairments in any_impairments(),
        changes in changes(),
        arrivals in arrivals(),
        looks in vec(any::<bool>(), 1..20),
        empty in any::<bool>(),
    ) {
        let run = run(&impairments, &changes, &arrivals, &looks, empty);
        let account = run.direction.account();
        let inside = run.direction.in_flight();
        let dropped = link_model::Cause::ALL.map(|cause| account.dropped(cause).tally);
        let out = sum(&[account.delivered, sum(&dropped), inside]);
        prop_assert_eq!(sum(&[account.arrived, account.duplicated]), out);
        prop_assert_eq!(account.arrived.packets, arrivals.len() as u64);
        prop_assert!(!empty || inside == Tally::default());
    }

    /// Numbers and counts agree.
    #[test]
    fn every_count_has_its_numbers(
        impairments in any_impairments(),
        changes in changes(),
        arrivals in arrivals(),
    ) {
        let run = run(&impairments, &changes, &arrivals, &[true], true);
        let account = run.direction.account();
        for drops in link_model::Cause::ALL.map(|cause| account.dropped(cause)) {
            prop_assert_eq!(drops.tally.packets, drops.numbers.len() as u64);
        }
        for (tally, numbers) in [
            (account.duplicated, &account.duplicated_numbers),
            (account.corrupted, &account.corrupted_numbers),
        ] {
            prop_assert_eq!(tally.packets, numbers.len() as u64);
        }
        prop_assert!(account.dropped(link_model::Cause::Chance).numbers.is_sorted());
        prop_assert_eq!(account.delivered.packets, run.delivered().count() as u64);
    }

    /// Each packet and each copy leaves exactly once, with its own size, not before it arrived, and in the order
    /// of time.
    #[test]
    fn every_packet_has_one_fate(
        impairments in any_impairments(),
        changes in changes(),
        arrivals in arrivals(),
    ) {
        let run = run(&impairments, &changes, &arrivals, &[true], true);
        let account = run.direction.account();
        let mut fates = HashMap::new();
        for seen in &run.seen {
            let index = usize::try_from(seen.number).expect("small");
            prop_assert!(fates.insert((seen.number, seen.copy), seen.fate).is_none());
            prop_assert_eq!(seen.bytes, arrivals[index].1);
            prop_assert!(seen.at >= run.arrived_at[index]);
            prop_assert_eq!(seen.damage.is_some(), account.corrupted_numbers.contains(&seen.number));
        }
        for number in 0..arrivals.len() as u64 {
            prop_assert!(fates.contains_key(&(number, false)));
            prop_assert_eq!(fates.contains_key(&(number, true)), account.duplicated_numbers.contains(&number));
        }
        prop_assert!(run.seen.is_sorted_by_key(|seen| seen.at));
    }

    #[test]
    fn order_is_kept_without_reordering(
        impairments in drop_tail_impairments(),
        changes in changes(),
        arrivals in arrivals(),
    ) {
        let run = run(&Impairments { reordering: None, ..impairments }, &changes, &arrivals, &[true], true);
        let order: Vec<_> = run.delivered().map(|seen| (seen.number, seen.copy)).collect();
        prop_assert!(order.is_sorted());
        prop_assert_eq!(run.direction.account().reordered, Tally::default());
    }

    /// A packet that is held back delays no other: without those packets the others arrive at the same times.
    #[test]
    fn reordering_moves_only_the_packets_it_selects(
        impairments in drop_tail_impairments(),
        changes in changes(),
        arrivals in arrivals(),
    ) {
        let with = run(&impairments, &changes, &arrivals, &[true], true);
        let without = Impairments { reordering: None, ..impairments.clone() };
        let without = run(&without, &changes, &arrivals, &[true], true);
        let due: HashMap<_, Nanos> = without.seen.iter().map(|seen| ((seen.number, seen.copy), seen.at)).collect();
        let hold = |number| {
            let Some(Reordering { probability, key, hold }) = impairments.reordering else { return 0 };
            if Stream::new(key).unit(number) < probability { hold } else { 0 }
        };
        for seen in with.delivered() {
            let due = due[&(seen.number, seen.copy)] + hold(seen.number);
            // Packets behind one that is held back need not wait for its longer delay, so they may be earlier.
            let exact = impairments.jitter.is_none() && !changes.iter().any(|(_, change)| is_delay(change));
            prop_assert!(seen.at == due || seen.at < due && !exact, "{seen:?} for {due}");
        }
    }

    #[test]
    fn nothing_depends_on_when_the_caller_looks(
        impairments in any_impairments(),
        changes in changes(),
        arrivals in arrivals(),
        looks in vec(any::<bool>(), 1..20),
    ) {
        let always = run(&impairments, &changes, &arrivals, &[true], true);
        let sometimes = run(&impairments, &changes, &arrivals, &looks, true);
        prop_assert_eq!(always.seen, sometimes.seen);
        let peaks = (always.direction.queue_packets_max(), sometimes.direction.queue_packets_max());
        prop_assert_eq!(peaks.0, peaks.1);
        let accounts = (always.direction.account(), sometimes.direction.account());
        prop_assert_eq!(accounts.0.reordered, accounts.1.reordered);
        prop_assert_eq!(accounts.0.busy, accounts.1.busy);
    }

    /// A caller that looks only when `next_due` says is never late for a delivery, and sees the same as any other.
    #[test]
    fn a_caller_that_follows_next_due_is_never_late(
        impairments in any_impairments(),
        changes in changes(),
        arrivals in arrivals(),
    ) {
        let departures = run_as_due(&impairments, &changes, &arrivals);
        for (at, seen) in &departures {
            prop_assert!(seen.at == *at || seen.at < *at && seen.fate != Fate::Delivered, "{seen:?} at {at}");
        }
        let run = run(&impairments, &changes, &arrivals, &[true], true);
        let mut departures: Vec<_> = departures.into_iter().map(|(_, seen)| seen).collect();
        departures.sort_by_key(|seen| seen.at);
        prop_assert_eq!(departures, run.seen);
    }

    #[test]
    fn same_seed_same_fates(impairments in any_impairments(), changes in changes(), arrivals in arrivals()) {
        let one = run(&impairments, &changes, &arrivals, &[true], true);
        let other = run(&impairments, &changes, &arrivals, &[true], true);
        prop_assert_eq!(one.seen, other.seen);
    }
}
