//! Changes of conditions, by schedule, command or trigger.

use link_model::Change;
use serde_json::json;

use super::{arrival, config, delayed, frame, happenings, leaving, link, run};
use crate::changes::{By, Changed};
use crate::config::Target;
use crate::emulator::{Emulator, Happening};
use crate::records::Records;

/// Time, direction, number of the next packet, change and its cause.
fn changes(emulator: &Emulator) -> Vec<(u64, usize, u64, Change, By)> {
    let parts =
        |changed: &Changed| (changed.at, changed.side, changed.next_number, changed.change, changed.by);
    emulator.changes().iter().map(parts).collect()
}

#[test]
fn a_schedule_changes_the_link_at_its_times() {
    let schedule = json!({"schedule": [
        {"at_ns": 1000, "direction": 0, "change": {"delay_ns": 10}},
        {"at_ns": 2000, "change": {"down": true}},
        {"at_ns": 3000, "direction": 0, "change": {"down": false}},
    ]});
    let mut emulator =
        Emulator::new(&config(&link(&json!({"delay_ns": 100}), &schedule)), Records::default());
    emulator.start(500);
    let mut left = Vec::new();
    for at in [1499, 1500, 2499, 2500, 3499, 3500] {
        left.extend(run(&mut emulator, at));
        emulator.arrive(0, arrival(at, frame(100)));
    }
    left.extend(run(&mut emulator, 10_000));
    let times: Vec<u64> = left.iter().map(|(at, _)| *at).collect();
    assert_eq!(times, [1599, 1599, 2509, 3510]);
    assert_eq!(emulator.directions()[0].account().dropped(link_model::Cause::Down).numbers, [3, 4]);
    let direction_0 = [
        (1000, 0, 1, Change::Delay(10), By::Schedule),
        (2000, 0, 3, Change::Down, By::Schedule),
        (3000, 0, 5, Change::Up, By::Schedule),
    ];
    assert_eq!(changes(&emulator), direction_0, "nothing passes in the other one");
    assert!(emulator.next_due().is_some_and(|due| due > 2500));
    emulator.catch_up(2499);
    assert_eq!(emulator.changes().len(), 3);
    emulator.catch_up(2500);
    assert_eq!(changes(&emulator)[3], (2000, 1, 0, Change::Down, By::Schedule));
    assert_eq!((emulator.directions()[1].is_down(), emulator.next_due()), (true, None));
    assert_eq!(happenings(&mut emulator), [0, 1, 2, 3].map(Happening::Changed));
}

/// A packet that arrived before the change but is read after it meets the old condition.
#[test]
fn an_idle_direction_is_not_changed_before_earlier_frames_are_read() {
    let schedule = json!({"schedule": [{"at_ns": 1000, "direction": 0, "change": {"down": true}}]});
    let mut emulator = Emulator::new(&config(&link(&json!({}), &schedule)), Records::default());
    emulator.start(0);
    assert_eq!(run(&mut emulator, 200_000), []);
    emulator.arrive(0, arrival(999, frame(100)));
    assert_eq!(run(&mut emulator, 200_000), [(999, 0)]);
    run(&mut emulator, 2_000_000);
    assert_eq!(changes(&emulator), [(1000, 0, 1, Change::Down, By::Schedule)]);
    assert_eq!(happenings(&mut emulator), [Happening::Changed(0)]);
}

#[test]
fn a_command_changes_the_link_at_once() {
    let mut emulator = delayed();
    let delay = Target { direction: Some(0), change: Change::Delay(7) };
    emulator.command(3, None, delay).expect("there is a link");
    emulator.start(10);
    emulator.arrive(0, arrival(20, frame(100)));
    assert_eq!(run(&mut emulator, 1000), [(27, 0)]);
    let down = Target { direction: None, change: Change::Down };
    emulator.command(40, Some("a"), down).expect("there is a link");
    emulator.arrive(0, arrival(41, frame(100)));
    emulator.arrive(1, arrival(41, frame(100)));
    assert_eq!(run(&mut emulator, 1000), []);
    assert_eq!(emulator.directions()[1].account().dropped(link_model::Cause::Down).tally.packets, 1);
    let delayed = (0, 0, 0, Change::Delay(7), By::Command);
    let expected = [delayed, (30, 0, 1, Change::Down, By::Command), (30, 1, 0, Change::Down, By::Command)];
    assert_eq!(changes(&emulator), expected);
}

