//! Packets that the caller refuses: they are counted, have a fate of their own, and do not affect any other.

use crate::scene::{Arrivals, Departed, any_impairments, arrivals, changes, packet, started};
use link_model::{Cause, Direction, Fate, Impairments, Packet, Stage, Tally};
use proptest::collection::vec;
use proptest::prelude::*;

/// Pushes the arrivals that `wanted` has and refuses the others; returns everything that left.
fn take(direction: &mut Direction<()>, arrivals: &Arrivals, wanted: &[bool]) -> Vec<Departed> {
    let mut now = 0;
    for (index, &(gap, bytes)) in arrivals.iter().enumerate() {
        now += gap;
        if wanted[index % wanted.len()] {
            direction.push(now, packet(index, bytes));
        } else {
            direction.refuse(now, packet(index, bytes));
        }
    }
    std::iter::from_fn(|| direction.pop(u64::MAX)).map(Departed::from).collect()
}

#[test]
fn a_refused_packet_leaves_at_once_as_dropped() {
    let mut direction = Direction::new(Impairments { delay: 100, ..Impairments::default() });
    direction.refuse(5, Packet::new(40, ()));
    assert_eq!(direction.pop(5).map(|departure| departure.packet.number), Some(None), "the idle phase");
    direction.start(10);
    direction.push(10, Packet::new(40, ()));
    direction.refuse(11, Packet::new(50, ()));
    assert_eq!(direction.next_due(), Some(11));
    let turned_away = direction.pop(11).expect("at once");
    assert_eq!((turned_away.at, turned_away.fate), (11, Fate::Dropped(Cause::Nat)));
    let account = direction.account();
    assert_eq!(account.arrived, Tally { packets: 2, bytes: 90 });
    assert_eq!(
        (account.dropped(Cause::Nat).tally, &account.dropped(Cause::Nat).numbers[..]),
        (Tally { packets: 1, bytes: 50 }, &[1][..])
    );
    assert_eq!(direction.in_flight().packets, 1);
}

#[test]
fn a_stamp_before_the_packet_ahead_is_raised() {
    let mut direction = Direction::new(Impairments::default());
    direction.start(0);
    direction.push(20, Packet::new(40, ()));
    direction.refuse(10, Packet::new(40, ()));
    direction.refuse(30, Packet::new(40, ()));
    let times: Vec<_> = std::iter::from_fn(|| direction.pop(30)).map(|departure| departure.at).collect();
    assert_eq!(times, [20, 20, 30]);
}

proptest! {
    /// In packets and in bytes, whatever else the link does, and whether or not it is down.
    #[test]
    fn refused_packets_are_accounted_for(
        impairments in any_impairments(), changes in changes(), arrivals in arrivals(),
        wanted in vec(any::<bool>(), 1..20),
    ) {
        let mut direction = started(&impairments, &changes);
        let seen = take(&mut direction, &arrivals, &wanted);
        let account = direction.account();
        let expected: Vec<u64> =
            (0..arrivals.len()).filter(|index| !wanted[index % wanted.len()]).map(|index| index as u64).collect();
        prop_assert_eq!(&account.dropped(Cause::Nat).numbers, &expected);
        prop_assert_eq!(account.dropped(Cause::Nat).tally.packets, expected.len() as u64);
        let turned_away = seen.iter().filter(|seen| seen.fate == Fate::Dropped(Cause::Nat));
        prop_assert!(turned_away.map(|seen| seen.number).eq(expected));
        let dropped = Cause::ALL.map(|cause| account.dropped(cause).tally);
        let out: Vec<Tally> = std::iter::once(account.delivered).chain(dropped).collect();
        prop_assert_eq!(account.arrived.packets + account.duplicated.packets,
                        out.iter().map(|tally| tally.packets).sum::<u64>());
        prop_assert_eq!(account.arrived.bytes + account.duplicated.bytes,
                        out.iter().map(|tally| tally.bytes).sum::<u64>());
    }

    /// Every draw belongs to a number: packets that are not refused are lost, damaged and copied as without
    /// refusals.
    #[test]
    fn no_draw_is_shifted(
        impairments in any_impairments(), arrivals in arrivals(), wanted in vec(any::<bool>(), 1..20),
    ) {
        // A policer's drops depend on the packets before, which draws do not.
        let impairments = Impairments { policing: None, ..impairments };
        let mut all = started(&impairments, &vec![]);
        take(&mut all, &arrivals, &[true]);
        let mut some = started(&impairments, &vec![]);
        take(&mut some, &arrivals, &wanted);
        let kept = |numbers: &[u64]| -> Vec<u64> {
            let stays = |number: &u64| usize::try_from(*number).is_ok_and(|number| wanted[number % wanted.len()]);
            numbers.iter().copied().filter(stays).collect()
        };
        let (all, some) = (all.account(), some.account());
        prop_assert_eq!(kept(&all.dropped(Cause::Chance).numbers), kept(&some.dropped(Cause::Chance).numbers));
        prop_assert_eq!(kept(&all.corrupted_numbers), some.corrupted_numbers.clone());
        prop_assert_eq!(kept(&all.duplicated_numbers), some.duplicated_numbers.clone());
        prop_assert_eq!(kept(&some.dropped(Cause::Chance).numbers), some.dropped(Cause::Chance).numbers.clone());
    }
}