#[test]
fn a_command_without_effect_is_refused() {
    let mut emulator = delayed();
    let rate = Target { direction: None, change: Change::Rate(1000.try_into().expect("not 0")) };
    let loss = Target { direction: Some(1), change: Change::Loss(0.1) };
    let up = Target { direction: None, change: Change::Up };
    for (link, target, reason) in
        [(None, rate, "no constant rate"), (None, loss, "no random loss"), (Some("b"), up, "no link \"b\"")]
    {
        let message = emulator.command(0, link, target).expect_err(reason);
        assert!(message.contains(reason), "{message}");
    }
    assert_eq!(emulator.changes(), []);
}

#[test]
fn delivered_bytes_trigger_a_change_of_the_direction() {
    let triggers = json!({"triggers": [
        {"name": "enough", "when": {"delivered_bytes": 172, "direction": 0}, "after_ns": 50,
         "change": {"down": true}},
        {"name": "spoke", "when": {"first_packet": true, "direction": 0}},
    ]});
    let mut emulator =
        Emulator::new(&config(&link(&json!({"delay_ns": 100}), &triggers)), Records::default());
    emulator.arrive(0, arrival(0, frame(100)));
    emulator.start(1000);
    run(&mut emulator, 1000);
    assert_eq!(happenings(&mut emulator), [], "the idle phase triggers nothing");
    for at in [1010, 1020, 1149, 1170] {
        run(&mut emulator, at);
        emulator.arrive(0, arrival(at, frame(100)));
    }
    run(&mut emulator, 10_000);
    let account = emulator.directions()[0].account();
    // The second packet is delivered at 1120; 50 ns later the link goes down. The third is in flight.
    assert_eq!(
        (account.delivered.packets, &account.dropped(link_model::Cause::Down).numbers[..]),
        (3, &[3][..])
    );
    assert_eq!(changes(&emulator), [(170, 0, 3, Change::Down, By::Trigger(0))]);
    let triggered = |trigger, at| Happening::Triggered { link: 0, trigger, at };
    let expected = [triggered(1, 10), triggered(0, 120), Happening::Changed(0)];
    assert_eq!(happenings(&mut emulator), expected);
    emulator.catch_up(10_000);
    assert_eq!(changes(&emulator)[1], (170, 1, 0, Change::Down, By::Trigger(0)));
}

/// The loop is late: at 500 it sends what was due at 105, after the next packet left the queue at 300.
#[test]
fn a_late_triggered_change_is_reported_with_the_time_at_which_it_was_made() {
    let triggers = json!({"triggers": [
        {"name": "one", "when": {"delivered_bytes": 1, "direction": 0}, "direction": 0, "change": {"delay_ns": 7}},
    ]});
    let mut emulator =
        Emulator::new(&config(&link(&json!({"delay_ns": 100}), &triggers)), Records::default());
    emulator.start(0);
    emulator.arrive(0, arrival(5, frame(100)));
    emulator.arrive(0, arrival(300, frame(100)));
    assert_eq!(leaving(&mut emulator, 0, 500).0, [105, 400]);
    assert_eq!(changes(&emulator), [(300, 0, 2, Change::Delay(7), By::Trigger(0))]);
    let one = Happening::Triggered { link: 0, trigger: 0, at: 105 };
    assert_eq!(happenings(&mut emulator), [one, Happening::Changed(0)]);
}

/// The first packet meets the old loss and a link that is up; later ones meet the new conditions. With a rate it
/// waits, and is dropped when the link goes down.
#[test]
fn a_triggered_change_takes_effect_after_its_packet() {
    let certain = json!({"loss": 1});
    let (down, rate) = (json!({"down": true}), json!({"model": "constant", "bit_s": 1_000_000}));
    let never = json!({"model": "bernoulli", "probability": 0, "key": "1"});
    for (change, rate, passes) in
        [(&certain, None, 1), (&down, None, 1), (&certain, Some(&rate), 1), (&down, Some(&rate), 0)]
    {
        let first = json!({"triggers": [{"name": "first", "when": {"first_packet": true, "direction": 0},
                                         "direction": 0, "change": change}]});
        let direction = json!({"loss": never, "rate": rate});
        let mut emulator = Emulator::new(&config(&link(&direction, &first)), Records::default());
        emulator.start(0);
        for at in [5, 5, 9] {
            emulator.arrive(0, arrival(at, frame(100)));
        }
        assert_eq!(run(&mut emulator, 10_000_000).len(), passes, "{change} {rate:?}");
        let made: Vec<_> = changes(&emulator).iter().map(|(at, _, next, ..)| (*at, *next)).collect();
        assert_eq!(made, [(5, 1)]);
    }
}
